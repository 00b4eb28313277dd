"""Ordering by dependencies: each thing comes after those that define what it needs, in linear time.

The order is that of repeated passes from first to last, each taking the things whose needs are met. The
canonical form of rules depends on it, so it must not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import TypeVar

__all__ = ["in_order_of_need"]

_T = TypeVar("_T")


def in_order_of_need(things: Sequence[tuple[_T, str, Iterable[str]]]) -> list[_T]:
    """The things in order; each is given with the name it defines and the names it needs.

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
        thing, name, _ = things[i]
        ordered.append(thing)
        for j in needing.pop(name, ()):
            missing[j].discard(name)
            if not missing[j] and j in waiting:
                heappush(this_time if j > i else next_time, j)
    return ordered
