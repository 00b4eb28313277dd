"""A relation as rows: codes, a rank and a count, a tag for each row, a hash table, and indexes.

A row keeps its number until the table is compacted. Deleting a tuple only marks its row, and inserting it
again revives the row. So row numbers identify tuples, and the hash table and the indexes only grow.

The bits of a tag (see `kernels.layout`):

- ALIVE: the tuple is in the current state.
- OLD: it was in the state before the commit.
- CUR: it is in the delta of this round.
- NEXT: it will be in the delta of the next round.
- LOGGED: its state before the commit is in the undo log.

Between commits a row is ALIVE and OLD, or has no tag.

Codes, rank and count of a row are beside each other, since they are read together. They have 32 bits until
one of them does not fit; then all cells of the table get 64.

Kernels access a table through its descriptor, an array of words that this class keeps up to date. The number
of rows is stored only there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import NONE, Codes
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.calls import (
    add_rows,
    address,
    all_fit,
    assert_rows,
    copy_codes,
    enlarge,
    find_rows,
    retract_rows,
    slot_rows,
    spread,
)
from tidelog.engine.local.storage.growing import IN_PLACE, extended, longer, zeros
from tidelog.engine.local.storage.index import Buckets, Ordered
from tidelog.engine.local.storage.record import Record, expect, expect_each, expect_within
from tidelog.engine.local.storage.sample import Fixed, Sample, sampled
from tidelog.engine.local.storage.trace import Trace
from tidelog.errors import EngineError

__all__ = ["Cells", "Rows", "Table"]

Rows: TypeAlias = npt.NDArray[np.int64]
Cells: TypeAlias = npt.NDArray[np.signedinteger[Any]]
SMALLEST = 64
_NO_ROWS: Final[Rows] = np.empty(0, np.int64)
MOST_ROWS = 2**31 - 2  # hash tables and chains hold row numbers of 32 bits
_LOWER: Final = 0xFFFFFFFF  # the half of a slot that holds the row
_PART: Final = 4096  # tuples added at once
_MANY: Final = 100_000  # rows from which on tables grow more slowly
_FEW: Final = 64  # rows up to which fan-outs are not estimated
_NEARLY: Final = 7 / 8  # of `MOST_ROWS`; any unused row is compacted above this


class Table:
    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.live = 0
        self.highest = 0  # at least the highest rank in use
        self.unsettled = False  # whether there are rows without a rank
        self.cells: Cells = np.zeros((SMALLEST, arity + layout.CELLS_MORE), np.int32)
        self.tags: npt.NDArray[np.uint8] = np.zeros(SMALLEST, np.uint8)
        self.given: npt.NDArray[np.uint8] = np.zeros(SMALLEST, np.uint8)
        self._slots: npt.NDArray[np.int64] = np.zeros(2 * SMALLEST, np.int64)
        self.trace: Trace | None = None
        self._samples: dict[Fixed, Sample] = {}
        self.indexes: dict[tuple[int, ...], Buckets] = {}
        self.orders: dict[tuple[int, ...], Ordered] = {}
        self.described = np.zeros(layout.TABLE_WIDTH, np.int64)
        self.words = self.described.data
        self.at = address(self.described)
        self._describe()

    @property
    def rows(self) -> int:
        return int(self.words[layout.ROWS])

    @property
    def base(self) -> int:
        """The number of rows before the commit."""
        return int(self.words[layout.BASE])

    @base.setter
    def base(self, rows: int) -> None:
        self.words[layout.BASE] = rows

    def _describe(self) -> None:
        words = self.words
        words[layout.CELLS_AT], words[layout.ARITY] = address(self.cells), self.arity
        words[layout.STRIDE], words[layout.WIDE] = self.cells.shape[1], self.is_wide
        words[layout.TAG_AT], words[layout.CAP] = address(self.tags), len(self.tags)
        words[layout.GIVEN_AT] = address(self.given)
        words[layout.SLOTS_AT], words[layout.SLOTS] = address(self._slots), len(self._slots)

    def keep(self, trace: Trace | None) -> None:
        """Set or remove the trace."""
        self.trace = trace
        self.words[layout.TRACE_AT] = 0 if trace is None else trace.at

    # -- saving

    def saved(self, record: Record) -> dict[str, Any]:
        """The state of a table between commits, as JSON; its arrays are put into a record."""
        rows = self.rows
        arrays = {name: record.put(getattr(self, name)[:rows]) for name in ("cells", "tags", "given")}
        plain = {name: getattr(self, name) for name in ("live", "highest", "unsettled")}
        return {
            **arrays,
            **plain,
            "rows": rows,
            "slots": record.put(self._slots),
            "indexes": [index.saved(record) for index in self.indexes.values()],
            "orders": [order.saved(record) for order in self.orders.values()],
            "trace": None if self.trace is None else self.trace.saved(record),
        }

    @classmethod
    def restored(cls, record: Record, saved: Any, arity: int) -> Table:
        """Restore a table. Raises Corrupt unless every row number in it is valid."""
        made, rows = cls(arity), saved["rows"]
        expect(type(rows) is int and rows >= 0, "invalid number of rows")
        if rows:
            made._take(record, saved, rows)
        made.live, made.highest, made.unsettled = (saved[name] for name in ("live", "highest", "unsettled"))
        expect(type(made.highest) is int and made.highest >= 0 and type(made.unsettled) is bool, "bad ranks")
        expect(made.live == len(made.alive()), "invalid number of rows")
        for index in saved["indexes"]:
            buckets = Buckets.restored(record, index, arity, rows)
            made.indexes[buckets.columns] = buckets
        for index in saved["orders"]:
            ordered = Ordered.restored(record, index, arity, rows)
            made.orders[ordered.columns] = ordered
        if saved["trace"] is not None:
            made.keep(Trace.restored(record, saved["trace"], rows))
        return made

    def expect_iterations(self, most: int) -> None:
        """Raise Corrupt if a trace, or the ranks of its rows, have iterations later than `most`."""
        if self.trace is not None:
            self.trace.expect_iterations(most)
            expect_within(self.ranks(self.alive()), 0, most + 1, "iteration")

    def _take(self, record: Record, saved: Any, rows: int) -> None:
        """Take over the arrays of a record."""
        self.cells = record.array(saved["cells"], None, rows, self.cells.shape[1])
        expect(self.cells.dtype in (np.int32, np.int64), "unexpected type of cells")
        self.tags = record.array(saved["tags"], self.tags.dtype, rows)
        self.given = record.array(saved["given"], self.given.dtype, rows)
        self._slots = record.array(saved["slots"], self._slots.dtype, None)
        settled = layout.ALIVE | layout.OLD
        expect(((self.tags == 0) | (self.tags == settled)).all(), "invalid tag")
        expect_within(self.given, 0, 2, "mark of an asserted row")
        taken = self._slots[self._slots != 0] & _LOWER
        expect(4 * rows <= 3 * len(self._slots), "invalid hash table size")
        expect_within(taken, 1, rows + 1, "row number")
        expect_each(taken - 1, rows)
        self.words[layout.ROWS] = self.words[layout.BASE] = rows
        self._describe()

    # -- growing

    def has_room(self, more: int) -> bool:
        """Whether there is room for more rows."""
        rows = self.rows + more
        return rows <= len(self.tags) and 4 * (rows + 1) <= 3 * len(self._slots)

    def forget_later_rows(self) -> None:
        """Remove what was written beyond the last row, by threads that could not finish."""
        self.tags[self.rows :] = 0
        self._slots[:] = 0
        slot_rows(self.at, 0)

    def reserve(self, more: int) -> None:
        """Make room for more rows."""
        wanted = self.rows + more
        capacity = len(self.tags)
        if wanted > capacity:
            if wanted > MOST_ROWS:
                raise EngineError(
                    f"a relation with {wanted:,} rows exceeds the limit of {MOST_ROWS:,} rows per process "
                    "(deleted rows count until they are compacted); open the session on Spark, "
                    "which partitions relations among processes"
                )
            share = 1 if self.cells.nbytes < IN_PLACE else 4  # larger arrays grow without copies
            capacity = min(max(wanted, capacity + capacity // share), MOST_ROWS)
            try:
                self.cells = longer(self.cells, capacity)
                self.given = longer(self.given, capacity)
                self.tags = longer(self.tags, capacity)  # last, since its length is the capacity
            finally:  # also if memory runs out halfway
                self._describe()
        if 4 * (wanted + 1) > 3 * len(self._slots):
            self._grow_slots((2 if wanted > _MANY else 4) * (wanted + 1))

    def _grow_slots(self, count: int) -> None:
        """Give the hash table more slots, in place if there is room behind it."""
        smaller, larger = self._slots, extended(self._slots, count)
        if larger is not None:
            spread(larger, len(smaller))
            self._slots = larger
        else:
            self._slots = zeros(count, np.int64)
            enlarge(self._slots, smaller)
        self._describe()

    @property
    def is_wide(self) -> bool:
        """Whether cells have 64 bits."""
        return self.cells.dtype == np.int64

    def widen(self) -> None:
        """Give cells 64 bits."""
        self.cells = self.cells.astype(np.int64)
        self._describe()

    def _hold(self, numbers: Codes) -> None:
        """Make sure that cells can hold these numbers."""
        if not self.is_wide and not all_fit(numbers):
            self.widen()

    @property
    def growth(self) -> int:
        """About how many bytes `grow` allocates."""
        return self.nbytes // 2 + self._slots.nbytes

    def grow(self) -> None:
        """Increase the capacity, up to the limit."""
        self.reserve(1)

    # -- rows

    def add(self, data: Codes) -> Rows:
        """The rows of these tuples. Missing tuples are added as dead rows."""
        data = np.ascontiguousarray(data)
        self._hold(data)
        parts, done = [], 0
        while done < len(data):  # in parts, since few of many tuples may be missing
            part = data[done : done + max(_PART, self.rows)]
            self.reserve(len(part))
            parts.append(add_rows(self.at, part))
            done += len(part)
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])

    def find(self, data: Codes) -> Rows:
        """The rows of these tuples; negative for missing tuples."""
        return find_rows(self.at, np.ascontiguousarray(data))

    def assert_rows(self, inserted: Codes, deleted: Codes) -> tuple[Rows, Rows]:
        """Change the asserted facts; returns the rows newly asserted and the rows retracted."""
        if len(inserted):
            inserted = np.ascontiguousarray(inserted)
            self.reserve(len(inserted))
            self._hold(inserted)
        retracted = asserted = _NO_ROWS
        if len(deleted):
            retracted = retract_rows(self.at, np.ascontiguousarray(deleted))
        if len(inserted):
            asserted = assert_rows(self.at, inserted)
        if len(retracted):
            self.given[retracted] = 0
        return asserted, retracted

    @property
    def data(self) -> Cells:
        """The codes of all rows, in the width of the cells; rows beyond `rows` are unused."""
        return self.cells[:, : self.arity]

    def codes(self, rows: Rows | None = None) -> Codes:
        """The codes of these rows, or of all. A commit may run in another thread."""
        wanted = self.rows if rows is None else np.ascontiguousarray(rows, np.int64)
        return copy_codes(self.cells, self.arity, wanted)

    def column(self, column: int, rows: Rows | None = None) -> Codes:
        """The codes of these rows, or of all, in a column."""
        cells = self.cells[: self.rows, column] if rows is None else self.cells[rows, column]
        return cells.astype(np.int64)

    def ranks(self, rows: Rows) -> Codes:
        return self.column(self.arity + layout.CELL_RANK, rows)

    def counts(self, rows: Rows) -> Codes:
        return self.column(self.arity + layout.CELL_COUNT, rows)

    @property
    def support(self) -> Cells:
        """The ranks and counts of all rows, in the width of the cells."""
        return self.cells[:, self.arity :]

    def set_support(self, rows: Rows, rank: int | Codes, count: int | Codes) -> None:
        """Give rows these ranks and counts."""
        if not self.is_wide and not (_fits(rank) and _fits(count)):
            self.widen()
        self.cells[rows, self.arity + layout.CELL_RANK] = rank
        self.cells[rows, self.arity + layout.CELL_COUNT] = count

    def alive(self) -> Rows:
        return np.flatnonzero(self.tags[: self.rows] & layout.ALIVE)

    def mean_rank(self) -> float:
        """About the mean rank of the rows that are alive."""
        tags, cells = sampled(self.tags[: self.rows]), sampled(self.cells[: self.rows])
        ranks = cells[(tags & layout.ALIVE) != 0, self.arity + layout.CELL_RANK]
        ranks = ranks[ranks < layout.UNSETTLED]
        return float(ranks.mean()) if len(ranks) else 0.0

    def share(self, fixed: Fixed) -> float:
        """Estimate which share of the rows has these codes in these columns."""
        return self._sample(fixed).share

    def alike(self, columns: tuple[int, ...], fixed: Fixed = ()) -> float | None:
        """Estimate how many rows share a row's values in these columns; None for few rows.

        The average is over the rows with the codes `fixed`.
        """
        return None if self.rows < _FEW else self._sample(fixed).alike(columns)

    def _sample(self, fixed: Fixed) -> Sample:
        """A sample of the rows with these codes; another one when the number of rows has changed much."""
        known = self._samples.get(fixed)
        if known is None or not known.rows // 2 <= self.rows <= known.rows * 2:
            known = self._samples[fixed] = Sample(self.data[: self.rows], fixed)
        return known

    def index(self, columns: tuple[int, ...]) -> Buckets:
        """The index over these columns, created if missing and brought up to date."""
        index = self.indexes.get(columns)
        if index is None:
            index = self.indexes[columns] = Buckets(columns)
        index.cover(self.at, self.rows)
        return index

    def ordered(self, columns: tuple[int, ...]) -> Ordered:
        """The ordered index over these columns, created if missing and brought up to date."""
        order = self.orders.get(columns)
        if order is None:
            order = self.orders[columns] = Ordered(columns)
        order.cover(self.at, self.rows, self.data)
        return order

    def drop_indexes(self, used: set[int]) -> None:
        """Drop the indexes whose descriptors are not at these addresses, unless they are pinned."""
        self.indexes = {k: i for k, i in self.indexes.items() if i.at in used or i.pinned}
        self.orders = {k: o for k, o in self.orders.items() if o.at in used or o.pinned}

    # -- compaction

    @property
    def wasteful(self) -> bool:
        """Whether most rows are useless or, close to the row limit, any row is.

        Asserted rows are useful even if they are not alive.
        """
        rows = self.rows
        if rows > _NEARLY * MOST_ROWS:
            return len(self.useful()) < rows
        if rows <= 1024 or self.live >= rows // 2:
            return False
        return len(self.useful()) < rows // 2

    def useful(self) -> Rows:
        """The rows that are alive or asserted."""
        return np.flatnonzero((self.tags[: self.rows] & layout.ALIVE) | self.given[: self.rows])

    def compact(self, codes: Mapping[int, Codes] | None = None) -> None:
        """Remove useless rows. Only between commits, since rows get new numbers.

        `codes` maps old to new codes for some columns; `NONE` stays `NONE`.
        """
        kept = self.useful()
        capacity = max(SMALLEST, len(kept))
        cells = longer(self.cells[kept], capacity)
        for column, new in (codes or {}).items():
            old = cells[: len(kept), column]
            cells[: len(kept), column] = np.where(old == NONE, NONE, new[np.where(old == NONE, 0, old)])
        tags, given = longer(self.tags[kept], capacity), longer(self.given[kept], capacity)
        slots = np.zeros(2 * capacity, np.int64)
        for index in (*self.indexes.values(), *self.orders.values()):
            index.clear()
        if self.trace is not None:
            self.trace.compact(kept, capacity)
        # the table is unchanged up to here, in case memory runs out
        self.cells, self.tags, self.given, self._slots = cells, tags, given, slots
        self.words[layout.ROWS] = self.words[layout.BASE] = len(kept)
        self._describe()
        slot_rows(self.at, 0)

    @property
    def nbytes(self) -> int:
        own = self.cells.nbytes + self.tags.nbytes + self.given.nbytes + self._slots.nbytes
        own += 0 if self.trace is None else self.trace.nbytes
        own += sum(order.nbytes for order in self.orders.values())
        return own + sum(index.nbytes for index in self.indexes.values())


def _fits(numbers: int | Codes) -> bool:
    """Whether numbers fit into 32 bits."""
    if isinstance(numbers, int):
        return -(2**31) <= numbers < 2**31
    return all_fit(np.ascontiguousarray(numbers, np.int64))
