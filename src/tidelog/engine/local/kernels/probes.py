"""Joins the last two atoms of a rule if the last one is a test, for blocks of rows; part of `derive`.

A block has some rows of the first of the two atoms. First the tuples to be tested are hashed for all of them,
and their slots begin to be loaded. Then rows whose tuple has no slot are left out, and the rows of the others
begin to be loaded. Only then are heads made. The loop can stop before any head, and begins there again.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import larger, rank_of
from tidelog.engine.local.kernels.compiled import kernel
from tidelog.engine.local.kernels.conditions import passes
from tidelog.engine.local.kernels.joins import gather, matches
from tidelog.engine.local.kernels.layout import (
    CELLS_AT,
    COL_FROM,
    COL_TO,
    CURSOR,
    DONE,
    END,
    FIL_FROM,
    FIL_TO,
    HEAD,
    HEADER,
    HIGHEST,
    INSTANCES,
    JOINED,
    JOINED_HALF,
    JOINED_ROW,
    JOINED_WIDTH,
    KEY_FROM,
    KEY_TO,
    LEVEL,
    LEVEL_WIDTH,
    MASK,
    MOST_PENDING,
    PAUSE,
    PENDING_TO,
    RANKED,
    REL,
    ROWS,
    SLOTS,
    SLOTS_AT,
    STEPS,
    STRIDE,
    TAG_AT,
    TARGET,
    UNKNOWN,
    WIDE,
    WIDTH,
)
from tidelog.engine.local.kernels.memory import load8, load64, store64
from tidelog.engine.local.kernels.pending import flush, next_pending, put_off
from tidelog.engine.local.kernels.ranges import agrees
from tidelog.engine.local.kernels.rows import CACHED, fetch_cells, place

__all__ = ["probe"]

_AT_ONCE = 1024  # rows of the first atom that are looked at before the steps are counted
_AHEAD = 8  # rows between beginning to load a row and using it
_LOWER = 0xFFFFFFFF


@kernel
def _leave_out_missing(code, level):
    """Keep the rows of the block for which there is a tuple with the same half of the hash."""
    tested, block = load64(code, level + LEVEL_WIDTH + REL), load64(code, JOINED)
    slots, size = load64(tested, SLOTS_AT), load64(tested, SLOTS)
    is_large, kept = load64(tested, ROWS) > CACHED, block + 1
    for entry in range(block + 1, block + 1 + JOINED_WIDTH * load64(code, block), JOINED_WIDTH):
        half = load64(code, entry + JOINED_HALF)
        at = place(half, size)
        slot = load64(slots, at)
        while slot and (slot >> 32) & _LOWER != half:
            at += 1
            if at == size:
                at = 0
            slot = load64(slots, at)
        if slot:
            if is_large:
                fetch_cells(tested, (slot & _LOWER) - 1)
            store64(code, kept, load64(code, entry))
            store64(code, kept + JOINED_ROW, load64(code, entry + JOINED_ROW))
            store64(code, kept + JOINED_HALF, half)
            kept += JOINED_WIDTH
    store64(code, block, (kept - block) // JOINED_WIDTH)
    return 0


@kernel
def _find_tested(code, member, half):
    """The row of the tuple that a level tests for, given the slots bound so far; -1 if there is none."""
    relation = load64(code, member + REL)
    slots, size, cells = load64(relation, SLOTS_AT), load64(relation, SLOTS), load64(relation, CELLS_AT)
    stride, wide = load64(relation, STRIDE), load64(relation, WIDE)
    key, last_key = load64(code, member + KEY_FROM), load64(code, member + KEY_TO)
    at = place(half, size)
    slot = load64(slots, at)
    while slot:
        row = (slot & _LOWER) - 1
        if (slot >> 32) & _LOWER == half and agrees(code, cells, row * stride, wide, key, last_key):
            return row
        at += 1
        if at == size:
            at = 0
        slot = load64(slots, at)
    return -1


@kernel
def _make_heads(code, level):
    """Make heads of the rows of the block; if it must stop, the position to begin at again is in CURSOR."""
    relation, member, block = load64(code, level + REL), level + LEVEL_WIDTH, load64(code, JOINED)
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    first, last = load64(code, level + COL_FROM), load64(code, level + COL_TO)
    tested, mask = load64(code, member + REL), load64(code, member + MASK)
    conditions = load64(code, member + FIL_TO) - load64(code, member + FIL_FROM)
    head, width, target = load64(code, HEAD), load64(code, WIDTH), load64(code, TARGET)
    above, status, instances = load64(code, level + HIGHEST), DONE, 0
    for entry in range(block + 1, block + 1 + JOINED_WIDTH * load64(code, block), JOINED_WIDTH):
        row = load64(code, entry + JOINED_ROW)
        matches(code, cells, row * stride, wide, first, last)
        found = _find_tested(code, member, load64(code, entry + JOINED_HALF))
        if found < 0 or not (mask >> load8(load64(tested, TAG_AT), found)) & 1:
            continue
        if load64(code, PENDING_TO) == MOST_PENDING:
            status = flush(code)
        if status == DONE and conditions:
            passed = passes(code, member)
            if passed == 0:
                continue
            status = DONE if passed > 0 else UNKNOWN
        if status != DONE:
            store64(code, level + CURSOR, load64(code, entry))
            break
        highest = larger(above, rank_of(relation, row)) if load64(code, level + RANKED) else above
        if load64(code, member + RANKED):
            highest = larger(highest, rank_of(tested, found))
        begins = next_pending(code, width)
        for j in range(width):
            store64(code, begins + j, load64(code, load64(code, head + j)))
        put_off(code, target, begins, width, highest)
        instances += 1
    store64(code, INSTANCES, load64(code, INSTANCES) + instances)
    return status


@kernel
def probe(code, number):
    """Run the rest of the level of this number and the last one, which tests; keeps LEVEL."""
    level = HEADER + number * LEVEL_WIDTH
    at, end, status = load64(code, level + CURSOR), load64(code, level + END), DONE
    while at < end and status == DONE:
        begins = at
        at = gather(code, level, begins, begins + _AT_ONCE if begins + _AT_ONCE < end else end)
        store64(code, STEPS, load64(code, STEPS) - (at - begins))
        store64(code, level + CURSOR, at)
        _leave_out_missing(code, level)
        status = _make_heads(code, level)
        if status == DONE and load64(code, STEPS) <= 0:
            status = PAUSE
    store64(code, LEVEL, number)
    return status
