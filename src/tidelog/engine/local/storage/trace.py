"""What is known of a recursive relation at each iteration: how many derivations a tuple gained there.

An instance of a rule derives its head one iteration after the latest of its own unit's tuples came; asserted
facts and what follows from below alone are there at iteration 0. An *entry* says how many instances derive
a tuple at an iteration. A tuple comes at its first entry with a weight, and is not there without one.

- Entries of a tuple are a chain, from the row's place in `first`.
- An entry whose weight changed waits in the queue of its iteration, once, until that iteration is sifted.
- A commit adds its weights to those there are: its history is gone once it is done, and what is left is a
  number for each tuple and iteration. Entries without weight are left behind when they are most of them.
- Until then, what entries were is logged, so that all of it can be undone.

References to entries are 1 more than their number; 0 is none, and the last of a queue refers to -1.
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
from tidelog.engine.local.kernels.traces import link, publish_weights, sift, soonest_queue, undo_weights
from tidelog.engine.local.storage.index import address, longer
from tidelog.engine.local.storage.record import Record, expect, expect_within
from tidelog.errors import EngineError

__all__ = ["Trace"]

_MOST = 2**31 - 2  # entries, and iterations: references to them have 32 bits
_NEVER = 2**62
_SMALLEST = 64


def _weights(entries: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    return entries.view(np.int64)[:, WEIGHT // 2]


def _check_room(what: str, number: int) -> None:
    if number >= _MOST:
        raise EngineError(
            f"a relation has more than {_MOST:,} {what}, the most that the strategy `differential` can keep; "
            "use `elastic`, which keeps one rank and one count a row"
        )


class Trace:
    """The entries of one table. `capacity` is how many rows the table has room for."""

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
        """What is kept between commits."""
        entries = record.put(self._entries[: self._words[ENTRIES]])
        return {"entries": entries, "first": record.put(self._first), "empty": self._empty}

    @classmethod
    def restored(cls, record: Record, saved: Any, rows: int) -> Trace:
        """The trace that was saved, or Corrupt: a chain goes from each entry to an earlier one of its row."""
        made = cls(1)
        entries = record.array(saved["entries"], made._entries.dtype, None, ENTRY_WIDTH)
        first = record.array(saved["first"], made._first.dtype, None)
        expect(type(saved["empty"]) is int, "a trace")
        expect_within(first, 0, len(entries) + 1, "an entry")
        expect_within(entries[:, ENTRY_ROW], 0, min(rows, len(first)), "a row number")
        expect_within(entries[:, ITERATION], 0, _MOST, "an iteration")
        expect_within(entries[:, FOLLOWING], 0, len(entries) + 1, "an entry")
        expect((entries[:, FOLLOWING] <= np.arange(len(entries))).all(), "a chain that does not end")
        expect(not entries[:, [QUEUED, NOTED]].any(), "an entry that waits")
        made._entries, made._first = longer(entries, max(_SMALLEST, len(entries))), first
        made._empty = saved["empty"]
        made._words[ENTRIES] = made._words[LOG_BASE] = len(entries)
        made._describe()
        return made

    def expect_iterations(self, most: int) -> None:
        """Corrupt if there are derivations later than this; room is made for as many iterations."""
        entries = self._entries[: self._words[ENTRIES]]
        expect_within(entries[_weights(entries) != 0, ITERATION], 0, most + 1, "an iteration")

    def grow(self, capacity: int) -> None:
        """Make room where there was none; `capacity` is how many rows the table has room for now."""
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
        finally:  # also if there is no memory for one of them
            self._describe()

    @property
    def entries(self) -> npt.NDArray[np.int64]:
        """Row, iteration and weight of each entry."""
        entries = self._entries[: self._words[ENTRIES]]
        return np.column_stack([entries[:, ENTRY_ROW], entries[:, ITERATION], _weights(entries)])

    @property
    def waiting(self) -> int:
        """How many entries have changed and were not looked at."""
        return int(self._words[WAITING])

    def soonest(self, iteration: int) -> int:
        """The first iteration from this one on at which something waits; a large number if nothing does."""
        return int(soonest_queue(self.at, iteration)) if self.waiting else _NEVER

    def sift(self, relation: int, iteration: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """What waits for an iteration: the rows that lose their place, and those that come there."""
        departing, arriving = np.empty((2, self.waiting), np.int64)
        deleted, coming = sift(relation, iteration, departing, arriving)
        return departing[:deleted].copy(), arriving[:coming].copy()

    def undo(self) -> None:
        """Everything is as it was before the commit."""
        undo_weights(self.at)

    def commit(self) -> None:
        """What the commit did becomes part of the weights; entries that are of no use may go."""
        self._empty += publish_weights(self.at)
        if self._empty > _SMALLEST and 2 * self._empty > self._words[ENTRIES]:
            self.compact(None, len(self._first))

    def compact(self, kept: npt.NDArray[np.int64] | None, capacity: int) -> None:
        """Leave entries without weight behind; `kept` are the rows that get new numbers, in their order."""
        entries = self._entries[: self._words[ENTRIES]]
        entries = entries[_weights(entries) != 0]
        if kept is not None:
            numbers = np.zeros(len(self._first), np.int32)
            numbers[kept] = np.arange(len(kept))
            entries[:, ENTRY_ROW] = numbers[entries[:, ENTRY_ROW]]
        self._first = np.zeros(capacity, np.int32)
        self._words[ENTRIES] = self._words[LOG_BASE] = len(entries)
        self._entries = longer(entries, max(_SMALLEST, len(entries)))
        self._empty = 0
        self._describe()
        link(self.at)

    @property
    def nbytes(self) -> int:
        return self._entries.nbytes + self._first.nbytes + self._queues.nbytes + self._log.nbytes
