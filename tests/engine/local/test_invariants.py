"""After every commit of a random history, ranks, counts and tables are what they have to be."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import pytest

from conformance.reasoners import ImpatientScheduler, LocalReasoner
from engine.local.recount import check_state
from engine.local.snapshot import contents
from oracle.generator import FLAVOURS, Generator
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import DIFFERENTIAL, DRED
from tidelog.program.draft import load

RUNS: list[Callable[[LocalEngine], Scheduler]] = [
    Scheduler,
    ImpatientScheduler,
    lambda engine: Scheduler(engine, DRED),
    lambda engine: Scheduler(engine, DIFFERENTIAL),
]
SEEDS = int(os.environ.get("TIDELOG_SEEDS", size(36, 1_000))) // 2


@pytest.mark.parametrize("flavour", [f for f in FLAVOURS if f != "large"])
def test_counts_and_weights_are_the_numbers_of_instances_after_every_commit(flavour: str) -> None:
    for seed in range(SEEDS):
        check(flavour, seed)


def check(flavour: str, seed: int) -> None:
    reasoner = LocalReasoner(RUNS[seed % len(RUNS)])
    for number, step in enumerate(Generator(seed, flavour).steps()):
        try:
            reasoner.commit(step.program, step.facts)
        except EngineError:
            check_state(reasoner)
            return
        try:
            check_state(reasoner)
        except AssertionError as error:
            raise AssertionError(f"{flavour} {seed}, step {number}: {error}") from error


MERGING = """
input relation Edge(a: int, b: int)
input relation Odd(a: int)
relation Reach(a: int, b: int)
relation Back(a: int, b: int)
output relation Pair(a: int, b: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Back(y, x) :- Reach(x, y).
Pair(x, y) :- Back(x, y), Odd(x).
"""


@pytest.mark.parametrize("seed", range(10))
def test_strata_that_merge_keep_their_states(seed: int) -> None:
    random = Random(seed)
    reasoner = LocalReasoner()
    edges: ZSet[Row] = ZSet.of([(random.randrange(12), random.randrange(12)) for _ in range(20)])
    odd: ZSet[Row] = ZSet.of([(i,) for i in range(1, 12, 2)])
    reasoner.commit(load(MERGING), {"Edge": edges, "Odd": odd})
    merged = load(MERGING + "Reach(x, y) :- Pair(x, y), Edge(y, _).")
    came: ZSet[Row] = ZSet.of([(random.randrange(12), random.randrange(12))])
    reasoner.commit(merged, {"Edge": came - ZSet.of(random.sample(list(edges), 2))})
    check_state(reasoner)
    strata = [u for u in reasoner.stats.strata if "Reach" in u.name]
    assert [(u.name, u.strategy) for u in strata] == [("Back, Pair, Reach", "update")]
    fresh = LocalReasoner()
    fresh.commit(merged, {name: ZSet.of(rows) for name, rows in reasoner.given.items()})
    assert contents(reasoner) == contents(fresh)
    reasoner.commit(load(MERGING), {})
    check_state(reasoner)


def test_indexes_come_and_go_with_the_rules_that_use_them() -> None:
    text = """
    input relation E(a: int, b: int)
    input relation F(a: int)
    output relation P(a: int)
    P(x) :- F(x).
    """
    more = "P(y) :- F(x), E(y, x)."
    facts: dict[str, ZSet[Row]] = {"E": ZSet.of([(i, i % 7) for i in range(50)]), "F": ZSet.of([(1,), (2,)])}
    reasoner = LocalReasoner()
    reasoner.commit(load(text), facts)
    assert not reasoner.engine.tables["E"].indexes
    reasoner.commit(load(text + more), {})
    assert set(reasoner.engine.tables["E"].indexes) == {(1,)}
    before = reasoner.flat
    reasoner.commit(load(text), {})
    reasoner.engine.tidy(before, reasoner.flat)
    assert not reasoner.engine.tables["E"].indexes
    reasoner.commit(load(text + more), {"E": ZSet.of([(100, 2)])})
    assert (100,) in reasoner.contents["P"]
