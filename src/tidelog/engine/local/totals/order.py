"""The order of groups: those that a change may reach, each with a level above those it depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.kernels.layout import ALIVE
from tidelog.engine.local.storage.lookup import lookup
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.plan.flat import Dependencies

__all__ = ["Cone", "Group"]


class Group(NamedTuple):
    """A group of a relation: the codes of its columns."""

    relation: str
    codes: Codes


class Cone:
    """Groups, and everything that depends on them. A group has a number that also tells its relation.

    `tables` has the dependencies. `arities` are the numbers of columns of groups, by relation.
    """

    def __init__(
        self,
        dependencies: Sequence[Dependencies],
        tables: Mapping[str, Table],
        arities: Mapping[str, int],
    ) -> None:
        self._dependencies = dependencies
        self._tables = tables
        self._names = sorted(arities)
        self._arities = arities
        self._groups = {name: Table(max(1, arity)) for name, arity in arities.items()}
        self._above: list[Rows] = []
        self._below: list[Rows] = []
        self._levels = np.empty(0, np.int64)

    # -- what is in it

    def everything(self) -> None:
        """Take all dependencies into the cone."""
        for of in self._dependencies:
            table = self._tables[of.name]
            self._take(of, table.codes(table.alive()))

    def reach(self, groups: Mapping[str, Codes]) -> None:
        """Take groups into the cone, and what depends on them."""
        waiting = {name: self._new(name, codes) for name, codes in groups.items()}
        while any(map(len, waiting.values())):
            found: dict[str, list[Codes]] = {name: [] for name in self._names}
            for of in self._dependencies:
                if len(waiting.get(of.below, ())):
                    found[of.above].append(self._take(of, self._reading(of, waiting[of.below])))
            waiting = {name: np.concatenate(parts) for name, parts in found.items() if parts}

    def _reading(self, of: Dependencies, groups: Codes) -> Codes:
        """The dependencies on these groups."""
        table = self._tables[of.name]
        columns = tuple(range(of.size, table.arity))
        rows = lookup(table, columns, groups)[1] if columns else table.alive()
        return table.codes(rows[table.tags[rows] & ALIVE != 0])

    def _take(self, of: Dependencies, codes: Codes) -> Codes:
        """Take dependencies into the cone; returns the groups that are new to it."""
        above, below = codes[:, : of.size], codes[:, of.size :]
        new = self._new(of.above, above)
        self._above.append(self._numbers(of.above, above))
        self._below.append(self._number(of.below, below))
        return new

    def _new(self, name: str, codes: Codes) -> Codes:
        """Number groups; returns those that had no number."""
        before = self._groups[name].rows
        self._number(name, codes)
        return self._groups[name].codes(np.arange(before, self._groups[name].rows))[:, : self._arities[name]]

    def _number(self, name: str, codes: Codes) -> Rows:
        rows = self._groups[name].add(_padded(codes))
        return rows * len(self._names) + self._names.index(name)

    def _numbers(self, name: str, codes: Codes) -> Rows:
        """The numbers of groups; negative if they are not in the cone."""
        rows = self._groups[name].find(_padded(codes))
        return np.where(rows < 0, -1, rows * len(self._names) + self._names.index(name))

    # -- levels

    def sort(self) -> list[Group] | None:
        """Give every group a level. If a group depends on itself, returns a cycle instead."""
        nothing = np.empty(0, np.int64)
        above, below = np.concatenate([nothing, *self._above]), np.concatenate([nothing, *self._below])
        size = max((t.rows for t in self._groups.values()), default=0) * len(self._names)
        by_below = np.argsort(below, kind="stable")
        starts = np.searchsorted(below[by_below], np.arange(size + 1))
        following, waiting = above[by_below], np.bincount(above, minlength=size)
        self._levels = np.full(size, -1, np.int64)
        ready, level = np.flatnonzero(waiting == 0), 0
        while len(ready):
            self._levels[ready] = level
            freed, times = np.unique(following[_ranges(starts[ready], starts[ready + 1])], return_counts=True)
            waiting[freed] -= times
            ready, level = freed[waiting[freed] == 0], level + 1
        stuck = (self._levels[above] < 0) & (self._levels[below] < 0)
        return self._cycle(above[stuck], below[stuck]) if stuck.any() else None

    def _cycle(self, above: Rows, below: Rows) -> list[Group]:
        """A cycle among groups that all wait for another one of them; each depends on the next."""
        reads: dict[int, int] = {}
        for group, read in zip(above.tolist(), below.tolist(), strict=True):
            reads.setdefault(group, read)
        path: dict[int, None] = {}
        group = min(reads)
        while group not in path:
            path[group] = None
            group = reads[group]
        return list(self._named(list(path)[list(path).index(group) :]))

    def _named(self, numbers: Sequence[int]) -> Iterator[Group]:
        for number in numbers:
            row, relation = divmod(number, len(self._names))
            name = self._names[relation]
            codes = self._groups[name].codes(np.array([row]))[0]
            yield Group(name, codes[: self._arities[name]])

    def levels(self, name: str, codes: Codes) -> Codes:
        """The levels of groups; 0 for groups that nothing depends on and that depend on nothing."""
        numbers = self._numbers(name, codes)
        return np.where(numbers < 0, 0, self._levels[np.maximum(numbers, 0)] if len(self._levels) else 0)


def _padded(codes: Codes) -> Codes:
    """Codes with at least one column, since a table needs one."""
    return np.ascontiguousarray(codes) if codes.shape[1] else np.zeros((len(codes), 1), np.int64)


def _ranges(starts: Rows, ends: Rows) -> Rows:
    """All numbers from each start to its end."""
    sizes = ends - starts
    offsets = np.repeat(ends - np.cumsum(sizes), sizes)
    return np.arange(len(offsets)) + offsets
