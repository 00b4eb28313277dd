"""Recursions in tasks keep their states between commits, in files, and give them up with the session."""

from __future__ import annotations

import gc
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from tidelog import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

PROGRAM = """
input relation Edge(src: int, dst: int, cost: int)
input relation Divisor(n: int)
output relation Reach(src: int, dst: int)
output relation Cheapest(src: int, dst: int, cost: int)
output relation Whole(n: int)
Reach(x, y) :- Edge(x, y, c), c < 9.
Reach(x, z) :- Reach(x, y), Edge(y, z, _).
Cheapest(x, y, c) :- Edge(x, y, cost), var c = cost.group_by(x, y).min().
Cheapest(x, z, c) :- Cheapest(x, y, a), Edge(y, z, b), var c = (a + b).group_by(x, z).min().
Whole(100 / n) :- Divisor(n).
"""


def edges(random: Random, count: int) -> list[tuple[int, int, int]]:
    return [(random.randrange(8), random.randrange(8), random.randrange(1, 10)) for _ in range(count)]


def test_updates_in_tasks_are_those_of_a_session_in_process(spark: SparkSession) -> None:
    random = Random(3)
    here = tidelog.open(text=PROGRAM)
    there = tidelog.open(text=PROGRAM, spark=spark, placement="tasks")
    scratch = Path(there._state.checkpoints.scratch.folder)  # type: ignore[attr-defined]
    partitions = there._state.checkpoints.partitions  # type: ignore[attr-defined]
    ways: set[tuple[str, str]] = set()
    for number in range(7):
        came, some = edges(random, 14 if number == 0 else 2), sorted(here["Edge"])
        went = random.sample(some, min(2, len(some)))
        made = [change(db, came, went, number) for db in (here, there)]
        for name in ("Reach", "Cheapest"):
            assert sorted(made[1].changes[name]) == sorted(made[0].changes[name]), f"commit {number}, {name}"
        ways |= {(stratum.name, stratum.strategy) for stratum in there.stats.strata}
        if number == 2:
            fail(there)
    assert {("Reach", "update"), ("Cheapest", "update")} <= ways
    assert len(list(scratch.iterdir())) <= 2 * partitions * 9
    del there, made
    gc.collect()
    assert not scratch.exists()


def change(db: tidelog.Session, came: Any, went: Any, number: int) -> Any:
    with db.transaction() as tx:
        tx.delete("Edge", went)
        tx.insert("Edge", came)
        if number == 4:
            tx.add_rule("Reach(y, y) :- Edge(x, y, _).")
        if number == 5:
            tx.remove_rule("Reach(x, z) :- Reach(x, y), Edge(y, z, _).")
    return tx


def fail(db: tidelog.Session) -> None:
    """A commit that works on the recursions, and then has to be undone."""
    before = sorted(db["Reach"])
    tx = db.transaction()
    tx.insert("Edge", [(0, 7, 1)])
    tx.delete("Edge", sorted(db["Edge"])[:3])
    tx.insert("Divisor", [(0,)])
    with pytest.raises(EngineError, match="zero"):
        tx.commit()
    assert sorted(db["Reach"]) == before


def test_where_strata_are_worked_out_is_explained(spark: SparkSession) -> None:
    db = tidelog.open(text=PROGRAM, spark=spark, placement="tasks")
    where = {stratum.name: stratum.where for stratum in db.explain().strata}
    assert where["Reach"] == "tasks: its recursion passes column 0 of Reach through"
    assert where["Whole"] == "shuffled: it is not recursive"
    assert "seeds of Reach" in where
    assert "tasks: its recursion passes" in str(db.explain())
    assert {s.where for s in tidelog.open(text=PROGRAM).explain().strata} == {""}
