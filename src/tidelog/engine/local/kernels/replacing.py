"""Kernels of the mode REPLACE: a better head replaces the row of its key, with its rank and count.

Rows that are added are put into the hash table of the relation at the end, all at once. Until then they can
be found by their keys only, so their values may change.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import (
    cell,
    count_one,
    fits,
    holds,
    rank_of,
    set_cell,
    set_count,
    set_rank,
)
from tidelog.engine.local.kernels.compiled import exported, kernel
from tidelog.engine.local.kernels.extrema import (
    LOST,
    entry_of,
    held_row,
    is_better,
    is_crowded,
    put_entry,
    supersede,
    value_of,
)
from tidelog.engine.local.kernels.layout import (
    ALIVE,
    ARITY,
    BEST_AT,
    BEST_CAP,
    BEST_COLUMN,
    BEST_ENTRIES,
    BEST_ENTRIES_AT,
    CELLS_AT,
    CUR,
    DONE,
    FRESH_FROM,
    GROW_BEST,
    GROW_LIST,
    GROW_TABLE,
    IN_PLACE,
    INSTANCE,
    NEW_KEYS,
    NEXT,
    STRIDE,
    TAG_AT,
    WIDE,
    WIDEN,
)
from tidelog.engine.local.kernels.memory import load8, load64, prefetch, store8, store64
from tidelog.engine.local.kernels.rows import (
    SEED,
    append_unslotted,
    fetch_cells,
    find,
    hash_of,
    is_full,
    mix,
    place,
    put_slot,
    upper,
)
from tidelog.engine.local.kernels.undo import has_room, list_row, log

__all__ = ["lose_rows", "replace_head"]


@kernel
def _count_equal(relation, row, highest):
    """Count an instance with the value of the row of its key, if it supports it."""
    if highest >= rank_of(relation, row):
        return DONE
    if not has_room(relation):
        return GROW_LIST
    log(relation, row, load8(load64(relation, TAG_AT), row))
    return count_one(relation, row)


@kernel
def _put_fresh(relation, best, values, rank):
    """Put the row of a tuple, added if need be, on the worklist; returns it, or -1 minus what must grow.

    Added rows are put into the hash table of the relation later, all at once. They differ from each other,
    since each value of a key is better than those before.
    """
    if is_full(relation):
        return -1 - GROW_TABLE
    if not has_room(relation):
        return -1 - GROW_LIST
    row = -1
    if load64(best, FRESH_FROM):
        row = find(relation, values, hash_of(values, load64(relation, ARITY)))
    if row < 0:
        row = append_unslotted(relation, values, 0, rank, INSTANCE)
        if row < 0:
            return -1 - WIDEN
    tags = load64(relation, TAG_AT)
    store8(tags, row, log(relation, row, load8(tags, row)) | NEXT)
    set_rank(relation, row, rank)
    set_count(relation, row, INSTANCE)
    list_row(relation, row)
    return row


@kernel
def _may_change(relation, best, row, values):
    """Whether a row can become that of a better tuple with the same key."""
    first = load64(best, FRESH_FROM)
    if not load64(best, IN_PLACE) or row < first:
        return False
    return first == 0 or find(relation, values, hash_of(values, load64(relation, ARITY))) < 0


@kernel
def _change_value(relation, row, column, value, rank):
    """Give a row a better value. It takes part from the next round on."""
    wide = load64(relation, WIDE)
    if not wide and not fits(value):
        return WIDEN
    if not has_room(relation):
        return GROW_LIST
    tags, at = load64(relation, TAG_AT), row * load64(relation, STRIDE) + column
    set_cell(load64(relation, CELLS_AT), at, wide, value)
    set_rank(relation, row, rank)
    set_count(relation, row, INSTANCE)
    tag = load8(tags, row)
    if not tag & NEXT:
        store8(tags, row, (tag & ~(ALIVE | CUR)) | NEXT)
        list_row(relation, row)
    return DONE


@kernel
def replace_head(relation, values, half, highest, rank):
    """Count an instance of a tuple: if it is better, it replaces the row of its key, and is counted again.

    Each key is looked up in the index once, and has an entry from then on.
    """
    best = load64(relation, BEST_AT)
    column = load64(best, BEST_COLUMN)
    at = entry_of(relation, best, values, column, half)
    if at < 0 and is_crowded(best):
        return GROW_BEST
    held = held_row(relation, best, values, column, half, at)
    if held >= 0:
        if at < 0:
            at = put_entry(best, at, half, held)
        value, old = load64(values, column), value_of(relation, held, column)
        if value == old:
            return _count_equal(relation, held, highest)
        if not is_better(best, value, old):
            return DONE
    if not holds(relation, rank):
        return WIDEN
    if held >= 0:
        if _may_change(relation, best, held, values):
            return _change_value(relation, held, column, value, rank)
        if not has_room(relation):
            return GROW_LIST
        log(relation, held, load8(load64(relation, TAG_AT), held))
    row = _put_fresh(relation, best, values, rank)
    if row < 0:
        return -1 - row
    if held >= 0:
        supersede(relation, held)
    else:
        store64(best, NEW_KEYS, load64(best, NEW_KEYS) + 1)
    put_entry(best, at, half, row)
    return DONE


_AHEAD = 8  # rows


@kernel
def _half_of_row(relation, row, column):
    """Half the hash of the key of a row."""
    cells, at, wide = load64(relation, CELLS_AT), row * load64(relation, STRIDE), load64(relation, WIDE)
    h = SEED
    for c in range(load64(relation, ARITY)):
        if c != column:
            h = mix(h, cell(cells, at + c, wide))
    return upper(h)


@exported
def lose_rows(relation, rows, count):
    """Record that the rows of some keys were deleted. There must be room, and no entries of these keys."""
    best = load64(relation, BEST_AT)
    column, entries, size = load64(best, BEST_COLUMN), load64(best, BEST_ENTRIES_AT), load64(best, BEST_CAP)
    for i in range(count):
        if i + 2 * _AHEAD < count:
            fetch_cells(relation, load64(rows, i + 2 * _AHEAD))
        if i + _AHEAD < count:
            half = _half_of_row(relation, load64(rows, i + _AHEAD), column)
            prefetch(entries, 8 * place(half, size))
        row = load64(rows, i)
        put_slot(entries, size, (_half_of_row(relation, row, column) << 32) | LOST | (row + 1))
    store64(best, BEST_ENTRIES, load64(best, BEST_ENTRIES) + count)
    return 0
