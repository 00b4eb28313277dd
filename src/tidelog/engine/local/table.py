"""A relation as rows of codes: a tag, a rank and a count for each row, a hash table, and indexes.

A row stays where it is until the table is compacted; one whose tuple is deleted is only marked, and comes
back to life if the tuple returns. So row numbers name tuples, and the hash table and the indexes only grow.

What a tag says (see `rows`): ALIVE, the tuple is in the current state; OLD, it was in the state before
the commit; CUR, it is in the delta of this round; NEXT, it will be in that of the next; LOGGED, what it
was before the commit is written down. Between commits a row is ALIVE and OLD, or has no tag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tidelog.engine.local import rows as kernels
from tidelog.engine.local.codec import Codes

__all__ = ["Index", "Rows", "Table"]

N = TypeVar("N", np.uint8, np.int32, np.int64)
Rows = npt.NDArray[np.int64]
SMALLEST = 64
WIDTH = 9


@dataclass(slots=True)
class Index:
    """Chains of rows by the hash of some columns; `covered` rows are in it."""

    columns: npt.NDArray[np.int64]
    heads: npt.NDArray[np.int32]
    following: npt.NDArray[np.int32]
    covered: int = 0


class Table:
    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.rows = 0
        self.live = 0
        self.base = 0  # how many rows there were before the commit
        self.highest = 0  # at least the highest rank in use
        self.data: Codes = np.empty((SMALLEST, arity), np.int64)
        self.tags: npt.NDArray[np.uint8] = np.zeros(SMALLEST, np.uint8)
        self.given: npt.NDArray[np.uint8] = np.zeros(SMALLEST, np.uint8)
        self.support: npt.NDArray[np.int32] = np.zeros((SMALLEST, 2), np.int32)  # rank and count
        self.hashed: npt.NDArray[np.int32] = np.full(4 * SMALLEST, -1, np.int32)
        self.indexes: dict[tuple[int, ...], Index] = {}

    # -- growing

    def reserve(self, more: int) -> None:
        """Make room for more rows."""
        wanted = self.rows + more
        capacity = len(self.tags)
        if wanted > capacity:
            capacity = max(wanted, capacity + capacity // 2)
            self.data = _longer(self.data, capacity)
            self.tags = _longer(self.tags, capacity)
            self.given = _longer(self.given, capacity)
            self.support = _longer(self.support, capacity)
            for index in self.indexes.values():
                index.following = _longer(index.following, capacity)
        if 2 * (wanted + 1) > len(self.hashed) - 1:
            self.hashed = np.full(_power(4 * wanted), -1, np.int32)
            kernels.rehash(self.describe())

    def grow(self) -> None:
        """Make room for half as many rows again."""
        self.reserve(max(SMALLEST, len(self.tags) // 2))

    def describe(self) -> npt.NDArray[np.int64]:
        """The table's descriptor, as the only relation of a kernel call."""
        described = np.empty((1, WIDTH), np.int64)
        self.describe_into(described[0])
        return described

    def describe_into(self, described: npt.NDArray[np.int64]) -> None:
        described[:] = (
            self.data.ctypes.data,
            len(self.tags),
            self.rows,
            self.tags.ctypes.data,
            self.support.ctypes.data,
            self.hashed.ctypes.data,
            len(self.hashed) - 1,
            self.arity,
            self.base,
        )

    # -- rows

    def add(self, data: Codes) -> Rows:
        """The rows of these tuples, added dead where they are not there."""
        rows = np.empty(len(data), np.int64)
        self.reserve(len(rows))
        described = self.describe()
        kernels.add_rows(described, np.ascontiguousarray(data), rows)
        self.rows = int(described[0, kernels.ROWS])
        return rows

    def find(self, data: Codes) -> Rows:
        """The rows of these tuples, negative where there is none."""
        rows = np.empty(len(data), np.int64)
        kernels.find_rows(self.describe(), np.ascontiguousarray(data), rows)
        return rows

    def alive(self) -> Rows:
        return np.flatnonzero(self.tags[: self.rows] & kernels.ALIVE)

    def index(self, columns: tuple[int, ...]) -> Index:
        """The index over these columns, made if it is not there, with every row in it."""
        index = self.indexes.get(columns)
        if index is None:
            index = self.indexes[columns] = Index(
                np.array(columns, np.int64),
                np.full(_power(max(self.rows, SMALLEST)), -1, np.int32),
                np.empty(len(self.tags), np.int32),
            )
        if index.covered < self.rows:
            self._cover(index)
        return index

    def _cover(self, index: Index) -> None:
        if self.rows > len(index.heads):
            index.heads = np.full(_power(2 * self.rows), -1, np.int32)
            index.covered = 0
        kernels.index_rows(
            self.data.ctypes.data,
            self.arity,
            index.columns,
            index.heads,
            index.following,
            index.covered,
            self.rows,
        )
        index.covered = self.rows

    # -- compaction

    @property
    def wasteful(self) -> bool:
        """Whether most rows are of no use; what is asserted is of use even where it is not alive."""
        if self.rows <= 1024 or self.live >= self.rows // 2:
            return False
        return len(self._useful()) < self.rows // 2

    def _useful(self) -> Rows:
        return np.flatnonzero((self.tags[: self.rows] & kernels.ALIVE) | self.given[: self.rows])

    def compact(self) -> None:
        """Leave useless rows behind; only between commits, since rows get new numbers."""
        kept = self._useful()
        capacity = max(SMALLEST, len(kept))
        self.data = _longer(self.data[kept], capacity)
        self.tags = _longer(self.tags[kept], capacity)
        self.given = _longer(self.given[kept], capacity)
        self.support = _longer(self.support[kept], capacity)
        self.rows = len(kept)
        self.hashed = np.full(_power(4 * capacity), -1, np.int32)
        kernels.rehash(self.describe())
        self.indexes.clear()

    @property
    def nbytes(self) -> int:
        own = self.data.nbytes + self.tags.nbytes + self.given.nbytes
        own += self.support.nbytes + self.hashed.nbytes
        return own + sum(i.heads.nbytes + i.following.nbytes for i in self.indexes.values())


def _power(size: int) -> int:
    return 1 << max(size - 1, 1).bit_length()


def _longer(array: npt.NDArray[N], length: int) -> npt.NDArray[N]:
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
