"""On a cluster, executors that die, tasks that fail and tasks that run twice change nothing.

There are few tests here, of several steps each: every one may have to start a cluster of its own.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sizes import size
from tally import tally

if TYPE_CHECKING:
    from engine.spark.cluster import Cluster, Driver

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed"),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads Linux's /proc"),
]


def test_losses_change_nothing(cluster: Cluster, tmp_path: Path) -> None:
    from engine.spark.cluster import QUICK, Driver

    checkpoints = tmp_path / "checkpoints"
    with Driver(cluster, tmp_path / "marks", QUICK) as driver:
        for placement in ("", "driver", "tasks", "shuffled"):
            a_cluster_without_a_folder_for_checkpoints_is_refused(driver, placement)
        driver.ask("set folder", checkpoints.as_uri())
        driver.answer()
        for placement in ("tasks", "shuffled")[: size(1, 2)]:
            a_worker_is_killed_during_a_recursion(cluster, driver, placement)
        tasks_fail_until_their_commit_does(driver)
        held = files_of_frames(checkpoints)
    left = files_of_frames(checkpoints)
    assert len(held) > 1
    assert left == []


def a_cluster_without_a_folder_for_checkpoints_is_refused(driver: Driver, placement: str) -> None:
    driver.ask("refused", placement)
    said = driver.answer()
    assert "runs on a cluster (spark://127.0.0.1:" in said
    assert "set spark.checkpoint.dir to a folder that all machines share" in said


def a_worker_is_killed_during_a_recursion(cluster: Cluster, driver: Driver, placement: str) -> None:
    driver.mark("hold", "die-once")  # the task that takes over from the one that was killed fails too, once
    driver.ask("commits", placement)
    cluster.kill_worker_of(driver.await_mark("held"))
    cluster.add_worker()
    driver.let_go()
    expect_same(driver.answer())
    assert not (driver.marks / "die-once").exists()


def tasks_fail_until_their_commit_does(driver: Driver) -> None:
    driver.mark("die")
    driver.ask("commits after one that failed", "tasks", str(driver.marks / "die"))
    failure, *answer = driver.answer()
    assert failure[0].startswith("Spark could not complete a job: ")
    expect_same(answer)


@pytest.mark.skipif(not size(0, 1), reason="another cluster for a minute: in the nightly size")
def test_tasks_that_run_twice_change_nothing(cluster: Cluster, tmp_path: Path) -> None:
    from engine.spark.cluster import QUICK, SPECULATIVE, Driver

    conf = {**QUICK, **SPECULATIVE, "spark.checkpoint.dir": (tmp_path / "checkpoints").as_uri()}
    with Driver(cluster, tmp_path / "marks", conf) as driver:
        for placement in ("shuffled", "tasks")[: size(1, 2)]:
            driver.mark("be-outrun")
            driver.ask("commits", placement)
            expect_same(driver.answer())
            assert (driver.marks / "outrun").exists()
            assert not (driver.marks / "late").exists()


@pytest.mark.skipif(not size(0, 1), reason="more than a minute: in the nightly size")
def test_tasks_that_exchange_may_lose_an_executor_in_every_step(cluster: Cluster, tmp_path: Path) -> None:
    """With speculation on. In the nightly size the driver is killed then, and another one begins."""
    from engine.spark.cluster import QUICK, SPECULATIVE, Driver

    conf = {**QUICK, **SPECULATIVE, "spark.checkpoint.dir": (tmp_path / "checkpoints").as_uri()}
    conf["spark.task.maxFailures"] = "20"
    for number in range(size(1, 2)):
        with Driver(cluster, tmp_path / f"marks {number}", conf) as driver:
            driver.ask("exchange", str(driver.marks))
            killed = executors_killed(cluster, driver, size(1, 100))
            on_spark, here, steps = driver.answer()
            assert on_spark == here
            assert killed
            tally("executors killed", killed)
            assert steps > 2
            driver.kill()


def executors_killed(cluster: Cluster, driver: Driver, most: int) -> int:
    """How many executors were killed, one in each step as it begins, until the driver has answered."""
    from engine.spark.cluster import wait_for

    killed = 0
    for number in range(most):
        wait_for("a step, or the end", partial(is_at, driver, number))
        if driver.has_answered:
            break
        killed += cluster.kill_executor(number)
    return killed


def is_at(driver: Driver, step: int) -> bool | None:
    return (driver.marks / f"step.{step}").exists() or driver.has_answered or None


def files_of_frames(checkpoints: Path) -> list[Path]:
    """The folders that Spark has made for frames and that have files."""
    return [folder for folder in checkpoints.glob("*/rdd-*") if any(folder.iterdir())]


def expect_same(answer: Any) -> None:
    on_spark, here = answer
    assert on_spark == here
    assert all(here)
