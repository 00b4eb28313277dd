"""Kernels for several threads that share the work of one rule.

First all threads search: they count instances of known heads, and emit the others. Then they insert what they
emitted: each thread those heads whose hashes are in its share, at the end of the table, from a row of its own
on. The shares of the hash table hardly overlap, and a slot is taken only if it is still free. What else was
emitted is applied by one thread.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import (
    add_to_count,
    cell,
    count_of,
    fits,
    mark_count,
    rank_of,
    set_cell,
    set_count,
)
from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.layout import (
    ALIVE,
    ARITY,
    BASE,
    CELLS_AT,
    CUR,
    DONE,
    INSERT,
    INSTANCE,
    LISTED,
    LOGGED,
    NEXT,
    OTHERS,
    PENDING_HASH,
    PENDING_MORE,
    PENDING_RANK,
    PENDING_TIMES,
    REMOVE,
    ROWS,
    SLOTS,
    SLOTS_AT,
    STRIDE,
    TAG_AT,
    WIDE,
    WORKLIST_AT,
)
from tidelog.engine.local.kernels.memory import claim64, load8, load64, store8, store64
from tidelog.engine.local.kernels.rows import SEED, fetch_row, fetch_slot, find, mix, place, upper
from tidelog.engine.local.kernels.support import apply_head

__all__ = ["apply_emitted", "close_gaps", "count_head", "insert_share"]

_PLENTY = 2**30  # counts up to here can grow in all threads until they meet again


@kernel
def _count_together(relation, row, highest):
    """Count an instance in a row while other threads do so; false if more than a count changes."""
    tag, count = load8(load64(relation, TAG_AT), row), count_of(relation, row)
    if count > _PLENTY:
        return False
    if tag & NEXT:
        add_to_count(relation, row, INSTANCE)
        return True
    if not tag & ALIVE:
        return False
    supports = highest < rank_of(relation, row)
    if not supports and count & OTHERS:
        return True
    if row < load64(relation, BASE) and not tag & LOGGED:
        return False
    if supports:
        add_to_count(relation, row, INSTANCE)
    else:
        mark_count(relation, row, OTHERS)
    return True


@kernel
def count_head(mode, relation, values, half, highest):
    """Apply a head while other threads do so, if that changes at most a count; false if it changes more.

    While threads search, none may add rows or change tags.
    """
    row = find(relation, values, half)
    if row < 0:
        return mode != INSERT
    if mode == INSERT:
        return _count_together(relation, row, highest)
    tag = load8(load64(relation, TAG_AT), row)
    if mode == REMOVE:
        return not tag & ALIVE or tag & CUR or highest >= rank_of(relation, row)
    return not tag & ALIVE or tag & (CUR | NEXT)


# -- inserting

_AHEAD = 12  # heads between beginning to load a slot and looking there


@inlined
def _is_mine(heads, at, share, shares):
    return (load64(heads, at + PENDING_HASH) * shares) >> 32 == share


@kernel
def _insert(relation, values, half, free, row, rank, times):
    """Add a row of this number, at a slot that was free or at the next one; false if it does not fit."""
    cells, arity, wide = load64(relation, CELLS_AT), load64(relation, ARITY), load64(relation, WIDE)
    count = times * INSTANCE
    if not wide:
        for c in range(arity):
            if not fits(load64(values, c)):
                return False
        if not fits(rank) or not fits(count):
            return False
    at = row * load64(relation, STRIDE)
    for c in range(arity):
        set_cell(cells, at + c, wide, load64(values, c))
    set_cell(cells, at + arity, wide, rank)
    set_cell(cells, at + arity + 1, wide, count)
    store8(load64(relation, TAG_AT), row, NEXT)
    slots, size, slot = load64(relation, SLOTS_AT), load64(relation, SLOTS), -1 - free
    while claim64(slots, slot, (half << 32) | (row + 1)):
        slot += 1
        if slot == size:
            slot = 0
    return True


@kernel
def _count_alone(relation, row, tag, highest, times):
    """Count instances of a row that no other thread changes; false if more than a count changes."""
    count = count_of(relation, row)
    if tag & NEXT or (tag & ALIVE and highest < rank_of(relation, row)):
        total = count + times * INSTANCE
    elif tag & ALIVE:
        total = count | OTHERS
    else:
        return False
    if not tag & NEXT and row < load64(relation, BASE) and not tag & LOGGED and total != count:
        return False
    if not load64(relation, WIDE) and not fits(total):
        return False
    set_count(relation, row, total)
    return True


@exported
def insert_share(relation, rank, heads, count, share, shares, out):
    """Insert the emitted heads of a share that are new, from the row in `out` on; it then has the next row.

    There must be room. Instances of new rows, and of those of this commit, are counted. Heads that change
    more than that remain, and their number is added to `out`; the others have no instances left.
    """
    size = load64(relation, ARITY) + PENDING_MORE
    row, tags, remaining = load64(out, 0), load64(relation, TAG_AT), 0
    for i in range(count):
        if i + 2 * _AHEAD < count and _is_mine(heads, (i + 2 * _AHEAD) * size, share, shares):
            fetch_slot(relation, load64(heads, (i + 2 * _AHEAD) * size + PENDING_HASH))
        if i + _AHEAD < count and _is_mine(heads, (i + _AHEAD) * size, share, shares):
            fetch_row(relation, load64(heads, (i + _AHEAD) * size + PENDING_HASH))
        at = i * size
        if not _is_mine(heads, at, share, shares):
            continue
        values = heads + 8 * (at + PENDING_MORE)
        half, times = load64(heads, at + PENDING_HASH), load64(heads, at + PENDING_TIMES)
        found = find(relation, values, half)
        if found < 0:
            is_done = _insert(relation, values, half, found, row, rank, times)
            row += is_done
        else:
            tag, highest = load8(tags, found), load64(heads, at + PENDING_RANK)
            is_done = _count_alone(relation, found, tag, highest, times)
        if is_done:
            store64(heads, at + PENDING_TIMES, 0)
        else:
            remaining += 1
    store64(out, 0, row)
    store64(out, 1, load64(out, 1) + remaining)
    return 0


@kernel
def _move(relation, row, to):
    """Give a row another number."""
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    h = SEED
    for c in range(load64(relation, ARITY)):
        h = mix(h, cell(cells, row * stride + c, wide))
    for c in range(stride):
        set_cell(cells, to * stride + c, wide, cell(cells, row * stride + c, wide))
    tags = load64(relation, TAG_AT)
    store8(tags, to, load8(tags, row))
    store8(tags, row, 0)
    slots, size, half = load64(relation, SLOTS_AT), load64(relation, SLOTS), upper(h)
    at = place(half, size)
    while load64(slots, at) != ((half << 32) | (row + 1)):
        at += 1
        if at == size:
            at = 0
    store64(slots, at, (half << 32) | (to + 1))
    return 0


@exported
def close_gaps(relation, firsts, lasts, shares):
    """Make the rows that shares inserted contiguous, and put them on the worklist.

    Share i had the rows from `firsts[i]` on and used those before `lasts[i]`.
    """
    start, total = load64(relation, ROWS), 0
    for i in range(shares):
        total += load64(lasts, i) - load64(firsts, i)
    end = start + total
    last = shares - 1
    row = load64(lasts, last)
    for i in range(shares):
        free = load64(lasts, i)
        until = load64(firsts, i + 1) if i + 1 < shares else end
        while free < until and free < end:
            while row == load64(firsts, last):
                last -= 1
                row = load64(lasts, last)
            row -= 1
            _move(relation, row, free)
            free += 1
    worklist, listed = load64(relation, WORKLIST_AT), load64(relation, LISTED)
    for i in range(total):
        store64(worklist, listed + i, start + i)
    store64(relation, LISTED, listed + total)
    store64(relation, ROWS, end)
    return total


@exported
def apply_emitted(relation, mode, rank, heads, count, out):
    """Apply heads that searching threads emitted, from the number in `out` on, as `apply_heads` does."""
    arity = load64(relation, ARITY)
    size = arity + PENDING_MORE
    for i in range(load64(out, 0), count):
        if i + 2 * _AHEAD < count:
            fetch_slot(relation, load64(heads, (i + 2 * _AHEAD) * size + PENDING_HASH))
        if i + _AHEAD < count:
            fetch_row(relation, load64(heads, (i + _AHEAD) * size + PENDING_HASH))
        at = i * size
        half, highest = load64(heads, at + PENDING_HASH), load64(heads, at + PENDING_RANK)
        while load64(heads, at + PENDING_TIMES):
            status = apply_head(mode, relation, heads + 8 * (at + PENDING_MORE), half, highest, rank)
            if status != DONE:
                store64(out, 0, i)
                return status
            store64(heads, at + PENDING_TIMES, load64(heads, at + PENDING_TIMES) - 1)
    store64(out, 0, count)
    return DONE
