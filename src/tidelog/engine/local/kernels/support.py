"""Applies derived heads: adds rows, changes counts, puts suspects on the worklist, re-derives them.

The state of a row before the commit is written to the undo log once, before the row changes. If there is no
room in the table, the undo log or the worklist, nothing happens, and the status says what is full.

A count is the number of instances that support a tuple. It is stored as `INSTANCE` times the count. `OTHERS`
is added once there is an instance that does not support the tuple. Until then the count covers all instances,
and a tuple that lost them need not be re-derived. If a rank or a count does not fit into its cell, the table
must be widened first.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import count_of, count_one, holds, rank_of, set_count, set_rank
from tidelog.engine.local.kernels.compiled import exported, kernel
from tidelog.engine.local.kernels.extrema import improve_head
from tidelog.engine.local.kernels.layout import (
    ADD,
    AIMED,
    ALIVE,
    BASE,
    CUR,
    DELTA_FROM,
    DELTA_TO,
    DONE,
    GROW_LIST,
    GROW_TABLE,
    GROW_TRACE,
    IMPROVE,
    INSERT,
    INSTANCE,
    LISTED,
    NEXT,
    OLD,
    OTHERS,
    OVERDELETE,
    REDERIVE,
    REMOVE,
    REPLACE,
    ROWS,
    SETTLE,
    SUBTRACT,
    TAG_AT,
    UNDO_AT,
    UNDO_LENGTH,
    UNDO_ROW,
    UNDO_WIDTH,
    UNKNOWN,
    WIDEN,
    WORKLIST_AT,
)
from tidelog.engine.local.kernels.memory import load8, load64, store8, store64
from tidelog.engine.local.kernels.replacing import replace_head
from tidelog.engine.local.kernels.rows import append, find, is_full
from tidelog.engine.local.kernels.traces import weigh
from tidelog.engine.local.kernels.undo import has_room, list_row, log

__all__ = [
    "apply_head",
    "apply_rows",
    "end_round",
    "insert_row",
    "publish",
    "rederive_row",
    "settle",
]


@kernel
def _mark_others(relation, row, tag):
    """Record that a row has an instance that does not support it."""
    count = count_of(relation, row)
    if count & OTHERS:
        return DONE
    if not has_room(relation):
        return GROW_LIST
    log(relation, row, tag)
    set_count(relation, row, count | OTHERS)
    return DONE


@kernel
def insert_row(relation, row, highest, rank):
    """Count an instance of a row that is there, dead or alive."""
    tags = load64(relation, TAG_AT)
    tag = load8(tags, row)
    if tag & NEXT:
        return count_one(relation, row)
    if tag & ALIVE and highest >= rank_of(relation, row):
        return _mark_others(relation, row, tag)
    if not has_room(relation):
        return GROW_LIST
    tag = log(relation, row, tag)
    if tag & ALIVE:
        return count_one(relation, row)
    if not holds(relation, rank):
        return WIDEN
    store8(tags, row, tag | NEXT)
    set_rank(relation, row, rank)
    set_count(relation, row, INSTANCE)
    list_row(relation, row)
    return DONE


@kernel
def _settle_row(relation, row, highest, rank):
    tags = load64(relation, TAG_AT)
    tag = load8(tags, row)
    if tag & ALIVE:
        counts = highest < rank_of(relation, row)
    else:
        counts = tag & NEXT or rank_of(relation, row) == AIMED
    return insert_row(relation, row, highest, rank) if counts else DONE


@kernel
def _settle_head(relation, values, half, highest, rank):
    """Count an instance of a head that is alive or needs a rank; other heads are ignored."""
    row = find(relation, values, half)
    return _settle_row(relation, row, highest, rank) if row >= 0 else DONE


@kernel
def _insert_head(relation, values, half, highest, rank):
    """Count an instance of a head: add a row, or increase its count if the instance supports it."""
    row = find(relation, values, half)
    if row >= 0:
        return insert_row(relation, row, highest, rank)
    if is_full(relation):
        return GROW_TABLE
    if not has_room(relation):
        return GROW_LIST
    added = append(relation, values, half, row, NEXT, rank, INSTANCE)
    if added < 0:
        return WIDEN
    list_row(relation, added)
    return DONE


@kernel
def _remove_row(relation, row, highest):
    tags = load64(relation, TAG_AT)
    tag = load8(tags, row)
    if not tag & ALIVE or tag & CUR or highest >= rank_of(relation, row):
        return DONE
    if not has_room(relation):
        return GROW_LIST
    tag = log(relation, row, tag)
    count = count_of(relation, row) - INSTANCE
    set_count(relation, row, count)
    if count < INSTANCE and not tag & NEXT:
        store8(tags, row, tag | NEXT)
        list_row(relation, row)
    return DONE


@kernel
def _remove_head(relation, values, half, highest):
    """Subtract an instance that supported a head; a head without any becomes a suspect."""
    row = find(relation, values, half)
    return _remove_row(relation, row, highest) if row >= 0 else DONE


@kernel
def _overdelete_row(relation, row):
    tags = load64(relation, TAG_AT)
    tag = load8(tags, row)
    if not tag & ALIVE or tag & (CUR | NEXT):
        return DONE
    if not has_room(relation):
        return GROW_LIST
    store8(tags, row, log(relation, row, tag) | NEXT)
    list_row(relation, row)
    return DONE


@kernel
def _overdelete_head(relation, values, half):
    """Make a head that loses an instance a suspect, even if it has others."""
    row = find(relation, values, half)
    return _overdelete_row(relation, row) if row >= 0 else DONE


@kernel
def rederive_row(relation, row, rank):
    """Count an instance of a suspect, which revives it. It was logged when it became a suspect."""
    tags = load64(relation, TAG_AT)
    tag = load8(tags, row)
    if not tag & NEXT:
        if not has_room(relation):
            return GROW_LIST
        if not holds(relation, rank):
            return WIDEN
        store8(tags, row, tag | NEXT)
        set_rank(relation, row, rank)
        set_count(relation, row, 0)
        list_row(relation, row)
    return count_one(relation, row)


@kernel
def _rediscover_head(relation, values, half, rank):
    """Count an instance of a head if it is a suspect: alive before the commit, but not now."""
    row = find(relation, values, half)
    if row >= 0 and load8(load64(relation, TAG_AT), row) & (ALIVE | OLD) == OLD:
        return rederive_row(relation, row, rank)
    return DONE


@kernel
def _weigh_row(relation, row, highest, mode):
    return DONE if weigh(relation, row, highest + 1, 1 if mode == ADD else -1) else GROW_TRACE


@kernel
def _weigh_head(relation, values, half, highest, mode):
    """Add or subtract an instance of a head, at the iteration after the latest tuple that it uses."""
    row = find(relation, values, half)
    if row < 0:
        if is_full(relation):
            return GROW_TABLE
        row = append(relation, values, half, row, 0, 0, 0)
        if row < 0:
            return WIDEN
    return _weigh_row(relation, row, highest, mode)


@kernel
def apply_head(mode, relation, values, half, highest, rank):
    """Apply a head according to the mode, or return what must grow first.

    `half` is half its hash, or half that of its key if its relation has best values.
    """
    if mode == INSERT:
        return _insert_head(relation, values, half, highest, rank)
    if mode == REMOVE:
        return _remove_head(relation, values, half, highest)
    if mode == REDERIVE:
        return _rediscover_head(relation, values, half, rank)
    if mode == SETTLE:
        return _settle_head(relation, values, half, highest, rank)
    if mode == OVERDELETE:
        return _overdelete_head(relation, values, half)
    if mode == ADD or mode == SUBTRACT:
        return _weigh_head(relation, values, half, highest, mode)
    if mode == REPLACE:
        return replace_head(relation, values, half, highest, rank)
    if mode == IMPROVE:
        return improve_head(relation, values, half)
    return UNKNOWN


@kernel
def _apply_row(mode, relation, row, rank):
    """Apply an instance with an empty body according to the mode, or return what must grow first."""
    if mode == INSERT:
        return insert_row(relation, row, -1, rank)
    if mode == REMOVE:
        return _remove_row(relation, row, -1)
    if mode == REDERIVE:
        return rederive_row(relation, row, rank)
    if mode == SETTLE:
        return _settle_row(relation, row, -1, rank)
    if mode == OVERDELETE:
        return _overdelete_row(relation, row)
    if mode == ADD or mode == SUBTRACT:
        return _weigh_row(relation, row, -1, mode)
    return UNKNOWN


# -- many at once


@exported
def apply_rows(relation, mode, rank, rows, count, out):
    """Apply an instance with an empty body for each row, from the one at `out` on, as `apply_heads` does."""
    for i in range(load64(out, 0), count):
        status = _apply_row(mode, relation, load64(rows, i), rank)
        if status != DONE:
            store64(out, 0, i)
            return status
    store64(out, 0, count)
    return DONE


@exported
def end_round(relation, mode):
    """Make the rows put on the worklist in this round the next delta; returns their number."""
    tags, listed = load64(relation, TAG_AT), load64(relation, WORKLIST_AT)
    first, last, end = load64(relation, DELTA_FROM), load64(relation, DELTA_TO), load64(relation, LISTED)
    passed = ~(CUR | ALIVE) if mode == REMOVE else ~CUR
    coming = CUR if mode == REMOVE else CUR | ALIVE
    for i in range(first, last):
        row = load64(listed, i)
        store8(tags, row, load8(tags, row) & passed)
    for i in range(last, end):
        row = load64(listed, i)
        store8(tags, row, (load8(tags, row) & ~NEXT) | coming)
    store64(relation, DELTA_FROM, last)
    store64(relation, DELTA_TO, end)
    return end - last


@exported
def settle(relation, whole, inserted, deleted, out):
    """List the rows that the commit inserted and deleted, with their numbers in `out`.

    Scans all rows, or only logged and new ones.
    """
    tags, undo = load64(relation, TAG_AT), load64(relation, UNDO_AT)
    base, rows = load64(relation, BASE), load64(relation, ROWS)
    entered = left = 0
    old = base if whole else load64(relation, UNDO_LENGTH)
    for i in range(old + rows - base):
        row = base + i - old if i >= old else i if whole else load64(undo, UNDO_WIDTH * i + UNDO_ROW)
        tag = load8(tags, row) & ~(CUR | NEXT)
        store8(tags, row, tag)
        state = tag & (ALIVE | OLD)
        if state == ALIVE:
            store64(inserted, entered, row)
            entered += 1
        elif state == OLD:
            store64(deleted, left, row)
            left += 1
    store64(out, 0, entered)
    store64(out, 1, left)
    return 0


@exported
def publish(relation, whole):
    """Make the new state of changed rows current."""
    tags, undo = load64(relation, TAG_AT), load64(relation, UNDO_AT)
    base, rows = load64(relation, BASE), load64(relation, ROWS)
    old = base if whole else load64(relation, UNDO_LENGTH)
    for i in range(old + rows - base):
        row = base + i - old if i >= old else i if whole else load64(undo, UNDO_WIDTH * i + UNDO_ROW)
        store8(tags, row, (ALIVE | OLD) if load8(tags, row) & ALIVE else 0)
    return 0
