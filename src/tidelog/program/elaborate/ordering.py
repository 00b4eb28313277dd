"""Ordering by dependencies: each thing comes after those that define what it needs, in linear time.

The order is that of repeated passes from first to last, each taking the things whose needs are met. The
canonical form of rules depends on it, so it must not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import TypeVar, assert_never

from tidelog.program import traversal
from tidelog.program.typed import Absent, Bind, Body, Each, Literal, Match, Nested, Stage, Test, Without

__all__ = ["definers_in_order", "in_order_of_need"]

_T = TypeVar("_T")


def in_order_of_need(things: Sequence[tuple[_T, Iterable[str], Iterable[str]]]) -> list[_T]:
    """The things in order; each is given with the names it defines and the names it needs.

    If no remaining thing has its needs met (a cycle, or an undefined name), the first of them is taken next.
    """
    missing = [set(needs) for _, _, needs in things]
    needing: dict[str, list[int]] = {}
    for i, names in enumerate(missing):
        for name in names:
            needing.setdefault(name, []).append(i)
    waiting = dict.fromkeys(range(len(things)))
    this_time = [i for i in waiting if not missing[i]]
    next_time: list[int] = []
    ordered: list[_T] = []
    while waiting:
        if not this_time:
            this_time, next_time = next_time or [next(iter(waiting))], []
        i = heappop(this_time)
        del waiting[i]
        thing, defined, _ = things[i]
        ordered.append(thing)
        for name in defined:
            for j in needing.pop(name, ()):
                missing[j].discard(name)
                if not missing[j] and j in waiting:
                    heappush(this_time if j > i else next_time, j)
    return ordered


def _defines(literal: Literal) -> str | None:
    match literal:
        case Bind(variable) | Each(variable) | Nested(variable):
            return variable.name
        case Match() | Absent() | Test() | Without() | Stage():
            return None
        case _:
            assert_never(literal)


def definers_in_order(literals: list[Literal]) -> Body:
    """The same literals, with each that defines a variable after those whose variables it reads."""
    definers = [(x, name) for x in literals if (name := _defines(x)) is not None]
    given = {name for _, name in definers}
    needs = [
        given & {v.name for e in traversal.expressions(x) for v in traversal.variables(e)}
        for x, _ in definers
    ]
    supply = iter(in_order_of_need([(x, (name,), n) for (x, name), n in zip(definers, needs, strict=True)]))
    return tuple(next(supply) if _defines(x) is not None else x for x in literals)
