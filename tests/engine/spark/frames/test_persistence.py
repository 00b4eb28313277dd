"""What is worked out on a cluster is held in files: they stay while somebody can read them, and no longer."""

from __future__ import annotations

import gc
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from tidelog import EngineError, SessionError
from tidelog.data.zset import ZSet
from tidelog.program.draft import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


@pytest.fixture
def in_files(checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Frames are held as on a cluster, in this folder."""
    holding = import_module("tidelog.engine.spark.frames.persistence")
    monkeypatch.setattr(holding, "_LOCAL", holding.re.compile("elsewhere"))
    return checkpoints


def held(folder: Path) -> set[Path]:
    return set(folder.glob("*/rdd-*"))


def session(master: str, folder: str | None) -> Any:
    """As much of a SparkSession as is looked at."""
    conf = SimpleNamespace(get={"spark.master": master}.get)
    return SimpleNamespace(conf=conf, sparkContext=SimpleNamespace(getCheckpointDir=lambda: folder))


def over_connect(**settings: str) -> Any:
    wanted = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    return SimpleNamespace(conf=SimpleNamespace(get=wanted.get))


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[2,4]"])
def test_what_one_process_has_is_held_by_it(spark: SparkSession, master: str) -> None:
    holding = import_module("tidelog.engine.spark.frames.persistence").holding
    for some in (session(master, None), session(master, "/a/folder"), over_connect(master=master)):
        assert holding(some).folder is None


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://host", "local-cluster[2,1,700]"])
def test_a_cluster_needs_a_folder_for_checkpoints(spark: SparkSession, master: str) -> None:
    holding = import_module("tidelog.engine.spark.frames.persistence").holding
    for without in (session(master, None), over_connect(master=master)):
        with pytest.raises(SessionError, match=r"cluster \(.*set spark\.checkpoint\.dir to a folder"):
            holding(without)
    for good in (session(master, "/a/folder"), over_connect(master=master, checkpoint_dir="/a/folder")):
        assert holding(good).folder == "/a/folder"


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("/data/held", "/data/held"),
        ("file:/data/held", "/data/held"),
        ("file:///data/held", "/data/held"),
        ("s3a://bucket/held", "s3://bucket/held"),
        ("hdfs://name:8020/held", "hdfs://name:8020/held"),
    ],
)
def test_folders_are_known_to_arrow_under_their_own_names(
    spark: SparkSession, folder: str, place: str
) -> None:
    assert import_module("tidelog.engine.spark.frames.persistence")._address(folder) == place


def test_tasks_leave_their_files_beside_those_of_frames(spark: SparkSession, in_files: Path) -> None:
    db = tidelog.open(text=PROGRAM, spark=spark, placement="tasks")
    with db.transaction() as tx:
        tx.insert("Edge", [(1, 2), (2, 3)])
    assert len(list(in_files.glob("*/tidelog-*/*"))) > 0
    del db, tx
    gc.collect()
    assert not list(in_files.glob("*/tidelog-*"))


@pytest.mark.parametrize("placement", ["tasks", "shuffled"])
def test_commits_do_not_pile_files_up(
    spark: SparkSession, in_files: Path, placement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.engine.spark.frames.relation_state._DEPTH", 1)
    reasoner = import_module("engine.spark.reasoner").SparkReasoner(spark, placement)
    reasoner.engine.sends = False
    program = load(PROGRAM)
    counts = []
    for i in range(5):
        reasoner.commit(program, {"Edge": ZSet.of([(i, i + 1)])})
        gc.collect()
        counts.append(len(held(in_files)))
    assert len(reasoner.contents["Reach"]) == 15
    assert 0 < counts[0] == counts[2] == counts[4]  # every second commit is combined with the one before
    assert counts[1] == counts[3]


def test_files_of_a_commit_that_failed_are_gone_after_the_next(spark: SparkSession, in_files: Path) -> None:
    db = tidelog.open(text=PROGRAM, spark=spark, placement="shuffled", max_iterations=3)
    with pytest.raises(EngineError, match="rounds"), db.transaction() as tx:
        tx.insert("Edge", [(i, i + 1) for i in range(6)])
    assert len(db["Reach"]) == 0
    with db.transaction():
        pass
    assert not held(in_files)


def test_a_frame_whose_job_fails_leaves_no_files(spark: SparkSession, in_files: Path) -> None:
    holding = import_module("tidelog.engine.spark.frames.persistence").Holding(str(in_files))
    errors = import_module("tidelog.engine.spark.runtime.failures").SPARK_ERRORS
    numbers = holding.hold(spark.range(0, 4, 1, 2))
    before = held(in_files)
    for frame in (numbers, numbers.repartition(2)):  # what it is made of is in the same stage, or in another
        with pytest.raises(errors, match="a bad row"):
            holding.hold(frame.selectExpr("if(id = 3, raise_error('a bad row'), id) as n"))
        assert held(in_files) == before
    assert len(before) == 1
    assert numbers.count() == 4


def test_files_go_when_nobody_can_read_them_any_more(spark: SparkSession, in_files: Path) -> None:
    db = tidelog.open(text=PROGRAM, spark=spark, placement="tasks")
    with db.transaction() as tx:
        tx.insert("Edge", [(1, 2), (2, 3)])
    before = db["Reach"].to_spark()
    with db.transaction() as tx:
        tx.delete("Edge", [(1, 2)])
    gc.collect()
    java_collects(spark)
    assert sorted(tuple(row) for row in before.collect()) == [(1, 2), (1, 3), (2, 3)]
    del db, tx, before
    expect_nothing_held(spark, in_files)


def test_larger_tables_of_the_driver_are_published_in_files(spark: SparkSession, in_files: Path) -> None:
    db = tidelog.open(text="input relation N(n: int, m: int)", spark=spark, placement="driver")
    with db.transaction() as tx:
        tx.insert("N", [(i, i) for i in range(70_000)])
    frame = db["N"].to_spark()
    assert len(held(in_files)) == 1
    assert frame.count() == 70_000


def java_collects(spark: SparkSession) -> None:
    java: Any = spark._jvm
    java.System.gc()


def expect_nothing_held(spark: SparkSession, folder: Path) -> None:
    """Python tells Java of what it dropped, and Java's cleaner works, in their own time."""
    deadline = time.monotonic() + 60  # only so that a failure ends
    while held(folder) and time.monotonic() < deadline:
        gc.collect()
        java_collects(spark)
        time.sleep(0.1)
    assert not held(folder)
