"""Kernels on traces: weights of tuples by iteration, and queues of changed entries."""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import rank_of
from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.layout import (
    ALIVE,
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
    LOG_ENTRY,
    LOG_LENGTH,
    LOG_WEIGHT,
    LOG_WIDTH,
    NOTED,
    QUEUED,
    QUEUES_AT,
    QUEUES_CAP,
    TAG_AT,
    TRACE_AT,
    WAITING,
    WANTED,
    WEIGHT,
)
from tidelog.engine.local.kernels.memory import load8, load32, load64, store32, store64

__all__ = ["link", "publish_weights", "sift", "soonest_queue", "undo_weights", "weigh"]

_LAST = -1  # ends a queue


@inlined
def _weight(entries, entry):
    return load64(entries, (ENTRY_WIDTH * entry + WEIGHT) // 2)


@inlined
def _set_weight(entries, entry, weight):
    store64(entries, (ENTRY_WIDTH * entry + WEIGHT) // 2, weight)


@kernel
def _queue(trace, entry):
    """Queue an entry at its iteration."""
    entries, queues = load64(trace, ENTRIES_AT), load64(trace, QUEUES_AT)
    at = ENTRY_WIDTH * entry
    if load32(entries, at + QUEUED) == 0:
        iteration = load32(entries, at + ITERATION)
        before = load32(queues, iteration)
        store32(entries, at + QUEUED, before if before else _LAST)
        store32(queues, iteration, entry + 1)
        store64(trace, WAITING, load64(trace, WAITING) + 1)
    return 0


@kernel
def _add(trace, row, iteration):
    """Add an entry with weight 0."""
    entries, first, entry = load64(trace, ENTRIES_AT), load64(trace, FIRST_AT), load64(trace, ENTRIES)
    at = ENTRY_WIDTH * entry
    store32(entries, at + ENTRY_ROW, row)
    store32(entries, at + ITERATION, iteration)
    _set_weight(entries, entry, 0)
    store32(entries, at + FOLLOWING, load32(first, row))
    store32(entries, at + QUEUED, 0)
    store32(entries, at + NOTED, 0)
    store32(first, row, entry + 1)
    store64(trace, ENTRIES, entry + 1)
    return entry


@kernel
def weigh(relation, row, iteration, weight):
    """Add a weight to a row at an iteration; false if there is no room."""
    trace = load64(relation, TRACE_AT)
    store64(trace, WANTED, iteration)
    if row >= load64(trace, FIRST_CAP) or iteration >= load64(trace, QUEUES_CAP):
        return False
    if load64(trace, ENTRIES) >= load64(trace, ENTRIES_CAP) or load64(trace, LOG_LENGTH) >= load64(
        trace, LOG_CAP
    ):
        return False
    entries = load64(trace, ENTRIES_AT)
    entry = load32(load64(trace, FIRST_AT), row) - 1
    while entry >= 0 and load32(entries, ENTRY_WIDTH * entry + ITERATION) != iteration:
        entry = load32(entries, ENTRY_WIDTH * entry + FOLLOWING) - 1
    if entry < 0:
        entry = _add(trace, row, iteration)
    at = ENTRY_WIDTH * entry
    before = _weight(entries, entry)
    if entry < load64(trace, LOG_BASE) and load32(entries, at + NOTED) == 0:
        log, logged = load64(trace, LOG_AT), load64(trace, LOG_LENGTH)
        store64(log, LOG_WIDTH * logged + LOG_ENTRY, entry)
        store64(log, LOG_WIDTH * logged + LOG_WEIGHT, before)
        store64(trace, LOG_LENGTH, logged + 1)
        store32(entries, at + NOTED, 1)
    _set_weight(entries, entry, before + weight)
    _queue(trace, entry)
    return True


@kernel
def _postpone(trace, row, iteration):
    """Queue an absent row at its next iteration with derivations."""
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
    return 0


@exported
def sift(relation, iteration, departing, arriving, out):
    """Empty the queue of an iteration: list the rows to delete and to insert there. `out` gets their numbers.

    A row is deleted if it was inserted at this iteration and has no derivation left here, or if it was
    inserted later and now has a derivation here.
    """
    trace = load64(relation, TRACE_AT)
    entries, queues = load64(trace, ENTRIES_AT), load64(trace, QUEUES_AT)
    tags = load64(relation, TAG_AT)
    deleted = coming = passed = 0
    reference = load32(queues, iteration)
    store32(queues, iteration, 0)
    while reference > 0:
        entry = reference - 1
        at = ENTRY_WIDTH * entry
        reference = load32(entries, at + QUEUED)
        store32(entries, at + QUEUED, 0)
        passed += 1
        row = load32(entries, at + ENTRY_ROW)
        is_there = load8(tags, row) & ALIVE
        derived = _weight(entries, entry) > 0
        moves = is_there and rank_of(relation, row) > iteration
        if derived and (moves or not is_there):
            store64(arriving, coming, row)
            coming += 1
        if is_there and ((derived and moves) or (not derived and rank_of(relation, row) == iteration)):
            store64(departing, deleted, row)
            deleted += 1
        if not derived and not (is_there and rank_of(relation, row) != iteration):
            _postpone(trace, row, iteration)
    store64(trace, WAITING, load64(trace, WAITING) - passed)
    store64(out, 0, deleted)
    store64(out, 1, coming)
    return 0


@exported
def soonest_queue(trace, iteration):
    """The first iteration from this one on with a nonempty queue; the capacity if there is none."""
    queues, last = load64(trace, QUEUES_AT), load64(trace, QUEUES_CAP)
    while iteration < last and load32(queues, iteration) == 0:
        iteration += 1
    return iteration


@exported
def undo_weights(trace):
    """Restore the entries as of the beginning of the commit."""
    entries, queues, first = load64(trace, ENTRIES_AT), load64(trace, QUEUES_AT), load64(trace, FIRST_AT)
    for iteration in range(load64(trace, QUEUES_CAP)):
        reference = load32(queues, iteration)
        store32(queues, iteration, 0)
        while reference > 0:
            at = ENTRY_WIDTH * (reference - 1)
            reference = load32(entries, at + QUEUED)
            store32(entries, at + QUEUED, 0)
    log = load64(trace, LOG_AT)
    for i in range(load64(trace, LOG_LENGTH)):
        entry = load64(log, LOG_WIDTH * i + LOG_ENTRY)
        _set_weight(entries, entry, load64(log, LOG_WIDTH * i + LOG_WEIGHT))
        store32(entries, ENTRY_WIDTH * entry + NOTED, 0)
    for entry in range(load64(trace, ENTRIES) - 1, load64(trace, LOG_BASE) - 1, -1):
        at = ENTRY_WIDTH * entry
        store32(first, load32(entries, at + ENTRY_ROW), load32(entries, at + FOLLOWING))
    store64(trace, ENTRIES, load64(trace, LOG_BASE))
    store64(trace, LOG_LENGTH, 0)
    store64(trace, WAITING, 0)
    return 0


@exported
def publish_weights(trace):
    """Clear the log; returns by how many the entries with weight 0 have increased."""
    entries, log, empty = load64(trace, ENTRIES_AT), load64(trace, LOG_AT), 0
    for i in range(load64(trace, LOG_LENGTH)):
        entry = load64(log, LOG_WIDTH * i + LOG_ENTRY)
        store32(entries, ENTRY_WIDTH * entry + NOTED, 0)
        empty += (_weight(entries, entry) == 0) - (load64(log, LOG_WIDTH * i + LOG_WEIGHT) == 0)
    for entry in range(load64(trace, LOG_BASE), load64(trace, ENTRIES)):
        empty += _weight(entries, entry) == 0
    store64(trace, LOG_BASE, load64(trace, ENTRIES))
    store64(trace, LOG_LENGTH, 0)
    return empty


@exported
def link(trace):
    """Build the chains of all entries."""
    entries, first = load64(trace, ENTRIES_AT), load64(trace, FIRST_AT)
    for entry in range(load64(trace, ENTRIES)):
        at = ENTRY_WIDTH * entry
        row = load32(entries, at + ENTRY_ROW)
        store32(entries, at + FOLLOWING, load32(first, row))
        store32(first, row, entry + 1)
    return 0
