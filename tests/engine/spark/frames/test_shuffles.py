"""The rounds of a recursion move as little data as they can: counted in the plans that Spark makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from tidelog.data.zset import ZSet
from tidelog.program.draft import load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

CLOSURE = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
DOUBLING = CLOSURE.replace("Reach(x, y), Edge(y, z)", "Reach(x, y), Reach(y, z)")

ByCut: TypeAlias = Callable[[str], list[int]]


@pytest.fixture(params=["held in blocks", "held in files"])
def shuffles_by_cut(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    checkpoints: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> ByCut:
    """How many shuffles each cut of the bootstrap of a chain needs, in order."""
    from engine.spark.reasoner import SparkReasoner
    from tidelog.engine.spark.frames import checkpoints as made
    from tidelog.engine.spark.frames.persistence import Holding

    counted: list[int] = []
    make = made.Checkpoints.make

    def counting(self: Any, frame: DataFrame) -> Any:
        plan = frame._jdf.queryExecution().executedPlan().toString()
        counted.append(plan.count("Exchange hashpartitioning"))
        return make(self, frame)

    def by_cut(text: str) -> list[int]:
        folder = str(checkpoints) if request.param == "held in files" else None
        held = Holding(folder)
        reasoner = SparkReasoner(spark, "shuffled", held=held)
        reasoner.engine.sends = False
        monkeypatch.setattr(made.Checkpoints, "make", counting)
        reasoner.commit(load(text), {"Edge": ZSet.of([(i, i + 1) for i in range(6)])})
        assert len(reasoner.contents["Reach"]) == 21
        assert any(checkpoints.glob("*/rdd-*")) == (folder is not None)
        return counted

    return by_cut


def test_rounds_that_pass_a_column_through_shuffle_nothing(shuffles_by_cut: ByCut) -> None:
    facts, first, *rounds = shuffles_by_cut(CLOSURE)
    assert (facts, first) == (1, 1)
    assert len(rounds) >= 5
    assert set(rounds) == {0}


def test_other_rounds_shuffle_what_they_find_once(shuffles_by_cut: ByCut) -> None:
    _, _, *rounds = shuffles_by_cut(DOUBLING)
    assert max(rounds) == 1


def test_large_relations_are_sorted_where_they_are(
    shuffles_by_cut: ByCut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.engine.spark.frames.checkpoints._HASHED", 0)
    _, _, *rounds = shuffles_by_cut(CLOSURE)
    assert set(rounds) == {0}
