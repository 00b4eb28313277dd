"""The strata that a commit has to look at, in order: those that a change of rules or rows may reach.

What a commit costs depends on them and not on the size of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from tidelog.plan.flat import FlatProgram

__all__ = ["Agenda"]


class Agenda:
    """Iterates over the numbers of strata; more can be added behind the current one.

    `changed` are the relations that are different before any stratum has run; None adds all strata.
    """

    def __init__(self, old: FlatProgram, new: FlatProgram, changed: Iterable[str] | None) -> None:
        self._program = new
        if changed is None:
            self._heap = list(range(len(new.strata)))
            self._seen = set(self._heap)
            return
        self._seen = set(new.since(old).strata)
        self._heap = list(self._seen)
        heapify(self._heap)
        for name in list(changed):
            self._add(name)
            self.add_readers(name)

    def __iter__(self) -> Iterator[int]:
        while self._heap:
            yield heappop(self._heap)

    def add_readers(self, relation: str) -> None:
        """Add the strata that read a relation."""
        for name in self._program.index.readers.get(relation, ()):
            self._add(name)

    def _add(self, relation: str) -> None:
        number = self._program.index.order.number.get(relation)
        if number is not None and number not in self._seen:
            self._seen.add(number)
            heappush(self._heap, number)
