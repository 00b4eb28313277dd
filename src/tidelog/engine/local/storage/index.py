"""Indexes of tables: hash chains over some columns, and rows sorted by some columns.

Hash chains add new rows one by one, also inside a kernel. Sorted rows are merged with newer ones once there
are many of them; until then readers scan the newer ones.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels.layout import (
    COLUMNS,
    COLUMNS_FROM,
    COVERED,
    FOLLOWING_AT,
    HEADS,
    HEADS_AT,
    ORDER_AT,
)
from tidelog.engine.local.native.calls import address, cover, merge
from tidelog.engine.local.storage.record import Record, expect, expect_each, expect_within

__all__ = ["Chains", "Ordered", "longer"]

N = TypeVar("N", np.uint8, np.int32, np.int64)
_SMALLEST = 64


def longer(array: npt.NDArray[N], length: int) -> npt.NDArray[N]:
    """The array extended with zeros to this length; the array itself if it is longer."""
    if len(array) > length:  # memory ran out for other arrays after this one had grown
        return array
    made = np.empty((length, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    made[len(array) :] = 0
    return made


class _Index:
    def __init__(self, columns: tuple[int, ...]) -> None:
        self.columns = columns
        self.described = np.zeros(COLUMNS_FROM + len(columns), np.int64)
        self.described[COLUMNS] = len(columns)
        self.described[COLUMNS_FROM:] = columns
        self.at = address(self.described)
        self.words = self.described.data
        self.pinned = False  # whether it is also used outside rules

    @property
    def covered(self) -> int:
        """The number of rows in the index, which are the first ones of the table."""
        return int(self.words[COVERED])

    def _plain(self, saved: Any) -> None:
        self.pinned = saved["pinned"]
        expect(type(self.pinned) is bool, "invalid index")


class Chains(_Index):
    """Chains of rows by the hash of some columns."""

    heads: npt.NDArray[np.int32]
    following: npt.NDArray[np.int32]

    def __init__(self, columns: tuple[int, ...]) -> None:
        super().__init__(columns)
        self.clear()

    def cover(self, table_at: int, rows: int, capacity: int) -> None:
        """Add all missing rows of the table with this descriptor."""
        if len(self.following) < capacity:
            self.resize(capacity)
        if 2 * rows > 3 * len(self.heads):
            self._begin(rows + rows // 8)
        if self.covered < rows:
            cover(self.at, table_at)

    def resize(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        if len(self.following) < capacity:
            kept = self.following[: self.covered]
            self.following = np.empty(capacity, np.int32)
            self.following[: len(kept)] = kept
            self.words[FOLLOWING_AT] = address(self.following)

    def clear(self) -> None:
        """Remove all rows, since they have new numbers."""
        self.following = np.empty(0, np.int32)
        self.words[FOLLOWING_AT] = 0
        self._begin(_SMALLEST)

    def _begin(self, size: int) -> None:
        """Start over, with chain heads for `size` rows."""
        self._lead(np.full(size, -1, np.int32), 0)

    def _lead(self, heads: npt.NDArray[np.int32], covered: int) -> None:
        self.heads = heads
        self.words[HEADS_AT], self.words[HEADS] = address(heads), len(heads)
        self.words[COVERED] = covered

    def saved(self, record: Record) -> dict[str, Any]:
        return {
            "columns": self.columns,
            "pinned": self.pinned,
            "heads": record.put(self.heads),
            "following": record.put(self.following[: self.covered]),
        }

    @classmethod
    def restored(cls, record: Record, saved: Any, arity: int, rows: int) -> Chains:
        """Restore an index. Raises Corrupt unless chains lead to ever earlier rows, so that they end."""
        made = cls(_columns(saved["columns"], arity))
        made._plain(saved)
        heads = record.array(saved["heads"], made.heads.dtype, None)
        following = record.array(saved["following"], made.following.dtype, None)
        covered = len(following)
        expect(covered <= rows and len(heads) > 0, "invalid index size")
        expect_within(heads, -1, covered, "row number")
        expect_within(following, -1, covered, "row number")
        expect((following < np.arange(covered)).all(), "a chain does not end")
        made.following = following
        made.words[FOLLOWING_AT] = address(following)
        made._lead(heads, covered)
        return made

    @property
    def nbytes(self) -> int:
        return self.heads.nbytes + self.following.nbytes


class Ordered(_Index):
    """Rows sorted by their codes in some columns."""

    def __init__(self, columns: tuple[int, ...]) -> None:
        super().__init__(columns)
        self.order: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def cover(self, table_at: int, rows: int, data: npt.NDArray[np.int32] | npt.NDArray[np.int64]) -> None:
        """Add all missing rows of the table with this descriptor and data."""
        first = self.covered
        if first == rows:
            return
        fresh = np.lexsort([data[first:rows, c] for c in reversed(self.columns)]).astype(np.int64) + first
        merged = fresh
        if first:
            merged = np.empty(rows, np.int64)
            merge(table_at, self.at, fresh, merged)
        self._have(merged)

    def _have(self, order: npt.NDArray[np.int64]) -> None:
        self.order = order
        self.words[ORDER_AT], self.words[COVERED] = address(order), len(order)

    def saved(self, record: Record) -> dict[str, Any]:
        return {"columns": self.columns, "pinned": self.pinned, "order": record.put(self.order)}

    @classmethod
    def restored(cls, record: Record, saved: Any, arity: int, rows: int) -> Ordered:
        """Restore an index. Raises Corrupt unless it has each row that it covers once."""
        made = cls(_columns(saved["columns"], arity))
        made._plain(saved)
        order = record.array(saved["order"], made.order.dtype, None)
        expect(len(order) <= rows, "invalid index size")
        expect_within(order, 0, len(order), "row number")
        expect_each(order, len(order))
        made._have(order)
        return made

    def clear(self) -> None:
        """Remove all rows, since they have new numbers."""
        self.order = np.empty(0, np.int64)
        self.words[ORDER_AT] = self.words[COVERED] = 0

    @property
    def nbytes(self) -> int:
        return self.order.nbytes


def _columns(saved: Any, arity: int) -> tuple[int, ...]:
    expect(isinstance(saved, list) and all(type(c) is int and 0 <= c < arity for c in saved), "bad columns")
    return tuple(saved)
