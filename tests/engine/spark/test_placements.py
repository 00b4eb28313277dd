"""A session on Spark behaves as one in this process does, wherever its work is placed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from tidelog import DataError, EngineError, Session, SessionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

PLACEMENTS = ("driver", "tasks", "shuffled")
PROGRAM = """
input relation Edge(src: string, dst: string)
input relation Price(item: string, cents: int) primary key (item)
output relation Reach(src: string, dst: string)
output relation Fan(src: string, n: int)
output relation Per(item: string, share: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
Per(i, 1000 / c) :- Price(i, c).
"""


def rows(frame: Any) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def first(spark: SparkSession, placement: str, strategy: str = "elastic") -> Session:
    """A session with its first facts, from a frame."""
    db = tidelog.open(text=PROGRAM, spark=spark, placement=placement, strategy=strategy)
    with db.transaction() as tx:
        tx.insert("Edge", spark.createDataFrame([("b", "a"), ("c", "b"), ("b", "a")], ["dst", "src"]))
        tx.insert("Price", [("tea", 300)])
    return db


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_commits_and_their_changes(spark: SparkSession, placement: str) -> None:
    db = first(spark, placement)
    assert rows(db["Reach"].to_spark()) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert sorted(db["Fan"]) == [("a", 2), ("b", 1)]
    assert ("a", "c") in db["Reach"]
    assert ("c", "a") not in db["Reach"]
    before = db["Reach"]
    with db.transaction() as tx:
        tx.delete("Edge", spark.createDataFrame([("b", "c")], ["src", "dst"]))
        tx.insert("Edge", [("c", "d")])
        tx.add_rule("Reach(y, x) :- Edge(x, y).")
    came, went = [("b", "a"), ("c", "d"), ("d", "c")], [("a", "c"), ("b", "c")]
    own = {("a", "a"), ("b", "b"), ("c", "c"), ("d", "d")}
    changes = tx.changes["Reach"].to_spark()
    assert changes.columns == ["src", "dst", "sign"]
    found = rows(changes)
    assert [r[:2] for r in found if r[2] == -1] == went
    assert {r[:2] for r in found if r[2] == 1} >= set(came)
    assert {r[:2] for r in found if r[2] == 1} - set(came) <= own
    assert sorted(tx.changes["Edge"]) == [(("b", "c"), -1), (("c", "d"), 1)]
    assert len(tx.changes["Price"]) == 0
    assert sorted(before) == [("a", "b"), ("a", "c"), ("b", "c")]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_commit_that_fails_changes_nothing(spark: SparkSession, placement: str) -> None:
    db = first(spark, placement)
    tx = db.transaction()
    tx.insert("Edge", [("c", "d")])
    tx.insert("Price", [("air", 0)])
    with pytest.raises(EngineError, match=r"zero.*in the rule"):
        tx.commit()
    assert db.commit == 1
    assert sorted(db["Edge"]) == [("a", "b"), ("b", "c")]
    assert list(db["Per"]) == [("tea", 3)]
    with db.transaction() as tx:
        tx.upsert("Price", [("tea", 500)])
        looked = tx.preview()
        tx.rollback()
    assert sorted(looked["Per"]) == [(("tea", 2), 1), (("tea", 3), -1)]
    assert list(db["Per"]) == [("tea", 3)]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_keys_and_missing_values_are_looked_after(spark: SparkSession, placement: str) -> None:
    db = first(spark, placement)
    with pytest.raises(DataError, match="two rows"), db.transaction() as tx:
        tx.insert("Price", spark.createDataFrame([("tea", 1)], "item string, cents long"))
    with db.transaction() as tx:
        with pytest.raises(DataError, match="dst"):
            tx.insert("Edge", spark.createDataFrame([("a", None)], "src string, dst string"))
        with pytest.raises(DataError, match="colour"):
            tx.insert("Edge", spark.createDataFrame([("a", "b", 1)], "src string, dst string, colour int"))
        tx.delete_keys("Price", ["tea"])
        tx.insert("Price", spark.createDataFrame([("milk", 100)], "item string, cents int"))
    assert list(db["Price"]) == [("milk", 100)]
    assert sorted(tx.changes["Per"]) == [(("milk", 10), 1), (("tea", 3), -1)]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_parts_of_relations_and_queries(spark: SparkSession, placement: str) -> None:
    db = first(spark, placement)
    assert sorted(db["Reach"].where(src="a")) == [("a", "b"), ("a", "c")]
    assert sorted(db["Reach"].between("dst", "c")) == [("a", "c"), ("b", "c")]
    assert rows(db.query("Reach(x, y), Reach(y, z)").to_spark()) == [("a", "b", "c")]
    assert sorted(db["Reach"].derived) == sorted(db["Reach"])
    assert sorted(db["Edge"].given) == [("a", "b"), ("b", "c")]
    shown = str(db.stats)
    assert (
        "driver: as requested" in shown if placement == "driver" else "shuffled: it is not recursive" in shown
    )
    if placement == "tasks":
        assert "tasks: its recursion passes column 0 of Reach through" in shown


def test_data_that_does_not_fit_moves_into_frames(
    spark: SparkSession, small_budget: Callable[[int], None]
) -> None:
    small_budget(12)
    db = tidelog.open(text=PROGRAM, spark=spark)
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
        tx.insert("Price", [("tea", 300)])
    assert "driver: the data fits" in str(db.stats)
    early = db["Reach"]
    with db.transaction() as tx:
        tx.insert("Edge", [("b", "c")])
        tx.insert("Edge", spark.createDataFrame([(f"{i}", f"{i + 1}") for i in range(9)], ["src", "dst"]))
    assert len(tx.changes["Reach"]) == 45 + 2
    assert len(db["Reach"]) == 48
    assert "tasks: its recursion" in str(db.stats)
    assert list(early) == [("a", "b")]
    assert db.commit == 2


DOOMED = """
import os
import signal
from pathlib import Path

MARK = Path({mark!r})

def twice(n: int) -> int:
    if not MARK.exists():
        MARK.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * n
"""


def test_a_worker_that_is_killed_changes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, mark = tmp_path / "doomed_functions.py", tmp_path / "mark"
    module.write_text(DOOMED.format(mark=str(mark)))
    monkeypatch.syspath_prepend(str(tmp_path))
    spark.sparkContext.addPyFile(str(module))
    twice = import_module("doomed_functions").twice
    text = "input relation N(n: int)\noutput relation M(n: int)\nM(twice(n)) :- N(n)."
    db = tidelog.open(text=text, functions=[twice], spark=spark, placement="shuffled")
    db._state.checkpoints.small = 0  # type: ignore[attr-defined] # everything is computed in tasks
    with db.transaction() as tx:
        tx.insert("N", [(1,), (2,), (3,)])
    assert mark.exists()
    assert sorted(tx.changes["M"]) == [((2,), 1), ((4,), 1), ((6,), 1)]


def test_a_module_that_tasks_do_not_find_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "functions_of_the_driver.py").write_text("def same(n: int) -> int:\n    return n\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    same = import_module("functions_of_the_driver").same
    text = "input relation N(n: int)\noutput relation M(n: int)\nM(same(n)) :- N(n)."
    db = tidelog.open(text=text, functions=[same], spark=spark, placement="shuffled")
    db._state.checkpoints.small = 0  # type: ignore[attr-defined] # everything is computed in tasks
    wanted = "No module named 'functions_of_the_driver', in a task; .* must be importable on the executors"
    with pytest.raises(EngineError, match=wanted), db.transaction() as tx:
        tx.insert("N", [(1,)])
    assert len(db["M"]) == 0


def test_a_placement_that_there_is_not_is_refused() -> None:
    with pytest.raises(SessionError, match="did you mean `shuffled`"):
        tidelog.open(text=PROGRAM, spark=object(), placement="shufled")
    with pytest.raises(SessionError, match="SparkSession"):
        tidelog.open(text=PROGRAM, placement="tasks")


@pytest.mark.parametrize("strategy", ["dred", "differential"])
def test_strategies_of_local_engines_run_in_tasks_and_are_refused_elsewhere(
    spark: SparkSession, strategy: str
) -> None:
    with pytest.raises(SessionError, match=f"`{strategy}` only runs in the driver or in tasks"):
        tidelog.open(text=PROGRAM, spark=spark, placement="shuffled", strategy=strategy)
    db = first(spark, "tasks", strategy)
    with db.transaction() as tx:
        tx.delete("Edge", [("b", "c")])
    assert sorted(tx.changes["Reach"]) == [(("a", "c"), -1), (("b", "c"), -1)]
    assert strategy in {stratum.strategy for stratum in db.stats.strata if stratum.name == "Reach"}


def test_a_session_explains_itself_after_a_query(interpreted: SparkSession) -> None:
    text = "input relation A(x: int) input relation B(x: int) output relation C(x: int) C(x) :- B(x)."
    db = tidelog.open(text=text, spark=interpreted, placement="shuffled")
    with db.transaction() as tx:
        tx.insert("A", [(1,)])
    assert list(db.query("A(x)")) == [(1,)]
    assert "C" in str(db.explain())
