"""The current commit: which rows each view shows, and what the commit has done to each table so far."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.kernels.layout import (
    ADD,
    AIMED,
    ALIVE,
    CUR,
    INSTANCE,
    NEXT,
    OLD,
    REMOVE,
    UNDO_RANK,
    UNDO_ROW,
    UNDO_TAG,
    UNDO_WIDTH,
    UNSETTLED,
)
from tidelog.engine.local.native.calls import address, end_round, publish, settle
from tidelog.engine.local.storage.best import BestRows
from tidelog.engine.local.storage.growing import longer
from tidelog.engine.local.storage.table import Cells, Rows, Table
from tidelog.engine.local.storage.trace import Trace
from tidelog.maintain.script import Assertions, Mode, View

__all__ = ["MASKS", "NEGATED", "Bindings", "Change", "Working"]

_SHORT: Final = 64  # rows that lists have room for at first
_MANY: Final = 4096


def _mask(visible: Callable[[int], bool]) -> int:
    return sum(1 << tag for tag in range(32) if visible(tag))


_NEW = _mask(lambda t: bool(t & ALIVE))
MASKS = {
    View.OLD: _mask(lambda t: bool(t & OLD)),
    View.MIDDLE: _mask(lambda t: t & (ALIVE | OLD) == ALIVE | OLD),
    View.NEW: _NEW,
    View.DELETED: _mask(lambda t: t & (ALIVE | OLD) == OLD),
    View.INSERTED: _mask(lambda t: t & (ALIVE | OLD) == ALIVE),
    View.FULL: _NEW,
    View.REST: _mask(lambda t: t & (ALIVE | CUR) == ALIVE),
    View.DELTA: _mask(lambda t: t & (ALIVE | CUR) == ALIVE | CUR),
    View.SUSPECTS: _mask(lambda t: True),
}
# the rows that contradict a negated atom or, as its delta, make it false or true
NEGATED = {
    View.OLD: MASKS[View.OLD],
    View.MIDDLE: _mask(lambda t: bool(t & (ALIVE | OLD))),
    View.NEW: _NEW,
    View.DELETED: MASKS[View.INSERTED],
    View.INSERTED: MASKS[View.DELETED],
}


class Working:
    """A table in a commit: its undo log and its worklist, of which the delta is a slice."""

    def __init__(self, name: str, table: Table) -> None:
        self.name = name
        self.table = table
        self._undo_log = np.empty((_SHORT, UNDO_WIDTH), np.int64)
        self._worklist = np.empty(_SHORT, np.int64)
        self._describe()
        self.start_over()

    def start_over(self) -> None:
        """Begin a commit. Lists that an earlier one has filled are used again unless they have grown."""
        self.best: BestRows | None = None  # while values are improved
        if len(self._undo_log) > _SHORT:
            self._undo_log = np.empty((_SHORT, UNDO_WIDTH), np.int64)
            self._describe()
        words = self.table.words
        words[layout.UNDO_LENGTH] = words[layout.BEST_AT] = 0
        self.free_list()
        self.unlist()

    def _describe(self) -> None:
        words = self.table.words
        words[layout.UNDO_AT], words[layout.UNDO_CAP] = address(self._undo_log), len(self._undo_log)
        words[layout.WORKLIST_AT], words[layout.WORKLIST_CAP] = address(self._worklist), len(self._worklist)

    def keep_best(self, best: BestRows | None) -> None:
        """Record the best rows of keys from now on, or no longer."""
        if self.best is not None:
            self.best.end()
        self.best = best
        self.table.words[layout.BEST_AT] = 0 if best is None else best.at

    @property
    def undo_log(self) -> npt.NDArray[np.int64]:
        """Row, tag, rank and count before the commit, for each row that changed."""
        return self._undo_log[: self.table.words[layout.UNDO_LENGTH]]

    @property
    def worklist(self) -> Rows:
        return self._worklist[: self.table.words[layout.LISTED]]

    @property
    def delta(self) -> Rows:
        words = self.table.words
        return self._worklist[words[layout.DELTA_FROM] : words[layout.DELTA_TO]]

    @property
    def delta_size(self) -> int:
        words = self.table.words
        return int(words[layout.DELTA_TO] - words[layout.DELTA_FROM])

    @property
    def unfinished(self) -> int:
        """How many rows are in the delta, or were put on the worklist since."""
        words = self.table.words
        return int(words[layout.LISTED] - words[layout.DELTA_FROM])

    @property
    def listed_since(self) -> Rows:
        """The rows put on the worklist since the last round ended."""
        return self._worklist[self.table.words[layout.DELTA_TO] : self.table.words[layout.LISTED]]

    @property
    def found_since(self) -> int:
        """How many rows were put on the worklist since the last round ended, or keys that had no row."""
        if self.best is not None:
            return self.best.new_keys
        words = self.table.words
        return int(words[layout.LISTED] - words[layout.DELTA_TO])

    def list_changes(self, inserted: Rows, deleted: Rows) -> None:
        """Let rules start from these rows. The caller keeps them as long as the commit runs."""
        self._point(layout.INSERTED_AT, inserted)
        self._point(layout.DELETED_AT, deleted)

    def list_searched(self, rows: Rows) -> None:
        """Let rules start from these suspects. The caller keeps them until there are others."""
        self._point(layout.SEARCHED_AT, rows)

    def _point(self, at: int, rows: Rows) -> None:
        words, count = self.table.words, len(rows)
        words[at], words[at + 1] = address(rows) if count else 0, count

    def unlist(self) -> None:
        """Forget all lists, at the end of the commit."""
        words = self.table.words
        words[layout.INSERTED] = words[layout.DELETED] = words[layout.SEARCHED] = 0

    def clear_list(self) -> None:
        words = self.table.words
        words[layout.LISTED] = words[layout.DELTA_FROM] = words[layout.DELTA_TO] = 0

    def free_list(self) -> None:
        """Empty the worklist, and give the memory of a long one back."""
        if len(self._worklist) > _SHORT:
            self._worklist = np.empty(_SHORT, np.int64)
            self._describe()
        self.clear_list()

    def begin_delta(self) -> None:
        """Let the delta begin at the end of the worklist, where it is empty."""
        words = self.table.words
        words[layout.DELTA_FROM] = words[layout.DELTA_TO] = words[layout.LISTED]

    def sort_delta(self, key: Callable[[Rows], Codes]) -> None:
        """Sort the delta by numbers for its rows."""
        delta = self.delta
        delta[:] = delta[np.argsort(key(delta), kind="stable")]

    def end_waiting(self) -> None:
        """Add better rows that wait to the delta."""
        words, tags, rows_ = self.table.words, self.table.tags, self.listed_since
        rows_ = rows_[tags[rows_] & NEXT != 0]
        tags[rows_] ^= np.uint8(NEXT | CUR | ALIVE)
        first = int(words[layout.DELTA_TO])
        words[layout.DELTA_TO] = words[layout.LISTED] = first + len(rows_)
        self._worklist[first : first + len(rows_)] = rows_

    def clear_undo_log(self) -> None:
        self.table.words[layout.UNDO_LENGTH] = 0

    def list_rows(self, rows_: Rows) -> None:
        """Put rows on the worklist, for the next delta."""
        words, count = self.table.words, int(self.table.words[layout.LISTED])
        self.reserve_list(len(rows_))
        self.log(rows_)
        self._worklist[count : count + len(rows_)] = rows_
        self.table.tags[rows_] |= np.uint8(NEXT)
        words[layout.LISTED] = count + len(rows_)

    def reserve_list(self, more: int) -> None:
        """Make room for more rows on the worklist."""
        count = int(self.table.words[layout.LISTED])
        if len(self._worklist) < count + more:
            self._worklist = longer(self._worklist, max(count + more, 2 * len(self._worklist)))
            self._describe()

    @property
    def growth(self) -> int:
        """About how many bytes `grow_lists` allocates."""
        words = self.table.words
        undo = 2 * self._undo_log.nbytes if words[layout.UNDO_LENGTH] >= len(self._undo_log) else 0
        return undo + (2 * self._worklist.nbytes if words[layout.LISTED] >= len(self._worklist) else 0)

    def grow_lists(self) -> None:
        words = self.table.words
        try:
            if words[layout.UNDO_LENGTH] >= len(self._undo_log):
                self._undo_log = longer(self._undo_log, 2 * len(self._undo_log))
            if words[layout.LISTED] >= len(self._worklist):
                self._worklist = longer(self._worklist, 2 * len(self._worklist))
        finally:  # also if memory runs out halfway
            self._describe()

    def grow_trace(self) -> None:
        assert self.table.trace is not None
        self.table.trace.grow(len(self.table.tags))

    def log(self, changing: Rows) -> None:
        """Write rows to the undo log, outside a kernel, unless they are logged or new."""
        table = self.table
        changing = changing[(changing < table.base) & (table.tags[changing] & layout.LOGGED == 0)]
        count = int(table.words[layout.UNDO_LENGTH])
        if len(self._undo_log) < count + len(changing):
            self._undo_log = longer(self._undo_log, max(count + len(changing), 2 * len(self._undo_log)))
            self._describe()
        added = self._undo_log[count : count + len(changing)]
        added[:, 0], added[:, 1], added[:, 2:] = changing, table.tags[changing], table.support[changing]
        table.words[layout.UNDO_LENGTH] = count + len(changing)
        table.tags[changing] |= np.uint8(layout.LOGGED)


@dataclass(slots=True)
class Bindings:
    """Instances as a matrix: a column for each slot, then the highest rank and the first atom's row."""

    slots: list[int]
    data: Codes

    @property
    def size(self) -> int:
        return int(self.data.shape[1])


_EMPTY: Final[Rows] = np.empty(0, np.int64)


class Change:
    """What a commit has done to one relation so far."""

    __slots__ = (
        "_searched", "aims", "arriving", "deleted", "doubted", "given_before", "given_deleted",
        "given_inserted", "highest", "inserted", "replaced", "suspects", "unsettled", "whole", "working",
    )  # fmt: skip

    def __init__(self, working: Working, highest: int = 0) -> None:
        self.working = working
        self.highest = highest
        # rows, and whether they were asserted before they changed
        self.given_before: list[tuple[Rows, bool]] = []
        self.given_inserted = self.given_deleted = _EMPTY
        self.whole: tuple[npt.NDArray[np.uint8], Cells] | None = None
        self.suspects = _EMPTY
        self._searched: Rows | None = None  # see `search`, if it was called
        self.aims = _EMPTY  # rows to be given a rank
        self.doubted = 0  # how many rows of the worklist precede those that only need another rank
        self.unsettled: bool | None = None  # whether rows were left without a rank; None if not determined
        self.arriving = _EMPTY  # rows inserted at the current iteration
        self.replaced: list[Trace | None] = []  # the trace before the commit, if it was replaced
        self.inserted = self.deleted = _EMPTY

    @property
    def size(self) -> int:
        """About how many rows are alive: those before the commit, plus its changes and the worklist."""
        table = self.working.table
        return table.live + len(self.inserted) - len(self.deleted) + int(table.words[layout.LISTED])

    @property
    def moves(self) -> bool:
        """Whether any row was inserted or deleted."""
        return len(self.inserted) > 0 or len(self.deleted) > 0

    @property
    def is_asserted(self) -> bool:
        """Whether any fact was asserted or retracted."""
        return len(self.given_inserted) > 0 or len(self.given_deleted) > 0

    @property
    def is_touched(self) -> bool:
        """Whether any row was inserted, deleted or given another count."""
        table = self.working.table
        return self.whole is not None or len(self.working.undo_log) > 0 or table.rows > table.base

    @property
    def trace(self) -> Trace:
        """The trace of the relation, which must have one."""
        trace = self.working.table.trace
        assert trace is not None
        return trace

    def touched(self) -> Rows:
        """The rows that the commit may have changed."""
        table = self.working.table
        if self.whole is not None:
            return np.arange(table.rows)
        return np.concatenate([self.working.undo_log[:, UNDO_ROW], np.arange(table.base, table.rows)])

    def suspect(self, rows: Rows) -> None:
        """Make rows the suspects."""
        self.suspects, self._searched = rows, None
        self.working.list_searched(_EMPTY)

    def search(self) -> Rows:
        """The suspects that may still have instances. The others had all instances counted and lost them.

        They are determined once, before any is re-derived, and listed for rules to start from.
        """
        if self._searched is None:
            table, rows = self.working.table, self.suspects
            if len(rows):
                rows = rows[(table.counts(rows) != 0) | (table.ranks(rows) == AIMED)]
            self._searched = rows
            self.working.list_searched(rows)
        return self._searched

    def asserted(self, step: Assertions) -> Rows:
        """The asserted rows that a step applies to."""
        table = self.working.table
        if step.mode is Mode.REDERIVE:
            if not len(self.suspects):
                return self.suspects
            rows_ = self.suspects[table.given[self.suspects] == 1]
            if not len(rows_) or not len(self.given_inserted):
                return np.asarray(rows_)
            return np.asarray(rows_[~np.isin(rows_, self.given_inserted)])
        if step.all:
            return np.flatnonzero(table.given[: table.rows])
        return self.given_deleted if step.mode.takes_away else self.given_inserted

    def replace(self, old: Rows, new: Rows, counts: Codes) -> None:
        """Delete some rows and insert others with these numbers of instances; a row may be in both sets."""
        table = self.working.table
        self.working.log(np.union1d(old, new))
        table.tags[old] &= ~np.uint8(ALIVE)
        table.tags[new] |= np.uint8(ALIVE)
        table.set_support(new, 0, INSTANCE * counts)

    def empty(self) -> None:
        """Delete all rows, including those inserted in this commit."""
        table = self.working.table
        if self.whole is None:
            self._put_back()
            self.whole = table.tags[: table.base].copy(), table.support[: table.base].copy()
        self.working.keep_best(None)
        table.tags[: table.rows] &= np.uint8(OLD)
        table.tags[: table.base] |= np.uint8(layout.LOGGED)
        table.support[table.base : table.rows] = 0
        self.working.clear_list()
        self.working.clear_undo_log()
        self.suspect(_EMPTY)
        self.aims = _EMPTY
        self.highest = self.doubted = 0

    def renew_trace(self, traced: bool) -> None:
        """Replace the trace by an empty one, or remove it."""
        table = self.working.table
        if table.trace is not None:
            table.trace.undo()
        if not self.replaced:
            self.replaced.append(table.trace)
        table.keep(Trace(len(table.tags)) if traced else None)

    def depart(self, iteration: int) -> int:
        """Make the rows deleted at an iteration the delta; returns their number."""
        table = self.working.table
        departing, self.arriving = self.trace.sift(table.at, iteration)
        self.working.list_rows(departing)
        return end_round(table.at, REMOVE)

    def arrive(self, iteration: int) -> int:
        """Delete the delta, and make the rows inserted at an iteration the delta; returns their number."""
        table = self.working.table
        end_round(table.at, REMOVE)
        self.working.list_rows(self.arriving)
        table.set_support(self.arriving, iteration, INSTANCE)
        return end_round(table.at, ADD)

    def lift(self, ranks: int) -> None:
        """Raise the ranks of all rows that have one."""
        table = self.working.table
        present = table.alive()
        present = present[table.ranks(present) != UNSETTLED]
        if ranks and len(present):
            self.working.log(present)
            table.set_support(present, table.ranks(present) + ranks, table.counts(present))
        self.highest += ranks

    def doubt(self) -> None:
        """Put rows without a rank on the worklist as suspects."""
        table = self.working.table
        if table.unsettled:
            alive = table.alive()
            self.working.list_rows(alive[table.ranks(alive) == UNSETTLED])

    def aim(self) -> None:
        """Make the rows that should be alive but have no rank suspects."""
        self.aims = np.concatenate([self.aims, self.working.worklist[self.doubted :]])
        self.working.table.set_support(self.aims, AIMED, 0)
        self.suspect(self.aims)

    def rest(self) -> None:
        """Insert the remaining `aims` without a rank."""
        table = self.working.table
        left = self.aims[table.tags[self.aims] & ALIVE == 0]
        table.tags[left] |= np.uint8(ALIVE)
        if len(left):
            table.set_support(left, UNSETTLED, 0)
        self.unsettled = len(left) > 0

    def settle(self) -> None:
        """Find the rows inserted and deleted, once the relation has its new state."""
        working, table = self.working, self.working.table
        self.suspect(_EMPTY)
        working.free_list()
        size = table.rows if self.whole is not None else len(working.undo_log) + table.rows - table.base
        self.inserted, self.deleted = map(_trimmed, settle(table.at, self.whole is not None, size))
        working.list_changes(self.inserted, self.deleted)

    def moved(self) -> Codes:
        """The tuples that were and are alive but have another rank, one per row."""
        table = self.working.table
        if self.whole is not None:
            found = np.arange(table.base)
            found = found[self.whole[0] & OLD != 0]
        else:
            log = self.working.undo_log
            ranks = table.ranks(log[:, UNDO_ROW])
            found = log[(log[:, UNDO_TAG] & OLD != 0) & (log[:, UNDO_RANK] != ranks), UNDO_ROW]
        return table.codes(found[table.tags[found] & ALIVE != 0])

    def publish(self) -> None:
        """Make the new state of the table current."""
        table = self.working.table
        publish(table.at, self.whole is not None)
        table.live += len(self.inserted) - len(self.deleted)
        self.working.unlist()
        table.highest = self.highest
        table.unsettled = table.unsettled if self.unsettled is None else self.unsettled
        table.base = table.rows
        if table.trace is not None:
            table.trace.commit()
        if table.wasteful:
            with suppress(MemoryError):  # a later commit may have enough memory
                table.compact()

    def undo(self) -> None:
        """Restore the table. New rows stay as dead rows; if they are many, the table is compacted."""
        table = self.working.table
        self.working.unlist()
        self.working.keep_best(None)
        if self.whole is not None:
            table.tags[: table.base], table.support[: table.base] = self.whole
            self.working.clear_undo_log()
        self._put_back()
        table.tags[table.base : table.rows] = 0
        table.support[table.base : table.rows] = 0
        table.given[table.base : table.rows] = 0
        for changed, given in reversed(self.given_before):
            table.given[changed] = given
        if self.replaced:
            table.keep(self.replaced[0])
        elif table.trace is not None:
            table.trace.undo()
        if table.wasteful:  # free the memory of a commit that was too large
            with suppress(MemoryError):  # keep the dead rows if there is no memory to compact
                table.compact()

    def _put_back(self) -> None:
        table = self.working.table
        changed, tags, ranks, counts = self.working.undo_log.T
        table.tags[changed] = tags
        table.support[changed, layout.CELL_RANK] = ranks  # which fit, since they were there
        table.support[changed, layout.CELL_COUNT] = counts
        self.working.clear_undo_log()


def _trimmed(rows: Rows) -> Rows:
    """Rows that are a part of a long list; copied if they are few, to free the rest."""
    whole = rows.base
    return rows if whole is None or len(whole) <= max(_MANY, 4 * len(rows)) else rows.copy()
