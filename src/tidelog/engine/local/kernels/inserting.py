"""Inserts many heads one after the other, as `support` inserts one.

Most heads are new, or were found before in the same round. These are added or counted here. Others are left
to `support`, and so is the first head for which something is full or too small.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import cell, fits, set_cell
from tidelog.engine.local.kernels.compiled import kernel
from tidelog.engine.local.kernels.layout import (
    ARITY,
    CAP,
    CELL_COUNT,
    CELLS_AT,
    DONE,
    INSTANCE,
    LISTED,
    NEXT,
    PENDING_HASH,
    PENDING_MORE,
    PENDING_RANK,
    ROWS,
    SLOTS,
    SLOTS_AT,
    STRIDE,
    TAG_AT,
    WIDE,
    WORKLIST_AT,
    WORKLIST_CAP,
)
from tidelog.engine.local.kernels.memory import load64, store8, store64
from tidelog.engine.local.kernels.rows import place
from tidelog.engine.local.kernels.support import insert_row

__all__ = ["insert_heads"]

_LOWER = 0xFFFFFFFF


@kernel
def _room(relation):
    """How many rows a relation and its worklist can have at most."""
    most, filled = load64(relation, CAP), (3 * load64(relation, SLOTS)) // 4 - 1
    most = filled if filled < most else most
    listed = load64(relation, ROWS) + load64(relation, WORKLIST_CAP) - load64(relation, LISTED)
    return listed if listed < most else most


@kernel
def insert_heads(relation, heads, size, first, last, rank):
    """Insert heads as `apply_head` does; returns the number of the first that is left to do.

    Each of them has `size` words, in the form of pending heads.
    """
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    slots, slot_count, tags = load64(relation, SLOTS_AT), load64(relation, SLOTS), load64(relation, TAG_AT)
    arity, worklist = load64(relation, ARITY), load64(relation, WORKLIST_AT)
    rows, listed, most = load64(relation, ROWS), load64(relation, LISTED), _room(relation)
    done = first
    while done < last:
        head = heads + 8 * size * done
        values, half = head + 8 * PENDING_MORE, load64(head, PENDING_HASH)
        at = place(half, slot_count)
        slot, row = load64(slots, at), -1
        while slot:
            if (slot >> 32) & _LOWER == half:
                row = (slot & _LOWER) - 1
                for c in range(arity):
                    if cell(cells, row * stride + c, wide) != load64(values, c):
                        row = -1
                        break
                if row >= 0:
                    break
            at += 1
            if at == slot_count:
                at = 0
            slot = load64(slots, at)
        if row < 0:
            if rows >= most or not (wide or fits(rank)):
                break
            begin = rows * stride
            small = True
            for c in range(arity):
                value = load64(values, c)
                small &= fits(value)
                set_cell(cells, begin + c, wide, value)
            if not (wide or small):
                break
            set_cell(cells, begin + arity, wide, rank)
            set_cell(cells, begin + arity + CELL_COUNT, wide, INSTANCE)
            store8(tags, rows, NEXT)
            store64(slots, at, (half << 32) | (rows + 1))
            store64(worklist, listed, rows)
            rows += 1
            listed += 1
        else:
            store64(relation, ROWS, rows)
            store64(relation, LISTED, listed)
            if insert_row(relation, row, load64(head, PENDING_RANK), rank) != DONE:
                break
            listed = load64(relation, LISTED)
            most = _room(relation)
        done += 1
    store64(relation, ROWS, rows)
    store64(relation, LISTED, listed)
    return done
