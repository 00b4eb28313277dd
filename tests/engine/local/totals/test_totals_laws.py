"""Laws of recursive sums: they are what the mathematics says, and do not depend on how facts arrived."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.reasoners import LocalReasoner
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.errors import EngineError
from tidelog.program.draft import load
from tidelog.program.model import Program

QUANTITIES = load("""
    input relation E(x: int, y: int, w: int)
    output relation T(x: int, y: int, n: int)
    T(x, y, n) :- E(x, y, w), var n = w.group_by(x, y).sum().
    T(x, z, n) :- T(x, y, m), E(y, z, w), var n = (m * w).group_by(x, z).sum().
""")
CONTROL = load("""
    input relation E(x: int, y: int, w: int)
    relation H(x: int, y: int, s: int)
    output relation C(x: int, y: int)
    H(x, y, s) :- E(x, y, w), var s = w.group_by(x, y).sum().
    H(x, y, s) :- C(x, z), E(z, y, w), var s = w.group_by(x, y).sum().
    C(x, y) :- H(x, y, s), s > 5.
""")

nodes, weights = st.integers(0, 6), st.integers(-2, 4)
edges = st.frozensets(st.tuples(nodes, nodes, weights), max_size=14)
upwards = edges.map(lambda rows: frozenset((x, y, w) for x, y, w in rows if x < y))
shares = edges.map(lambda rows: frozenset((x, y, abs(w)) for x, y, w in rows))


def _commit(reasoner: LocalReasoner, program: Program, rows: Iterable[Row], sign: int = 1) -> None:
    reasoner.commit(program, {"E": ZSet(dict.fromkeys(rows, sign))})


def _become(reasoner: LocalReasoner, program: Program, rows: Iterable[Row]) -> None:
    """Have exactly these facts."""
    reasoner.commit(program, {"E": ZSet.of(rows) - ZSet.of(reasoner.contents.get("E", frozenset()))})


def _paths(rows: Iterable[tuple[int, int, int]]) -> set[Row]:
    """The sums over all paths of the products along them."""
    leaving: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for x, y, w in rows:
        leaving[x].append((y, w))
    found: dict[tuple[int, int], int] = {}

    def walk(start: int, at: int, product: int) -> None:
        for y, w in leaving[at]:
            found[start, y] = found.get((start, y), 0) + product * w
            walk(start, y, product * w)

    for x in tuple(leaving):
        walk(x, x, 1)
    return {(x, y, n) for (x, y), n in found.items()}


def _controlled(rows: Iterable[tuple[int, int, int]]) -> set[Row]:
    """Who controls what, one company after the other."""
    found: set[Row] = set()
    rows = tuple(rows)
    for owner in {x for x, _, _ in rows}:
        own: set[int] = set()
        while True:
            held: defaultdict[int, int] = defaultdict(int)
            for x, y, w in rows:
                held[y] += w * ((x == owner) + (x in own))
            more = {y for y, total in held.items() if total > 5} - own
            if not more:
                break
            own |= more
        found |= {(owner, y) for y in own}
    return found


@settings(max_examples=size(100, 3000), deadline=None)
@given(upwards, upwards)
def test_totals_of_an_acyclic_graph_are_sums_over_paths(
    first: frozenset[tuple[int, int, int]], second: frozenset[tuple[int, int, int]]
) -> None:
    reasoner = LocalReasoner()
    for rows in (first, second):
        _become(reasoner, QUANTITIES, rows)
        assert reasoner.contents.get("T", frozenset()) == _paths(rows)


@settings(max_examples=size(100, 3000), deadline=None)
@given(shares, shares)
def test_control_is_what_each_owner_reaches_alone(
    first: frozenset[tuple[int, int, int]], second: frozenset[tuple[int, int, int]]
) -> None:
    reasoner = LocalReasoner()
    for rows in (first, second):
        _become(reasoner, CONTROL, rows)
        assert reasoner.contents.get("C", frozenset()) == _controlled(rows)


@settings(max_examples=size(60, 2000), deadline=None)
@given(upwards, st.randoms(use_true_random=False))
def test_one_commit_gives_what_many_give(rows: frozenset[Row], dice: Random) -> None:
    for program in (QUANTITIES, CONTROL):
        once, many = LocalReasoner(), LocalReasoner()
        _commit(once, program, rows)
        for row in dice.sample(sorted(rows), len(rows)):
            _commit(many, program, [row])
        assert dict(once.contents) == dict(many.contents)


@settings(max_examples=size(60, 2000), deadline=None)
@given(upwards, upwards)
def test_inserting_and_deleting_changes_nothing(first: frozenset[Row], second: frozenset[Row]) -> None:
    for program in (QUANTITIES, CONTROL):
        reasoner = LocalReasoner()
        _commit(reasoner, program, first)
        before = dict(reasoner.contents)
        _commit(reasoner, program, second - first)
        _commit(reasoner, program, second - first, -1)
        assert dict(reasoner.contents) == before


@settings(max_examples=size(100, 3000), deadline=None)
@given(upwards, st.tuples(nodes, nodes, weights))
def test_an_edge_is_refused_if_and_only_if_it_closes_a_cycle(
    rows: frozenset[tuple[int, int, int]], edge: tuple[int, int, int]
) -> None:
    reasoner = LocalReasoner()
    _commit(reasoner, QUANTITIES, rows)
    before = dict(reasoner.contents)
    x, y, _ = edge
    if x == y or any((a, b) == (y, x) for a, b, _ in _paths(rows)):
        with pytest.raises(EngineError, match="depends on itself"):
            _commit(reasoner, QUANTITIES, [edge])
        assert dict(reasoner.contents) == before
    else:
        _commit(reasoner, QUANTITIES, [edge])
        assert reasoner.contents.get("T", frozenset()) == _paths({*rows, edge})
