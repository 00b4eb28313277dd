"""A recursion begins as bits if it is expected to be dense, with or without cycles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tidelog
from session.routes import home
from tidelog.bench import graphs
from tidelog.engine.local.dense.estimate import begins_dense
from tidelog.engine.local.dense.matrix import BitRelation, Source, pays
from tidelog.engine.local.dense.patterns import Operand, Pattern
from tidelog.engine.local.native import calls

PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Edge(x, y), Reach(y, z).
"""
NOTHING = np.empty((0, 2), np.int64)
LINEAR = Pattern("Reach", (Operand("Edge"),), (Operand("Edge"),))
SHAPES = {
    "mesh": lambda: graphs.mesh(98, 23),
    "tall mesh": lambda: graphs.mesh(20, 100),
    "grid": lambda: graphs.grid(40, 40),
    "chain": lambda: graphs.chain(700),
    "tree": lambda: graphs.tree(30_000),
    "wide tree": lambda: graphs.tree(30_000, 200),
    "uniform": lambda: graphs.gnp(2000, 2.0),
    "sparse": lambda: graphs.gnp(20_000, 0.9),
    "power law": lambda: graphs.rmat(2000, 4000),
}


def _begins(fits: Pattern, edges: graphs.Edges, asserted: graphs.Edges = NOTHING) -> bool:
    return begins_dense(fits, lambda _: len(edges), lambda _: edges, asserted, lambda ahead=None: None)


def _size(fits: Pattern, edges: graphs.Edges) -> tuple[int, int]:
    """How many pairs and how many values there are."""
    relation = BitRelation()
    relation.update(
        fits, Source(NOTHING, NOTHING, NOTHING), {"Edge": Source(edges, edges, NOTHING)}, starts_over=True
    )
    return relation.next_size, relation.names.rows


@pytest.mark.parametrize("fits", [LINEAR, Pattern("Reach", (Operand("Edge", True),), (), closed=True)])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_form_is_the_one_that_pays(shape: str, fits: Pattern) -> None:
    edges = SHAPES[shape]()
    pairs, values = _size(fits, edges)
    assert not pays(pairs * 2, values) or pays(pairs // 2, values), "too close to decide"
    assert _begins(fits, edges) == pays(pairs, values)


def test_a_recursion_without_a_base_has_no_pairs_but_those_of_its_cycles() -> None:
    edges = graphs.mesh(98, 23)
    fits = Pattern("Reach", (), (Operand("Edge"),))
    assert not _begins(fits, edges)
    assert _begins(fits, edges, np.stack([edges[:, 0], edges[:, 0]], axis=1))


def test_an_estimate_that_is_close_takes_more_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def lowest_ranks(*args: Any) -> Any:
        drawn.append(args[4].shape[1])
        return lowest(*args)

    lowest = calls.lowest_ranks
    monkeypatch.setattr(calls, "lowest_ranks", lowest_ranks)
    assert _begins(LINEAR, graphs.mesh(98, 23))
    few = len(drawn)
    assert few <= 2
    _begins(LINEAR, graphs.mesh(300, 14))  # one pair in sixty-four
    assert len(drawn) == few + 5


@pytest.mark.parametrize("shape", SHAPES)
def test_paths_are_at_least_as_many_as_pairs(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a tree they are as many, so no ranks are drawn."""
    counted: list[int] = []
    count = calls.most_pairs

    def most_pairs(*args: Any) -> int:
        counted.append(count(*args))
        return counted[-1]

    monkeypatch.setattr(calls, "most_pairs", most_pairs)
    edges = SHAPES[shape]()
    if "tree" in shape:
        monkeypatch.delattr(calls, "lowest_ranks")
    _begins(LINEAR, edges)
    pairs, values = _size(LINEAR, edges)
    assert all(pairs <= most <= values * values for most in counted)
    assert "tree" not in shape or counted == [pairs]


def test_an_acyclic_closure_begins_as_bits() -> None:
    edges = graphs.mesh(98, 23)
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Edge", list(map(tuple, edges.tolist())))
    (stratum,) = (s for s in db.stats.strata if s.name == "Reach")
    assert (stratum.rounds, stratum.instances) == (1, 0)
    assert "Reach" in home(db).engine.dense.bits
    pairs, _ = _size(LINEAR, edges)
    assert len(db["Reach"]) == pairs


def test_a_sparse_closure_begins_as_rows() -> None:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Edge", list(map(tuple, graphs.tree(3000).tolist())))
    assert not home(db).engine.dense.bits
