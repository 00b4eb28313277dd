"""The best rows of keys, while the values of a stratum are being improved (see `kernels.extrema`)."""

from __future__ import annotations

from typing import Final

import numpy as np

from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codec, Codes, is_direct
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.calls import address, enlarge_best, lose_rows, slot_rows
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.program.typed import Best

__all__ = ["BestRows"]

_START: Final = 64  # entries
_SAMPLE: Final = 256  # rows
_LOWER: Final = 0xFFFFFFFF


class BestRows:
    """The best rows of keys that have a better one than before."""

    def __init__(self, table: Table, best: Best, type_: Type, codec: Codec, *, is_empty: bool) -> None:
        self.columns = tuple(i for i in range(table.arity) if i != best.column)
        self._table = table
        self._type = type_
        self._codec = codec
        self._ranks = np.empty(0, np.int64)
        self._fresh: int | None = None  # the first row that the table's hash table lacks
        self._entries = np.zeros(_START, np.int64)
        self._before = np.zeros(0 if is_empty else _START, np.int64)  # the rows before, one more each, or 0
        self._words = np.zeros(layout.BEST_WIDTH, np.int64)
        self._words[layout.BEST_COLUMN], self._words[layout.IS_LARGEST] = best.column, best.function == "max"
        if not is_empty:
            index = table.index(self.columns)
            index.pinned = True
            index.cover(table.at, table.rows)
            self._words[layout.KEYS] = index.at
        self._describe()
        self.at = address(self._words)

    def begin_replacing(self) -> None:
        """Let rows that are added from now on be unknown to the table's hash table, until `end`."""
        self._words[layout.FRESH_FROM] = self._fresh = self._table.rows

    def end(self) -> None:
        """Put the added rows into the table's hash table. Only then can they be found by their tuples."""
        if self._fresh is not None:
            slot_rows(self._table.at, self._fresh)
            self._fresh = None

    def _describe(self) -> None:
        words = self._words
        words[layout.BEST_ENTRIES_AT], words[layout.BEST_CAP] = address(self._entries), len(self._entries)
        words[layout.BEFORE_AT] = address(self._before)
        words[layout.RANKS_AT] = 0 if is_direct(self._type) else address(self._ranks)

    def prepare(self) -> None:
        """Bring the order of the values up to date, if their codes do not have it.

        Values in an index do not change.
        """
        indexes = (*self._table.indexes, *self._table.orders)
        self._words[layout.IN_PLACE] = not any(self.column in columns for columns in indexes)
        if not is_direct(self._type):
            self._ranks = self._codec.dictionary(self._type).ranks()
            self._describe()

    def take_new_keys(self) -> int:
        """How many keys that had no row have one since this was last called; only in REPLACE."""
        count = self.new_keys
        self._words[layout.NEW_KEYS] = 0
        return count

    @property
    def new_keys(self) -> int:
        return int(self._words[layout.NEW_KEYS])

    @property
    def column(self) -> int:
        """The column of the values."""
        return int(self._words[layout.BEST_COLUMN])

    def places(self, rows: Rows) -> Codes:
        """Numbers in the order of the values of rows: the better a value, the smaller its number."""
        codes = self._table.column(self.column, rows)
        places = codes if is_direct(self._type) else self._ranks[codes]
        return ~places if self._words[layout.IS_LARGEST] else places

    def middle(self, rows: Rows) -> int:
        """The code of a value that about half of these rows are better than."""
        sample = rows[:: max(1, len(rows) // _SAMPLE)]
        codes = self._table.column(int(self._words[layout.BEST_COLUMN]), sample)
        places = codes if is_direct(self._type) else self._ranks[codes]
        return int(codes[np.argpartition(places, len(places) // 2)[len(places) // 2]])

    def lose(self, rows: Rows) -> None:
        """Record, before anything else, that these rows were deleted, so that the index is not searched."""
        size = max(_START, 2 * len(rows))
        self._entries, self._before = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._describe()
        lose_rows(self._table.at, rows)

    @property
    def growth(self) -> int:
        """About how many bytes `grow` allocates."""
        return 2 * (self._entries.nbytes + self._before.nbytes)

    def grow(self) -> None:
        smaller, before = self._entries, self._before
        entries, self._before = np.zeros(2 * len(smaller), np.int64), np.zeros(2 * len(before), np.int64)
        self._entries = entries
        self._describe()
        enlarge_best(self.at, smaller, before)

    def rows(self) -> tuple[Rows, Rows]:
        """The rows that are better than those before, and the rows that they supersede."""
        better = (self._entries[self._entries != 0] & _LOWER) - 1
        return better, self._before[self._before != 0] - 1
