"""Indexes of tables: buckets by the hash of some columns, and rows sorted by some columns.

Buckets take new rows one by one, also inside a kernel. Sorted rows are merged with newer ones once there
are many of them; until then readers scan the newer ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels.layout import (
    BUCKETS,
    COLUMNS,
    COLUMNS_FROM,
    COVERED,
    FOLLOWING_AT,
    GROUPED,
    GROUPED_AT,
    HEADS,
    HEADS_AT,
    ORDER_AT,
    STARTS_AT,
)
from tidelog.engine.local.native.calls import address, cover, group_rows, merge
from tidelog.engine.local.storage.record import Record, expect, expect_each, expect_within

__all__ = ["Buckets", "Ordered"]

_SMALLEST = 64
_ROUND = 64  # the number of buckets is a multiple of it at first
_SPARE = 2  # buckets for each that is in use


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

    def clear(self) -> None:
        """Remove all rows, since they get new numbers."""
        raise NotImplementedError

    def _plain(self, saved: Any) -> None:
        self.pinned = saved["pinned"]
        expect(type(self.pinned) is bool, "invalid index")


class Buckets(_Index):
    """Rows grouped by the hash of some columns, and chains of newer rows.

    The rows of a bucket are beside each other, so a kernel can begin to load rows before it needs them. Newer
    rows are added to chains one by one. When they are half as many, all rows are grouped again. There are at
    least twice as many buckets as keys, but not many more, so that they are cached.
    """

    starts: npt.NDArray[np.int32]
    grouped: npt.NDArray[np.int32]
    heads: npt.NDArray[np.int32]
    following: npt.NDArray[np.int32]

    def __init__(self, columns: tuple[int, ...]) -> None:
        super().__init__(columns)
        self.clear()

    def cover(self, table_at: int, rows: int) -> None:
        """Add all missing rows of the table with this descriptor."""
        if self.covered < rows and not cover(self.at, table_at):
            buckets = np.empty(rows, np.int32)
            self.clear()  # rather than hold two versions
            self._begin(rows)
            self._fold(group_rows(self.at, table_at, buckets))

    def clear(self) -> None:
        """Remove all rows, since they have new numbers."""
        self._begin(0)

    def _fold(self, used: int) -> None:
        """Merge neighboring buckets while there are several times as many as those in use.

        Since buckets are in the order of hashes, a fraction of them has the same rows in the same order.
        """
        size, times = len(self.starts) - 1, 1
        while 2 * times <= _ROUND and size // (2 * times) >= _SPARE * used and size % (2 * times) == 0:
            times *= 2
        if times > 1:
            self.starts = self.starts[::times].copy()
            self._describe(self.covered)

    def _begin(self, rows: int) -> None:
        """Start over, with buckets for `rows` rows and chains for newer ones."""
        size = -(-rows // _ROUND) * _ROUND
        starts, grouped = np.zeros(size + 1 if rows else 0, np.int32), np.empty(rows, np.int32)
        heads = np.full(max(_SMALLEST, rows // 4), -1, np.int32)
        following = np.empty(2 * len(heads), np.int32)
        # the index is unchanged up to here, in case memory runs out
        self.starts, self.grouped, self.heads, self.following = starts, grouped, heads, following
        self._describe(0)

    def _describe(self, covered: int) -> None:
        words = self.words
        words[STARTS_AT], words[BUCKETS] = address(self.starts), max(len(self.starts) - 1, 0)
        words[GROUPED_AT], words[GROUPED] = address(self.grouped), len(self.grouped)
        words[HEADS_AT], words[HEADS] = address(self.heads), len(self.heads)
        words[FOLLOWING_AT], words[COVERED] = address(self.following), covered

    def saved(self, record: Record) -> dict[str, Any]:
        return {
            "columns": self.columns,
            "pinned": self.pinned,
            **{name: record.put(getattr(self, name)) for name in ("starts", "grouped", "heads")},
            "following": record.put(self.following[: self.covered - len(self.grouped)]),
        }

    @classmethod
    def restored(cls, record: Record, saved: Any, arity: int, rows: int) -> Buckets:
        """Restore an index. Raises Corrupt unless buckets hold each row once and chains end."""
        made = cls(_columns(saved["columns"], arity))
        made._plain(saved)
        made.starts, made.grouped, made.heads, newer = (
            record.array(saved[name], np.int32, None) for name in ("starts", "grouped", "heads", "following")
        )
        older, covered = len(made.grouped), len(made.grouped) + len(newer)
        expect(covered <= rows and len(made.heads) > 0, "invalid index size")
        expect((len(made.starts) > 1) == (older > 0), "invalid index size")
        expect(len(newer) <= 2 * len(made.heads), "invalid index size")
        if older:
            expect(made.starts[0] == 0 and made.starts[-1] == older, "bucket out of bounds")
            expect((np.diff(made.starts) >= 0).all(), "bucket out of bounds")
            expect_within(made.grouped, 0, older, "row number")
            expect_each(made.grouped, older)
        for chained in (made.heads, newer):
            expect(((chained == -1) | (chained >= older)).all(), "row number out of bounds")
            expect_within(chained, -1, covered, "row number")
        expect((newer < np.arange(older, covered)).all(), "a chain does not end")
        made.following = np.empty(2 * len(made.heads), np.int32)
        made.following[: len(newer)] = newer
        made._describe(covered)
        return made

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.grouped.nbytes + self.heads.nbytes + self.following.nbytes


class Ordered(_Index):
    """Rows sorted by their codes in some columns."""

    def __init__(self, columns: tuple[int, ...]) -> None:
        super().__init__(columns)
        self.order: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def cover(self, table_at: int, rows: int, data: npt.NDArray[np.signedinteger[Any]]) -> None:
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
