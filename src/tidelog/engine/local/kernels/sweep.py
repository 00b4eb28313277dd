"""The inner loop over rows: runs the rest of a last level whose columns are only bound; part of `derive`."""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import cell, larger, rank_of
from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.conditions import passes
from tidelog.engine.local.kernels.layout import (
    AT,
    CELLS_AT,
    COL_COLUMN,
    COL_FROM,
    COL_SLOT,
    COL_TO,
    COL_WIDTH,
    CURSOR,
    DONE,
    END,
    FIL_FROM,
    FIL_TO,
    FOLLOWING_AT,
    GROUPED,
    GROUPED_AT,
    HEAD,
    HIGHEST,
    INDEX,
    INSTANCES,
    KEY_FROM,
    KEY_TO,
    KIND,
    LOOKUP,
    MASK,
    MOST_PENDING,
    PAUSE,
    PENDING_TO,
    RANKED,
    REL,
    SCAN,
    SOURCE,
    STEPS,
    STRIDE,
    TAG_AT,
    TARGET,
    UNKNOWN,
    WIDE,
    WIDTH,
)
from tidelog.engine.local.kernels.look_ahead import list_of
from tidelog.engine.local.kernels.memory import load8, load32, load64, store64
from tidelog.engine.local.kernels.pending import flush, next_pending, put_off
from tidelog.engine.local.kernels.ranges import agrees
from tidelog.engine.local.kernels.rows import fetch_cells

__all__ = ["bind_columns", "put_head", "sweep"]

_AHEAD = 8  # rows between beginning to load a row and using it


@inlined
def bind_columns(code, level, cells, at, wide):
    for j in range(load64(code, level + COL_FROM), load64(code, level + COL_TO), COL_WIDTH):
        store64(code, load64(code, j + COL_SLOT), cell(cells, at + load64(code, j + COL_COLUMN), wide))


@inlined
def put_head(code, begins, cells, at, wide):
    """Store the values of a head, each from the column that is its source, or else from its slot."""
    source, head = load64(code, SOURCE), load64(code, HEAD)
    for j in range(load64(code, WIDTH)):
        column = load64(code, source + j)
        if column >= 0:
            v = cell(cells, at + column, wide)
        else:
            v = load64(code, load64(code, head + j))
        store64(code, begins + j, v)


@kernel
def sweep(code, level):
    """Run the rest of a last level whose columns are only bound: the inner loop.

    Each instance, and each row that a condition rejects, counts as one step.
    """
    relation, target, mask = load64(code, level + REL), load64(code, TARGET), load64(code, level + MASK)
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    ranked, above = load64(code, level + RANKED), load64(code, level + HIGHEST)
    tags, width = load64(relation, TAG_AT), load64(code, WIDTH)
    kind, end, index = load64(code, level + KIND), load64(code, level + END), load64(code, level + INDEX)
    first, last = load64(code, level + KEY_FROM), load64(code, level + KEY_TO)
    conditions = load64(code, level + FIL_TO) - load64(code, level + FIL_FROM)
    listed, newer = 0, -1
    if kind == LOOKUP:
        listed, newer = load64(index, GROUPED_AT), load64(code, level + AT)
    elif kind != SCAN:
        listed = list_of(code, level)
    at, steps, instances, status = load64(code, level + CURSOR), load64(code, STEPS), 0, DONE
    while True:
        if load64(code, PENDING_TO) == MOST_PENDING:
            status = flush(code)
            if status != DONE:
                break
        if kind == LOOKUP:
            if at < end:
                row = load32(listed, at)
                at += 1
                if at + _AHEAD < end:
                    fetch_cells(relation, load32(listed, at + _AHEAD))
            elif newer >= 0:
                row = newer
                newer = load32(load64(index, FOLLOWING_AT), row - load64(index, GROUPED))
            else:
                break
            if not agrees(code, cells, row * stride, wide, first, last):
                continue
        else:
            if at >= end:
                break
            row = at if kind == SCAN else load64(listed, at)
            at += 1
        if not (mask >> load8(tags, row)) & 1:
            continue
        passed = 1
        if conditions:
            bind_columns(code, level, cells, row * stride, wide)
            passed = passes(code, level)
        if passed > 0:
            begins = next_pending(code, width)
            put_head(code, begins, cells, row * stride, wide)
            put_off(code, target, begins, width, larger(above, rank_of(relation, row)) if ranked else above)
            instances += 1
        elif passed < 0:
            status = UNKNOWN
            break
        steps -= 1
        if steps <= 0:
            status = PAUSE
            break
    store64(code, level + CURSOR, at)
    if kind == LOOKUP:
        store64(code, level + AT, newer)
    store64(code, INSTANCES, load64(code, INSTANCES) + instances)
    store64(code, STEPS, steps)
    return status
