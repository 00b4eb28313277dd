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

from tidelog.engine.local.compiled import njit
from tidelog.engine.local.index import address, longer
from tidelog.engine.local.memory import load8, load32, load64, store32, store64
from tidelog.engine.local.record import Record, expect, expect_within
from tidelog.engine.local.rows import ALIVE, SUPPORT_AT, TAG_AT, TRACE_AT
from tidelog.errors import EngineError

__all__ = ["Trace", "weigh"]

# a trace: its arrays and how much of them is in use
ENTRIES_AT, CAP, USED, FIRST_AT, FIRST_CAP, QUEUES_AT, QUEUES_CAP = range(7)
WAITING, LOG_AT, LOG_CAP, LOGGED, BASE, WANTED, TRACE_WIDTH = range(7, 14)

# an entry, in words of 32 bits; its weight is a word of 64 bits, the second of these
ROW, ITERATION, WEIGHT, FOLLOWING, QUEUED, NOTED, ENTRY_WIDTH = 0, 1, 2, 4, 5, 6, 8
_MOST = 2**31 - 2  # entries, and iterations: references to them have 32 bits
_LAST = -1
_NEVER = 2**62
_SMALLEST = 64


@njit(inline="always")
def _weight(entries, entry):  # type: ignore[no-untyped-def]
    return load64(entries, (ENTRY_WIDTH * entry + WEIGHT) // 2)


@njit(inline="always")
def _set_weight(entries, entry, weight):  # type: ignore[no-untyped-def]
    store64(entries, (ENTRY_WIDTH * entry + WEIGHT) // 2, weight)


@njit(cache=True, nogil=True)
def _queue(trace, entry):  # type: ignore[no-untyped-def]
    """Have an entry looked at when its iteration comes."""
    entries, queues = load64(trace, ENTRIES_AT), load64(trace, QUEUES_AT)
    at = ENTRY_WIDTH * entry
    if load32(entries, at + QUEUED) == 0:
        iteration = load32(entries, at + ITERATION)
        before = load32(queues, iteration)
        store32(entries, at + QUEUED, before if before else _LAST)
        store32(queues, iteration, entry + 1)
        store64(trace, WAITING, load64(trace, WAITING) + 1)


@njit(cache=True, nogil=True)
def _add(trace, row, iteration):  # type: ignore[no-untyped-def]
    """A new entry without weight."""
    entries, first, entry = load64(trace, ENTRIES_AT), load64(trace, FIRST_AT), load64(trace, USED)
    at = ENTRY_WIDTH * entry
    store32(entries, at + ROW, row)
    store32(entries, at + ITERATION, iteration)
    _set_weight(entries, entry, 0)
    store32(entries, at + FOLLOWING, load32(first, row))
    store32(entries, at + QUEUED, 0)
    store32(entries, at + NOTED, 0)
    store32(first, row, entry + 1)
    store64(trace, USED, entry + 1)
    return entry


@njit(cache=True, nogil=True)
def weigh(relation, row, iteration, weight):  # type: ignore[no-untyped-def]
    """Add to the derivations of a row at an iteration; false if there is no room for that."""
    trace = load64(relation, TRACE_AT)
    store64(trace, WANTED, iteration)
    if row >= load64(trace, FIRST_CAP) or iteration >= load64(trace, QUEUES_CAP):
        return False
    if load64(trace, USED) >= load64(trace, CAP) or load64(trace, LOGGED) >= load64(trace, LOG_CAP):
        return False
    entries = load64(trace, ENTRIES_AT)
    entry = load32(load64(trace, FIRST_AT), row) - 1
    while entry >= 0 and load32(entries, ENTRY_WIDTH * entry + ITERATION) != iteration:
        entry = load32(entries, ENTRY_WIDTH * entry + FOLLOWING) - 1
    if entry < 0:
        entry = _add(trace, row, iteration)
    at = ENTRY_WIDTH * entry
    before = _weight(entries, entry)
    if entry < load64(trace, BASE) and load32(entries, at + NOTED) == 0:
        log, logged = load64(trace, LOG_AT), load64(trace, LOGGED)
        store64(log, 2 * logged, entry)
        store64(log, 2 * logged + 1, before)
        store64(trace, LOGGED, logged + 1)
        store32(entries, at + NOTED, 1)
    _set_weight(entries, entry, before + weight)
    _queue(trace, entry)
    return True


@njit(cache=True, nogil=True)
def _postpone(trace, row, iteration):  # type: ignore[no-untyped-def]
    """Have a row that is not there looked at again when its next derivations come."""
    entries = load64(trace, ENTRIES_AT)
    entry, found, soonest = load32(load64(trace, FIRST_AT), row) - 1, -1, load64(trace, QUEUES_CAP)
    while entry >= 0:
        at = ENTRY_WIDTH * entry
        other = load32(entries, at + ITERATION)
        if iteration < other < soonest and _weight(entries, entry) > 0:
            found, soonest = entry, other
        entry = load32(entries, at + FOLLOWING) - 1
    if found >= 0:
        _queue(trace, found)


@njit(cache=True, nogil=True)
def _sift(relation, iteration, departing, arriving):  # type: ignore[no-untyped-def]
    """Empty the queue of an iteration; how many rows are to leave their place, and how many to come there.

    Those leave that were to come at this iteration and have nothing there, or later and have something here.
    """
    trace = load64(relation, TRACE_AT)
    entries, queues = load64(trace, ENTRIES_AT), load64(trace, QUEUES_AT)
    tags, support = load64(relation, TAG_AT), load64(relation, SUPPORT_AT)
    went = came = passed = 0
    reference = load32(queues, iteration)
    store32(queues, iteration, 0)
    while reference > 0:
        entry = reference - 1
        at = ENTRY_WIDTH * entry
        reference = load32(entries, at + QUEUED)
        store32(entries, at + QUEUED, 0)
        passed += 1
        row = load32(entries, at + ROW)
        is_there = load8(tags, row) & ALIVE
        derived = _weight(entries, entry) > 0
        moves = is_there and load64(support, 2 * row) > iteration
        if derived and (moves or not is_there):
            arriving[came] = row
            came += 1
        if is_there and ((derived and moves) or (not derived and load64(support, 2 * row) == iteration)):
            departing[went] = row
            went += 1
        if not derived and not (is_there and load64(support, 2 * row) != iteration):
            _postpone(trace, row, iteration)
    store64(trace, WAITING, load64(trace, WAITING) - passed)
    return went, came


@njit(cache=True, nogil=True)
def _soonest(trace, iteration):  # type: ignore[no-untyped-def]
    """The first iteration from this one on that has a queue, or one that there is no room for."""
    queues, last = load64(trace, QUEUES_AT), load64(trace, QUEUES_CAP)
    while iteration < last and load32(queues, iteration) == 0:
        iteration += 1
    return iteration


@njit(cache=True, nogil=True)
def _undo(trace):  # type: ignore[no-untyped-def]
    """Make entries what they were when the commit began."""
    entries, queues, first = load64(trace, ENTRIES_AT), load64(trace, QUEUES_AT), load64(trace, FIRST_AT)
    for iteration in range(load64(trace, QUEUES_CAP)):
        reference = load32(queues, iteration)
        store32(queues, iteration, 0)
        while reference > 0:
            at = ENTRY_WIDTH * (reference - 1)
            reference = load32(entries, at + QUEUED)
            store32(entries, at + QUEUED, 0)
    log = load64(trace, LOG_AT)
    for i in range(load64(trace, LOGGED)):
        entry = load64(log, 2 * i)
        _set_weight(entries, entry, load64(log, 2 * i + 1))
        store32(entries, ENTRY_WIDTH * entry + NOTED, 0)
    for entry in range(load64(trace, USED) - 1, load64(trace, BASE) - 1, -1):
        at = ENTRY_WIDTH * entry
        store32(first, load32(entries, at + ROW), load32(entries, at + FOLLOWING))
    store64(trace, USED, load64(trace, BASE))
    store64(trace, LOGGED, 0)
    store64(trace, WAITING, 0)


@njit(cache=True, nogil=True)
def _publish(trace):  # type: ignore[no-untyped-def]
    """Forget what entries were; how many more than before have no weight."""
    entries, log, empty = load64(trace, ENTRIES_AT), load64(trace, LOG_AT), 0
    for i in range(load64(trace, LOGGED)):
        entry = load64(log, 2 * i)
        store32(entries, ENTRY_WIDTH * entry + NOTED, 0)
        empty += (_weight(entries, entry) == 0) - (load64(log, 2 * i + 1) == 0)
    for entry in range(load64(trace, BASE), load64(trace, USED)):
        empty += _weight(entries, entry) == 0
    store64(trace, BASE, load64(trace, USED))
    store64(trace, LOGGED, 0)
    return empty


@njit(cache=True, nogil=True)
def _link(trace):  # type: ignore[no-untyped-def]
    """Make the chains of all entries."""
    entries, first = load64(trace, ENTRIES_AT), load64(trace, FIRST_AT)
    for entry in range(load64(trace, USED)):
        at = ENTRY_WIDTH * entry
        row = load32(entries, at + ROW)
        store32(entries, at + FOLLOWING, load32(first, row))
        store32(first, row, entry + 1)


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
        words[ENTRIES_AT], words[CAP] = address(self._entries), len(self._entries)
        words[FIRST_AT], words[FIRST_CAP] = address(self._first), len(self._first)
        words[QUEUES_AT], words[QUEUES_CAP] = address(self._queues), len(self._queues)
        words[LOG_AT], words[LOG_CAP] = address(self._log), len(self._log)

    def saved(self, record: Record) -> dict[str, Any]:
        """What is kept between commits."""
        entries = record.put(self._entries[: self._words[USED]])
        return {"entries": entries, "first": record.put(self._first), "empty": self._empty}

    @classmethod
    def restored(cls, record: Record, saved: Any, rows: int) -> Trace:
        """The trace that was saved, or Corrupt: a chain goes from each entry to an earlier one of its row."""
        made = cls(1)
        entries = record.array(saved["entries"], made._entries.dtype, None, ENTRY_WIDTH)
        first = record.array(saved["first"], made._first.dtype, None)
        expect(type(saved["empty"]) is int, "a trace")
        expect_within(first, 0, len(entries) + 1, "an entry")
        expect_within(entries[:, ROW], 0, min(rows, len(first)), "a row number")
        expect_within(entries[:, ITERATION], 0, _MOST, "an iteration")
        expect_within(entries[:, FOLLOWING], 0, len(entries) + 1, "an entry")
        expect((entries[:, FOLLOWING] <= np.arange(len(entries))).all(), "a chain that does not end")
        expect(not entries[:, [QUEUED, NOTED]].any(), "an entry that waits")
        made._entries, made._first = longer(entries, max(_SMALLEST, len(entries))), first
        made._empty = saved["empty"]
        made._words[USED] = made._words[BASE] = len(entries)
        made._describe()
        return made

    def expect_iterations(self, most: int) -> None:
        """Corrupt if there are derivations later than this; room is made for as many iterations."""
        entries = self._entries[: self._words[USED]]
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
            if words[USED] >= len(self._entries):
                _check_room("derivations by iteration", int(words[USED]))
                self._entries = longer(self._entries, len(self._entries) + len(self._entries) // 2)
            if words[LOGGED] >= len(self._log):
                self._log = longer(self._log, 2 * len(self._log))
        finally:  # also if there is no memory for one of them
            self._describe()

    @property
    def entries(self) -> npt.NDArray[np.int64]:
        """Row, iteration and weight of each entry."""
        entries = self._entries[: self._words[USED]]
        return np.column_stack([entries[:, ROW], entries[:, ITERATION], _weights(entries)])

    @property
    def waiting(self) -> int:
        """How many entries have changed and were not looked at."""
        return int(self._words[WAITING])

    def soonest(self, iteration: int) -> int:
        """The first iteration from this one on at which something waits; a large number if nothing does."""
        return int(_soonest(self.at, iteration)) if self.waiting else _NEVER

    def sift(self, relation: int, iteration: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """What waits for an iteration: the rows that lose their place, and those that come there."""
        departing, arriving = np.empty((2, self.waiting), np.int64)
        went, came = _sift(relation, iteration, departing, arriving)
        return departing[:went].copy(), arriving[:came].copy()

    def undo(self) -> None:
        """Everything is as it was before the commit."""
        _undo(self.at)

    def commit(self) -> None:
        """What the commit did becomes part of the weights; entries that are of no use may go."""
        self._empty += _publish(self.at)
        if self._empty > _SMALLEST and 2 * self._empty > self._words[USED]:
            self.compact(None, len(self._first))

    def compact(self, kept: npt.NDArray[np.int64] | None, capacity: int) -> None:
        """Leave entries without weight behind; `kept` are the rows that get new numbers, in their order."""
        entries = self._entries[: self._words[USED]]
        entries = entries[_weights(entries) != 0]
        if kept is not None:
            numbers = np.zeros(len(self._first), np.int32)
            numbers[kept] = np.arange(len(kept))
            entries[:, ROW] = numbers[entries[:, ROW]]
        self._first = np.zeros(capacity, np.int32)
        self._words[USED] = self._words[BASE] = len(entries)
        self._entries = longer(entries, max(_SMALLEST, len(entries)))
        self._empty = 0
        self._describe()
        _link(self.at)

    @property
    def nbytes(self) -> int:
        return self._entries.nbytes + self._first.nbytes + self._queues.nbytes + self._log.nbytes
