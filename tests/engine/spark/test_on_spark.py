"""The golden cases and random programs on the Spark engine, in its placements: a sample, or all of it.

Spark takes a tenth of a second for what takes the local engine a millisecond, so the normal run takes a few.
With TIDELOG_SPARK=all every case runs in every placement, and TIDELOG_SEEDS says how many random programs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from conformance.case import Case, cases, show_outputs
from conformance.reasoners import LocalReasoner, Reasoner
from oracle.generator import Generator, Step
from tidelog.data.zset import ZSet
from tidelog.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ALL = os.environ.get("TIDELOG_SPARK") == "all"
# where units run: as asked, by joins even if tasks could send each other what they find, or in the driver
# while they have few rows, and then where they can
PLACES = ("shuffled", "tasks", "chosen", "joined")
STRATEGIES = ("elastic", "elastic", "dred", "differential", "recompute")
ROOM = 12
# the case, where it runs, and whether what could be computed in the driver is computed in tasks
SAMPLE = (
    ("same_generation", "shuffled", False),
    ("same_generation", "joined", False),
    ("rules_are_facts", "shuffled", False),
    ("failures", "shuffled", True),
    ("shortest_path", "tasks", False),
    ("rules_are_facts", "chosen", False),
    ("company_control", "chosen", False),
    ("totals_with_conditions", "shuffled", False),
)
# the last one merges two units in a commit that changes neither
HISTORIES = (
    ("negated", 1, "shuffled", "elastic"),
    ("negated", 1, "joined", "elastic"),
    ("full", 2, "tasks", "elastic"),
    ("full", 7, "joined", "elastic"),
    ("full", 3, "chosen", "elastic"),
    ("positive", 4, "tasks", "differential"),
    ("negated", 5, "tasks", "dred"),
)


def _cases() -> list[object]:
    named = {case.name: case for case in cases()}
    chosen = SAMPLE if not ALL else [(n, p, t) for n in named for p in PLACES for t in (False, True)]
    return [
        pytest.param(named[name], place, tasks, id=f"{name}-{place}-{'tasks' if tasks else 'driver'}")
        for name, place, tasks in chosen
    ]


def _histories() -> list[tuple[str, int, str, str]]:
    if not ALL:
        return list(HISTORIES)
    seeds = range(int(os.environ.get("TIDELOG_SEEDS", "60")))
    flavours = ("positive", "negated", "guarded", "full", "typed")
    return [(f, seed, *_ways(seed)) for f in flavours for seed in seeds]


def _ways(seed: int) -> tuple[str, str]:
    place = PLACES[seed % len(PLACES)]
    return place, STRATEGIES[seed % 5] if place in ("tasks", "chosen") else "elastic"


def _reasoner(
    spark: SparkSession, place: Any, *, strategy: str = "elastic", in_tasks: bool = False
) -> Reasoner:
    from engine.spark.reasoner import SparkReasoner  # needs PySpark, which the fixture has asked for

    asked = {"chosen": None, "joined": "shuffled"}.get(place, place)
    made = SparkReasoner(spark, asked, strategy, room=ROOM)
    made.engine.sends = place != "joined"
    if in_tasks:
        made.checkpoints.small = 0
    return made


@pytest.mark.parametrize(("case", "place", "in_tasks"), _cases())
def test_a_case_gives_what_it_expects_after_each_commit(
    interpreted: SparkSession, case: Case, place: str, in_tasks: bool
) -> None:
    reasoner = _reasoner(interpreted, place, in_tasks=in_tasks)
    number = 0
    for commit in case.commits():
        before = dict(reasoner.contents)
        if commit.fails is not None:
            with pytest.raises(EngineError) as error:
                reasoner.commit(commit.program, commit.facts)
            assert commit.fails in str(error.value)
            assert dict(reasoner.contents) == before
            continue
        changes = reasoner.commit(commit.program, commit.facts)
        after = reasoner.contents
        assert show_outputs(commit.program, after) == case.expected(number)
        differences = {n: ZSet.of(after.get(n, ())) - ZSet.of(before.get(n, ())) for n in {**before, **after}}
        assert changes == {n: d for n, d in differences.items() if d}
        number += 1


@pytest.mark.parametrize(("flavour", "seed", "place", "strategy"), _histories())
def test_a_random_history_is_that_of_the_local_engine(
    interpreted: SparkSession, flavour: str, seed: int, place: str, strategy: str
) -> None:
    local = LocalReasoner()
    spark = _reasoner(interpreted, place, strategy=strategy, in_tasks=seed % 7 == 0)
    steps = 6 if ALL else 3
    for number, step in zip(range(steps), Generator(seed, flavour).steps(), strict=False):
        expected = _commit(local, step)
        assert _commit(spark, step) == expected, f"step {number}: {step.edits} {dict(step.facts)}"
        if expected is None:
            return


def _commit(reasoner: Reasoner, step: Step) -> object:
    """The changes and the contents after a commit, or None if it was refused and nothing changed."""
    before = dict(reasoner.contents)
    try:
        return reasoner.commit(step.program, step.facts), dict(reasoner.contents)
    except EngineError:
        assert dict(reasoner.contents) == before
        return None
