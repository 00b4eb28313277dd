"""Random histories on a cluster whose processes are killed, slow or taken out of service while commits run.

After each commit, contents and changes are those computed from scratch. In the nightly size; the ordinary
one has `test_cluster`. TIDELOG_FIRST_SEED sets the first seed, TIDELOG_SEEDS how many there are.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from engine.spark.histories import SHAPES
from pipeline.days import Kind
from pipeline.killing import kill_again_and_again
from sizes import size
from tally import tally

if TYPE_CHECKING:
    from engine.spark.cluster import Cluster, Driver

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not size(0, 1), reason="minutes for each kind: in the nightly size"),
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed"),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads Linux's /proc"),
]

COMMITS = 4
HISTORIES = int(os.environ.get("TIDELOG_SEEDS", "3"))
KILLS = 4 * HISTORIES
FIRST = int(os.environ.get("TIDELOG_FIRST_SEED", "0"))
PAUSE = 4.0  # seconds between two disturbances, at most
DISTURBANCES = 12  # in a history
RETIRED = 3

Disturb = Callable[[Random], bool]


def suffered(driver: Driver, shape: str, seed: int, disturb: Disturb, most: int = DISTURBANCES) -> int:
    """Run a history while something disturbs it, at most so often; how often that was."""
    for mark in ("calm", "disturbed"):
        (driver.marks / mark).unlink(missing_ok=True)
    driver.ask("history", shape, seed, COMMITS, str(driver.marks))
    dice, count = Random(seed), 0
    while not (driver.marks / "disturbed").exists() and not driver.has_answered:
        time.sleep(PAUSE * dice.random())
        if count < most:
            count += disturb(dice)
    (driver.marks / "slow").unlink(missing_ok=True)
    (driver.marks / "calm").touch()
    seen, due, left = driver.answer()
    for number, (found, wanted) in enumerate(zip(seen, due, strict=True)):
        assert found == wanted, f"{shape}, seed {seed}, commit {number + 1}"
    assert left == [], f"{shape}, seed {seed}"
    return count


@pytest.mark.parametrize("what", ["executors", "Python workers"])
def test_killed_processes_change_nothing(what: str, cluster: Cluster, tmp_path: Path) -> None:
    from engine.spark.cluster import PATIENT, QUICK, Driver

    def disturb(dice: Random) -> bool:
        kill = cluster.kill_executor if what == "executors" else cluster.kill_python
        return kill(dice.randrange(100))

    checkpoints = tmp_path / "checkpoints"
    conf = {**QUICK, **PATIENT, "spark.checkpoint.dir": checkpoints.as_uri()}
    with Driver(cluster, tmp_path / "marks", conf) as driver:
        killed = sum(
            suffered(driver, shape, FIRST + number, disturb)
            for number in range(HISTORIES)
            for shape in SHAPES
        )
    assert killed
    tally(f"kills of {what} in random histories", killed)
    expect_nothing_left(checkpoints)


def test_of_attempts_that_all_write_one_counts(cluster: Cluster, tmp_path: Path) -> None:
    """Tasks are slow before or after they write, so that Spark runs them twice and accepts either attempt."""
    from engine.spark.cluster import PATIENT, QUICK, SLOW, SPECULATIVE, Driver

    checkpoints = tmp_path / "checkpoints"
    conf = {**QUICK, **SPECULATIVE, **SLOW, **PATIENT, "spark.checkpoint.dir": checkpoints.as_uri()}
    with Driver(cluster, tmp_path / "marks", conf) as driver:
        for number in range(HISTORIES):
            for shape in ("in tasks", "exchanged", "best"):
                driver.mark("slow")
                suffered(driver, shape, FIRST + number, lambda _: False)
                tally("tasks whose attempts all wrote", written_twice(driver.marks))
    expect_nothing_left(checkpoints)


def written_twice(marks: Path) -> int:
    """How many tasks have written a state more than once, each by an attempt of its own."""
    tasks = Counter(mark.name.split(".")[1] for mark in marks.glob("wrote.*"))
    count = sum(1 for attempts in tasks.values() if attempts > 1)
    assert count
    return count


def test_workers_may_be_taken_out_of_service(cluster: Cluster, tmp_path: Path) -> None:
    from engine.spark.cluster import DECOMMISSIONED, PATIENT, QUICK, Driver

    def disturb(dice: Random) -> bool:
        cluster.decommission(dice.randrange(100))
        time.sleep(PAUSE)
        return True

    checkpoints = tmp_path / "checkpoints"
    conf = {**QUICK, **DECOMMISSIONED, **PATIENT, "spark.checkpoint.dir": checkpoints.as_uri()}
    with Driver(cluster, tmp_path / "marks", conf) as driver:
        for number in range(HISTORIES):
            for shape in SHAPES:
                retired = suffered(driver, shape, FIRST + number, disturb, RETIRED)
                tally("workers taken out of service", retired)
    assert cluster.retired
    expect_nothing_left(checkpoints)


@pytest.mark.parametrize("kind", ["files", "stream"])
def test_killed_drivers_of_pipelines_go_on(kind: Kind, cluster: Cluster, tmp_path: Path) -> None:
    from engine.spark.cluster import QUICK

    conf = {**cluster.conf, **QUICK, "spark.checkpoint.dir": (tmp_path / "checkpoints").as_uri()}
    (tmp_path / "place").mkdir()
    kill_again_and_again(
        tmp_path / "place",
        KILLS,
        Random(FIRST),
        kind,
        ("driver", "tasks", "shuffled"),
        conf,
        {"JAVA_HOME": str(cluster.java_home)},
    )
    tally(f"kills of drivers of pipelines on a cluster ({kind})", KILLS)


def expect_nothing_left(checkpoints: Path) -> None:
    """A driver that has ended left no files of frames and of tasks."""
    assert [file for file in checkpoints.rglob("*") if file.is_file()] == []
