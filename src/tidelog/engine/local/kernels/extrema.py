"""Kernels on the best values of keys, for recursive `min` and `max`.

While the values of a stratum are being improved, a hash table holds the best row of each key that has one
better than before. The rows of other keys are found by an index. A row that is superseded is dead at once. A
better row takes part from the next round on, or later if its value is not among the best.

`improve_head` is for values alone. See `replacing` for ranks and counts.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import (
    cell,
)
from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.indexes import (
    bucket_end,
    bucket_start,
    chain_head,
    fetch_bucket,
    fetch_found,
)
from tidelog.engine.local.kernels.layout import (
    ALIVE,
    ARITY,
    BEFORE_AT,
    BEST_AT,
    BEST_CAP,
    BEST_COLUMN,
    BEST_ENTRIES,
    BEST_ENTRIES_AT,
    CELLS_AT,
    CUR,
    DELTA_FROM,
    DELTA_TO,
    DONE,
    FOLLOWING_AT,
    FRESH_FROM,
    GROUPED,
    GROUPED_AT,
    GROW_BEST,
    GROW_LIST,
    GROW_TABLE,
    IS_LARGEST,
    KEYS,
    LISTED,
    NEXT,
    RANKS_AT,
    STRIDE,
    TAG_AT,
    WIDE,
    WIDEN,
    WORKLIST_AT,
)
from tidelog.engine.local.kernels.memory import load8, load32, load64, prefetch, store8, store64
from tidelog.engine.local.kernels.rows import (
    SEED,
    append,
    fetch_cells,
    fetch_slot,
    find,
    hash_of,
    is_full,
    mix,
    place,
    put_slot,
    upper,
)
from tidelog.engine.local.kernels.undo import has_room, list_row, log

__all__ = [
    "LOST",
    "enlarge_best",
    "entry_of",
    "fetch_best",
    "fetch_entry",
    "fetch_next",
    "half_of_key",
    "held_row",
    "improve_head",
    "is_better",
    "is_crowded",
    "low_third",
    "next_improved",
    "put_entry",
    "supersede",
    "value_of",
]

_LOWER = 0xFFFFFFFF
_ROW = 0x7FFFFFFF  # the part of an entry with the row
LOST = 0x80000000  # set in an entry whose row was deleted


@kernel
def half_of_key(values, arity, column):
    """Half the hash of the key of a tuple: all its columns except one."""
    h = SEED
    for c in range(arity):
        if c != column:
            h = mix(h, load64(values, c))
    return upper(h)


@kernel
def _has_key(relation, row, values, column):
    cells, at, wide = load64(relation, CELLS_AT), row * load64(relation, STRIDE), load64(relation, WIDE)
    for c in range(load64(relation, ARITY)):
        if c != column and cell(cells, at + c, wide) != load64(values, c):
            return False
    return True


@inlined
def is_better(best, code, other):
    ranks = load64(best, RANKS_AT)
    if ranks:
        code, other = load64(ranks, code), load64(ranks, other)
    return code > other if load64(best, IS_LARGEST) else code < other


@inlined
def value_of(relation, row, column):
    return cell(load64(relation, CELLS_AT), row * load64(relation, STRIDE) + column, load64(relation, WIDE))


@kernel
def fetch_entry(best, half):
    """Begin to load the entry where a key would be, and where its row would be in the index."""
    at = place(half, load64(best, BEST_CAP))
    prefetch(load64(best, BEST_ENTRIES_AT), 8 * at)
    if load64(best, KEYS):
        fetch_bucket(load64(best, KEYS), half)
    return 0


@inlined
def _likely_entry(best, half):
    return load64(load64(best, BEST_ENTRIES_AT), place(half, load64(best, BEST_CAP)))


@kernel
def fetch_best(relation, best, half):
    """Begin to load the row of the entry where a key would be, or its place in the index."""
    entry, index = _likely_entry(best, half), load64(best, KEYS)
    if entry:
        fetch_cells(relation, (entry & _ROW) - 1)
    elif index:
        prefetch(load64(index, GROUPED_AT), 4 * bucket_start(index, half))
    return 0


@kernel
def fetch_next(relation, best, values, half):
    """Begin to load the row in the index, or the slot of a tuple that is likely to be added."""
    entry, index = _likely_entry(best, half), load64(best, KEYS)
    if entry:
        if (entry >> 32) & _LOWER == half and not entry & LOST:
            column = load64(best, BEST_COLUMN)
            old = value_of(relation, (entry & _ROW) - 1, column)
            if not is_better(best, load64(values, column), old):
                return 0
    elif index:
        fetch_found(index, relation, half)
        return 0
    if load64(best, FRESH_FROM):
        fetch_slot(relation, hash_of(values, load64(relation, ARITY)))
    return 0


@kernel
def entry_of(relation, best, values, column, half):
    """The position of the entry of a key, or -1 minus a free one."""
    entries, size = load64(best, BEST_ENTRIES_AT), load64(best, BEST_CAP)
    at = place(half, size)
    while True:
        entry = load64(entries, at)
        if entry == 0:
            return -1 - at
        if (entry >> 32) & _LOWER == half and _has_key(relation, (entry & _ROW) - 1, values, column):
            return at
        at += 1
        if at == size:
            at = 0


@kernel
def _row_of_key(relation, index, values, column, half):
    """The row that a key has according to the index, or -1."""
    tags, grouped = load64(relation, TAG_AT), load64(index, GROUPED_AT)
    for at in range(bucket_start(index, half), bucket_end(index, half)):
        row = load32(grouped, at)
        if load8(tags, row) & ALIVE and _has_key(relation, row, values, column):
            return row
    row = chain_head(index, half)
    while row >= 0:
        if load8(tags, row) & ALIVE and _has_key(relation, row, values, column):
            return row
        row = load32(load64(index, FOLLOWING_AT), row - load64(index, GROUPED))
    return -1


@kernel
def _put_row(relation, values):
    """Put the row of a tuple, added if need be, on the worklist; returns it, or -1 minus what must grow."""
    if is_full(relation):
        return -1 - GROW_TABLE
    if not has_room(relation):
        return -1 - GROW_LIST
    half = hash_of(values, load64(relation, ARITY))
    row = find(relation, values, half)
    if row < 0:
        row = append(relation, values, half, row, 0, 0, 0)
        if row < 0:
            return -1 - WIDEN
    tags = load64(relation, TAG_AT)
    store8(tags, row, log(relation, row, load8(tags, row)) | NEXT)
    list_row(relation, row)
    return row


@kernel
def _take_head(relation, values, half):
    """Add a tuple of a relation without a best value, unless it is there."""
    row = find(relation, values, half)
    if row >= 0 and load8(load64(relation, TAG_AT), row) & (ALIVE | NEXT):
        return DONE
    row = _put_row(relation, values)
    return DONE if row >= 0 else -1 - row


@kernel
def held_row(relation, best, values, column, half, at):
    """The row of a key, or -1; `at` is the position of its entry, if that is not negative."""
    if at >= 0:
        entry = load64(load64(best, BEST_ENTRIES_AT), at)
        return -1 if entry & LOST else (entry & _ROW) - 1
    if load64(best, KEYS):
        return _row_of_key(relation, load64(best, KEYS), values, column, half)
    return -1


@inlined
def is_crowded(best):
    """Whether there is no room for another entry."""
    return 4 * (load64(best, BEST_ENTRIES) + 1) > 3 * load64(best, BEST_CAP)


@kernel
def put_entry(best, at, half, row):
    """Write the entry of a key, at the position that `entry_of` returned; returns its position."""
    if at < 0:
        at = -1 - at
        store64(best, BEST_ENTRIES, load64(best, BEST_ENTRIES) + 1)
    store64(load64(best, BEST_ENTRIES_AT), at, (half << 32) | (row + 1))
    return at


@kernel
def supersede(relation, row):
    tags = load64(relation, TAG_AT)
    store8(tags, row, load8(tags, row) & ~(ALIVE | CUR | NEXT))
    return 0


@kernel
def improve_head(relation, values, half):
    """Make a tuple the best one of its key if it is better, or return what must grow first.

    `half` is half the hash of its key, or of the tuple if its relation has no best values.
    """
    best = load64(relation, BEST_AT)
    if best == 0:
        return _take_head(relation, values, half)
    column = load64(best, BEST_COLUMN)
    at = entry_of(relation, best, values, column, half)
    held = held_row(relation, best, values, column, half, at)
    if held >= 0:
        if not is_better(best, load64(values, column), value_of(relation, held, column)):
            return DONE
        if not has_room(relation):
            return GROW_LIST
        log(relation, held, load8(load64(relation, TAG_AT), held))
    if at < 0 and is_crowded(best):
        return GROW_BEST
    row = _put_row(relation, values)
    if row < 0:
        return -1 - row
    if held >= 0:
        supersede(relation, held)
    if at < 0 and load64(best, KEYS):
        store64(load64(best, BEFORE_AT), -1 - at, held + 1)
    put_entry(best, at, half, row)
    return DONE


@exported
def next_improved(relation, is_cut, cut):
    """Make the rows put on the worklist in this round the next delta; returns their number.

    Superseded ones are left out. If the relation has best values, the next delta takes the place of the last
    one, and with `is_cut`, rows with a value worse than `cut` stay on the worklist.
    """
    best, cells, wide = load64(relation, BEST_AT), load64(relation, CELLS_AT), load64(relation, WIDE)
    tags, listed, stride = load64(relation, TAG_AT), load64(relation, WORKLIST_AT), load64(relation, STRIDE)
    first, last, end = load64(relation, DELTA_FROM), load64(relation, DELTA_TO), load64(relation, LISTED)
    for i in range(first, last):
        row = load64(listed, i)
        store8(tags, row, load8(tags, row) & ~CUR)
    if not best:
        first = last
    to = kept = first
    for i in range(last, end):
        row = load64(listed, i)
        tag = load8(tags, row)
        if not tag & NEXT:
            continue
        if is_cut and is_better(best, cut, cell(cells, row * stride + load64(best, BEST_COLUMN), wide)):
            store64(listed, kept, row)
        else:
            store8(tags, row, (tag & ~NEXT) | CUR | ALIVE)
            store64(listed, kept, load64(listed, to))
            store64(listed, to, row)
            to += 1
        kept += 1
    store64(relation, DELTA_FROM, first)
    store64(relation, DELTA_TO, to)
    store64(relation, LISTED, kept)
    return to - first


_SAMPLE = 5  # rows


@kernel
def low_third(relation, first, last):
    """A value that about a third of the rows at these positions of the worklist reach."""
    best, listed = load64(relation, BEST_AT), load64(relation, WORKLIST_AT)
    column, apart = load64(best, BEST_COLUMN), (last - first) // _SAMPLE
    value = 0
    for i in range(_SAMPLE):
        value = value_of(relation, load64(listed, first + i * apart), column)
        better = 0
        for j in range(_SAMPLE):
            other = value_of(relation, load64(listed, first + j * apart), column)
            if is_better(best, other, value) or (other == value and j < i):
                better += 1
        if better == 1:
            break
    return value


@exported
def enlarge_best(best, smaller, before, size):
    """Fill empty tables of best rows, and of the rows before if there is an index, from smaller ones."""
    entries, larger = load64(best, BEST_ENTRIES_AT), load64(best, BEST_CAP)
    for i in range(size):
        entry = load64(smaller, i)
        if entry:
            at = put_slot(entries, larger, entry)
            if load64(best, KEYS):
                store64(load64(best, BEFORE_AT), at, load64(before, i))
    return 0
