"""Orders of dependent names: keeping one up to date gives what computing it from nothing gives."""

from __future__ import annotations

from random import Random

import pytest

from sizes import size
from tidelog.program.analysis.order import Order, components

Graph = dict[str, set[str]]


def check(order: Order, graph: Graph) -> None:
    """The groups are the components, and every dependency points backwards or stays inside."""
    wanted = {frozenset(c) for c in components({name: sorted(below) for name, below in graph.items()})}
    assert set(order.groups) == wanted
    assert len(order.groups) == len(wanted)
    assert {n: i for i, group in enumerate(order.groups) for n in group} == order.number
    for name, below in graph.items():
        assert all(order.number[other] <= order.number[name] for other in below)


def edited(random: Random, graph: Graph) -> tuple[Graph, set[str], list[str], list[str], set[str]]:
    """Another graph, with the names that differ, new names that depend on nothing or not, dropped names."""
    made = {name: set(below) for name, below in graph.items()}
    dropped = {name for name in made if random.random() < 0.05}
    touched = {name for name, below in made.items() if below & dropped}
    made = {name: below - dropped for name, below in made.items() if name not in dropped}
    new = [f"n{random.randrange(10**9)}" for _ in range(random.randrange(3))]
    made |= {name: set() for name in new}
    names = sorted(made)
    for name in random.sample(names, min(len(names), random.randrange(4))):
        made[name] ^= set(random.sample(names, min(len(names), random.randrange(3))))
    touched = {name for name in made if made[name] != graph.get(name, set())}
    first = [name for name in new if not made[name]]
    last = [name for name in new if made[name]]
    return made, touched, first, last, dropped


@pytest.mark.parametrize("seed", range(size(60, 2000)))
def test_a_renewed_order_is_one_from_nothing(seed: int) -> None:
    random = Random(seed)
    names = [f"a{i}" for i in range(random.randrange(1, 16))]
    graph: Graph = {name: set(random.sample(names, random.randrange(min(3, len(names))))) for name in names}
    order = Order.of(components({name: sorted(below) for name, below in graph.items()}))
    check(order, graph)
    for _ in range(25):
        graph, touched, first, last, dropped = edited(random, graph)
        order = order.renewed(graph.__getitem__, touched, first, last, dropped)
        check(order, graph)


def test_an_order_that_nothing_moves_stays_itself() -> None:
    order = Order.of([["a"], ["b"], ["c"]])
    graph: Graph = {"a": set(), "b": {"a"}, "c": {"a"}}
    assert order.renewed(graph.__getitem__, ["c"]) is order
