"""Under `differential`, weights by iteration are what they have to be, and stay few over many commits."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state, stored_weights
from engine.local.snapshot import contents
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import DIFFERENTIAL
from tidelog.plan.flat import Stratum
from tidelog.program.draft import load


def differential() -> LocalReasoner:
    return LocalReasoner(lambda engine: Scheduler(engine, DIFFERENTIAL))


def edges_of(random: Random, nodes: int, count: int) -> set[Row]:
    return {(random.randrange(nodes), random.randrange(nodes)) for _ in range(count)}


def change(*, came: Iterable[Row] = (), went: Iterable[Row] = ()) -> dict[str, ZSet[Row]]:
    return {"Edge": ZSet.of(came) - ZSet.of(went)}


def stratum_of(reasoner: LocalReasoner) -> Stratum:
    return next(u for u in reasoner.flat.strata if u.recursive)


REACH = """
input relation Edge(a: int, b: int)
output relation Reach(a: int, b: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z).
"""


def test_history_does_not_grow_over_many_commits() -> None:
    random, reasoner, program = Random(1), differential(), load(REACH)
    edges = edges_of(random, 30, 50)
    reasoner.commit(program, change(came=edges))
    for _ in range(150):
        gone = set(random.sample(sorted(edges, key=str), 3))
        came = edges_of(random, 30, 3) - edges
        edges = edges - gone | came
        reasoner.commit(program, change(came=came, went=gone))
        assert reasoner.stats.strata[-1].strategy == "differential"
        trace = reasoner.engine.tables["Reach"].trace
        assert trace is not None
        assert len(trace.entries) <= 2 * len(stored_weights(reasoner, stratum_of(reasoner))) + 64
    check_state(reasoner)
    fresh = differential()
    fresh.commit(program, change(came=edges))
    assert contents(reasoner) == contents(fresh)


def test_what_came_and_went_leaves_the_weights_that_there_were() -> None:
    random, reasoner, program = Random(2), differential(), load(REACH)
    edges = edges_of(random, 12, 20)
    reasoner.commit(program, change(came=edges))
    before = stored_weights(reasoner, stratum_of(reasoner))
    for edge in sorted(edges, key=str):
        reasoner.commit(program, change(went=[edge]))
        reasoner.commit(program, change(came=[edge]))
        assert stored_weights(reasoner, stratum_of(reasoner)) == before


def test_a_commit_that_fails_leaves_the_weights_that_there_were() -> None:
    text = REACH + "Reach(x, y / z) :- Reach(x, y), Edge(y, z), z < 5.\n"
    reasoner, program = differential(), load(text)
    reasoner.commit(program, change(came=[(1, 2), (2, 3), (3, 1)]))
    before = stored_weights(reasoner, stratum_of(reasoner))
    with pytest.raises(EngineError, match="divi"):
        reasoner.commit(program, change(came=[(2, 0), (3, 2)], went=[(1, 2)]))
    assert stored_weights(reasoner, stratum_of(reasoner)) == before
    check_state(reasoner)


def test_an_instance_that_fails_only_on_the_way_is_no_error() -> None:
    text = """
        input relation Edge(a: int, b: int)
        input relation Over(z: int)
        output relation Reach(a: int, b: int)
        Reach(x, y) :- Edge(x, y).
        Reach(x, z) :- Reach(x, y), Edge(y, z).
        Reach(x, x) :- Reach(x, y), Over(z), y / z > 100.
    """
    zero: Row = (0,)
    reasoner, program = differential(), load(text)
    reasoner.commit(program, change(came=[(1, 2)]))
    reasoner.commit(program, change(went=[(1, 2)]) | {"Over": ZSet.of([zero])})
    assert reasoner.contents == {"Over": frozenset([zero])}


def test_a_relation_that_becomes_recursive_and_ceases_to_be_keeps_its_contents() -> None:
    declared = "input relation Edge(a: int, b: int)\noutput relation Reach(a: int, b: int)\n"
    plain = declared + "Reach(x, y) :- Edge(x, y).\n"
    recursive = plain + "Reach(x, z) :- Reach(x, y), Edge(y, z).\n"
    reasoner = differential()
    reasoner.commit(load(plain), change(came=[(1, 2), (2, 3)]))
    assert reasoner.commit(load(recursive), {}) == {"Reach": ZSet.of([(1, 3)])}
    check_state(reasoner)
    assert reasoner.commit(load(plain), {}) == {"Reach": -ZSet.of([(1, 3)])}
    assert reasoner.engine.tables["Reach"].trace is None
    assert reasoner.commit(load(plain), change(went=[(1, 2)]))["Reach"] == -ZSet.of([(1, 2)])
