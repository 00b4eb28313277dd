"""The trace of a recursive relation: how many derivations each tuple has at each iteration.

An instance of a rule derives its head one iteration after the latest tuple of the same stratum that it uses.
Asserted facts, and tuples that follow from lower strata alone, are derived at iteration 0. An *entry* counts
the instances that derive a tuple at an iteration; the count is its weight. A tuple is inserted at its first
entry with a nonzero weight. Without such an entry it is absent.

- The entries of a tuple form a chain that begins at the row's position in `first`.
- An entry whose weight changed is queued once at its iteration, until that iteration is sifted.
- A commit adds its weights to the existing ones, so no history remains after it: only one number for each
  tuple and iteration. Entries with weight 0 are removed once they are the majority.
- During a commit, the previous weights are logged, so that it can be undone.

References to entries are 1 more than their number. 0 means none, and the last entry of a queue refers to -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels.layout import (
    ENTRIES,
    ENTRIES_AT,
    ENTRIES_CAP,
    ENTRY_ROW,
    ENTRY_WIDTH,
    FIRST_AT,
    FIRST_CAP,
    FOLLOWING,
    ITERATION,
    LOG_AT,
    LOG_BASE,
    LOG_CAP,
    LOG_LENGTH,
    NOTED,
    QUEUED,
    QUEUES_AT,
    QUEUES_CAP,
    TRACE_WIDTH,
    WAITING,
    WANTED,
    WEIGHT,
)
from tidelog.engine.local.native.calls import (
    address,
    link,
    publish_weights,
    sift,
    soonest_queue,
    undo_weights,
)
from tidelog.engine.local.storage.growing import longer
from tidelog.engine.local.storage.record import Record, expect, expect_within
from tidelog.errors import EngineError

__all__ = ["Trace"]

_MOST = 2**31 - 2  # entries and iterations, since references have 32 bits
_NEVER = 2**62
_SMALLEST = 64


def _weights(entries: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    return entries.view(np.int64)[:, WEIGHT // 2]


def _check_room(what: str, number: int) -> None:
    if number >= _MOST:
        raise EngineError(
            f"a relation exceeds the limit of {_MOST:,} {what} of the strategy `differential`; "
            "use `elastic`, which stores one rank and one count per row"
        )


class Trace:
    """The entries of one table. `capacity` is that of the table, in rows."""

    def __init__(self, capacity: int) -> None:
        self._entries: npt.NDArray[np.int32] = np.zeros((_SMALLEST, ENTRY_WIDTH), np.int32)
        self._first: npt.NDArray[np.int32] = np.zeros(capacity, np.int32)
        self._queues: npt.NDArray[np.int32] = np.zeros(_SMALLEST, np.int32)
        self._log: npt.NDArray[np.int64] = np.empty((_SMALLEST, 2), np.int64)
        self._empty = 0
        self._described = np.zeros(TRACE_WIDTH, np.int64)
        self._words = self._described.data
        self.at = address(self._described)
        self._describe()

    def _describe(self) -> None:
        words = self._words
        words[ENTRIES_AT], words[ENTRIES_CAP] = address(self._entries), len(self._entries)
        words[FIRST_AT], words[FIRST_CAP] = address(self._first), len(self._first)
        words[QUEUES_AT], words[QUEUES_CAP] = address(self._queues), len(self._queues)
        words[LOG_AT], words[LOG_CAP] = address(self._log), len(self._log)

    def saved(self, record: Record) -> dict[str, Any]:
        """The state between commits, as JSON; arrays are put into a record."""
        entries = record.put(self._entries[: self._words[ENTRIES]])
        return {"entries": entries, "first": record.put(self._first), "empty": self._empty}

    @classmethod
    def restored(cls, record: Record, saved: Any, rows: int) -> Trace:
        """Restore a trace. Raises Corrupt unless each chain leads to ever earlier entries."""
        made = cls(1)
        entries = record.array(saved["entries"], made._entries.dtype, None, ENTRY_WIDTH)
        first = record.array(saved["first"], made._first.dtype, None)
        expect(type(saved["empty"]) is int, "invalid trace")
        expect_within(first, 0, len(entries) + 1, "trace entry")
        expect_within(entries[:, ENTRY_ROW], 0, min(rows, len(first)), "row number")
        expect_within(entries[:, ITERATION], 0, _MOST, "iteration")
        expect_within(entries[:, FOLLOWING], 0, len(entries) + 1, "trace entry")
        expect((entries[:, FOLLOWING] <= np.arange(len(entries))).all(), "a chain does not end")
        expect(not entries[:, [QUEUED, NOTED]].any(), "a trace entry is queued")
        made._entries, made._first = longer(entries, max(_SMALLEST, len(entries))), first
        made._empty = saved["empty"]
        made._words[ENTRIES] = made._words[LOG_BASE] = len(entries)
        made._describe()
        return made

    def expect_iterations(self, most: int) -> None:
        """Raise Corrupt if there are derivations later than `most`, which bounds the memory of the queues."""
        entries = self._entries[: self._words[ENTRIES]]
        expect_within(entries[_weights(entries) != 0, ITERATION], 0, most + 1, "iteration")

    def grow(self, capacity: int) -> None:
        """Enlarge the arrays that are full; `capacity` is the current capacity of the table."""
        words = self._words
        try:
            if len(self._first) < capacity:
                self._first = longer(self._first, capacity)
            if words[WANTED] >= len(self._queues):
                _check_room("iterations", int(words[WANTED]))
                self._queues = longer(self._queues, 2 * int(words[WANTED]))
            if words[ENTRIES] >= len(self._entries):
                _check_room("derivations by iteration", int(words[ENTRIES]))
                self._entries = longer(self._entries, len(self._entries) + len(self._entries) // 2)
            if words[LOG_LENGTH] >= len(self._log):
                self._log = longer(self._log, 2 * len(self._log))
        finally:  # also if memory runs out halfway
            self._describe()

    @property
    def entries(self) -> npt.NDArray[np.int64]:
        """Row, iteration and weight of each entry."""
        entries = self._entries[: self._words[ENTRIES]]
        return np.column_stack([entries[:, ENTRY_ROW], entries[:, ITERATION], _weights(entries)])

    @property
    def waiting(self) -> int:
        """How many entries have changed and are still to be processed."""
        return int(self._words[WAITING])

    def soonest(self, iteration: int) -> int:
        """The first iteration from this one on with queued entries; a large number if there is none."""
        return soonest_queue(self.at, iteration) if self.waiting else _NEVER

    def sift(self, relation: int, iteration: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Process the queue of an iteration: returns the rows deleted and the rows inserted there."""
        return sift(relation, iteration, self.waiting)

    def undo(self) -> None:
        """Restore the weights before the commit."""
        undo_weights(self.at)

    def commit(self) -> None:
        """Make the new weights current, and remove entries with weight 0 if they are many."""
        self._empty += publish_weights(self.at)
        if self._empty > _SMALLEST and 2 * self._empty > self._words[ENTRIES]:
            self.compact(None, len(self._first))

    def compact(self, kept: npt.NDArray[np.int64] | None, capacity: int) -> None:
        """Remove entries with weight 0; `kept` lists the remaining rows in their new order."""
        entries = self._entries[: self._words[ENTRIES]]
        entries = entries[_weights(entries) != 0]
        if kept is not None:
            numbers = np.zeros(len(self._first), np.int32)
            numbers[kept] = np.arange(len(kept))
            entries[:, ENTRY_ROW] = numbers[entries[:, ENTRY_ROW]]
        first, longer_entries = np.zeros(capacity, np.int32), longer(entries, max(_SMALLEST, len(entries)))
        # the trace is unchanged up to here, in case memory runs out
        self._first, self._entries, self._empty = first, longer_entries, 0
        self._words[ENTRIES] = self._words[LOG_BASE] = len(entries)
        self._describe()
        link(self.at)

    @property
    def nbytes(self) -> int:
        return self._entries.nbytes + self._first.nbytes + self._queues.nbytes + self._log.nbytes
