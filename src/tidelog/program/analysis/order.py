"""Groups of names that depend on each other, in an order in which each comes after those it depends on.

A group is a strongly connected component. An order is kept from one program to the next: `renewed` looks only
at the part of it that a change of dependencies can affect.

Old dependencies point backwards in the order. A new one that points forwards may close cycles, and whatever
cycle it closes lies between its two ends. So the groups between them are computed again, and the others stay.
Removing a dependency can only split the group of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Order", "components"]

_Node = TypeVar("_Node", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Order:
    """`number` is the place of each name's group."""

    groups: tuple[frozenset[str], ...] = ()
    number: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, groups: Iterable[Iterable[str]]) -> Order:
        """The order of these groups."""
        found = tuple(map(frozenset, groups))
        return cls(found, {name: i for i, group in enumerate(found) for name in group})

    def renewed(
        self,
        below: Callable[[str], Collection[str]],
        touched: Iterable[str],
        first: Iterable[str] = (),
        last: Iterable[str] = (),
        dropped: Collection[str] = (),
    ) -> Order:
        """The order after a change.

        `below` gives what a name depends on now. `touched` are the names for which that has changed,
        `dropped` those that no longer exist. New names are `first` if they depend on nothing, else `last`.
        """
        order = self._with(first, last, dropped)
        spans = order._spans(below, touched)
        if not spans:
            return order
        groups: list[frozenset[str]] = []
        done = 0
        for start, end in spans:
            groups += order.groups[done:start]
            groups += order._regrouped(below, start, end)
            done = end + 1
        groups += order.groups[done:]
        made = tuple(groups)
        return order if made == order.groups else Order.of(made)

    def _with(self, first: Iterable[str], last: Iterable[str], dropped: Collection[str]) -> Order:
        """The order with new names at its ends, each a group of its own, and without dropped names."""
        before = [frozenset([name]) for name in first]
        after = [frozenset([name]) for name in last]
        if not before and not after and not dropped:
            return self
        kept: Iterable[frozenset[str]] = self.groups
        if dropped:
            gone = frozenset(dropped)
            kept = (group for group in (g - gone if g & gone else g for g in self.groups) if group)
        return Order.of((*before, *kept, *after))

    def _spans(
        self, below: Callable[[str], Collection[str]], touched: Iterable[str]
    ) -> list[tuple[int, int]]:
        """The ranges of groups to compute again, in order and apart from each other."""
        number, found = self.number, list[tuple[int, int]]()
        for name in touched:
            start = number.get(name)
            if start is None:
                continue
            end = max((number[other] for other in below(name)), default=start)
            if end > start or len(self.groups[start]) > 1:
                found.append((start, max(start, end)))
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return merged

    def _regrouped(
        self, below: Callable[[str], Collection[str]], start: int, end: int
    ) -> list[frozenset[str]]:
        names = [name for group in self.groups[start : end + 1] for name in sorted(group)]
        inside = set(names)
        edges = {name: [other for other in below(name) if other in inside] for name in names}
        return [frozenset(component) for component in components(edges)]


def components(below: Mapping[_Node, list[_Node]]) -> list[list[_Node]]:
    """Strongly connected components, each after those it depends on (Tarjan, without recursion)."""
    index: dict[_Node, int] = {}
    low: dict[_Node, int] = {}
    stack: list[_Node] = []
    on_stack: set[_Node] = set()
    found: list[list[_Node]] = []
    for root in below:
        if root in index:
            continue
        work: list[tuple[_Node, Iterator[_Node]]] = []
        _enter(root, below, index, low, stack, on_stack, work)
        while work:
            node, rest = work[-1]
            following = next(rest, None)  # no node is None
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_pop_component(node, stack, on_stack))
            elif following not in index:
                _enter(following, below, index, low, stack, on_stack, work)
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return found


def _enter(
    node: _Node,
    below: Mapping[_Node, list[_Node]],
    index: dict[_Node, int],
    low: dict[_Node, int],
    stack: list[_Node],
    on_stack: set[_Node],
    work: list[tuple[_Node, Iterator[_Node]]],
) -> None:
    index[node] = low[node] = len(index)
    stack.append(node)
    on_stack.add(node)
    work.append((node, iter(below[node])))


def _pop_component(node: _Node, stack: list[_Node], on_stack: set[_Node]) -> list[_Node]:
    component: list[_Node] = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        component.append(member)
        if member == node:
            return component
