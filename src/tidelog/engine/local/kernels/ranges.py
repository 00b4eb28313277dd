"""Range lookups in ordered indexes; part of the kernel `derive`."""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import cell
from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.layout import (
    AT,
    BOUNDS,
    BOUNDS_COLUMN,
    CELLS_AT,
    COVERED,
    CURSOR,
    END,
    HIGH,
    INDEX,
    IS_ABOVE_LOW,
    IS_BELOW_HIGH,
    KEY_COLUMN,
    KEY_FROM,
    KEY_SLOT,
    KEY_TO,
    KEY_WIDTH,
    LOW,
    ORDER_AT,
    REL,
    ROWS,
    STRIDE,
    WIDE,
)
from tidelog.engine.local.kernels.memory import load64, store64

__all__ = ["agrees", "enter_range", "next_in_range"]


@inlined
def agrees(code, cells, at, wide, first, last):
    """Whether the row whose values begin at `at` matches a key."""
    same = True
    for j in range(first, last, KEY_WIDTH):
        if cell(cells, at + load64(code, j + KEY_COLUMN), wide) != load64(code, load64(code, j + KEY_SLOT)):
            same = False
            break
    return same


@kernel
def _count_below(code, level, value, is_bounded, inclusive):
    """How many sorted rows precede a key and value; with `inclusive`, equal rows are counted too."""
    relation, index, column = (
        load64(code, level + REL),
        load64(code, level + INDEX),
        load64(code, load64(code, level + BOUNDS) + BOUNDS_COLUMN),
    )
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    order = load64(index, ORDER_AT)
    low, high = 0, load64(index, COVERED)
    while low < high:
        middle = (low + high) >> 1
        at = load64(order, middle) * stride
        sign = 0
        for j in range(load64(code, level + KEY_FROM), load64(code, level + KEY_TO), KEY_WIDTH):
            x = cell(cells, at + load64(code, j + KEY_COLUMN), wide)
            y = load64(code, load64(code, j + KEY_SLOT))
            if x != y:
                sign = -1 if x < y else 1
                break
        if sign == 0 and is_bounded:
            x = cell(cells, at + column, wide)
            sign = -1 if x < value else 1 if x > value else 0
        if sign < 0 or (sign == 0 and inclusive):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def enter_range(code, level):
    bounds = load64(code, level + BOUNDS)
    low, high = load64(code, bounds + LOW), load64(code, bounds + HIGH)
    store64(code, level + AT, load64(load64(code, level + REL), ROWS))
    upper = load64(code, high) if high else 0
    store64(
        code,
        level + END,
        _count_below(code, level, upper, high > 0, high == 0 or load64(code, bounds + IS_BELOW_HIGH) == 0),
    )
    lower = load64(code, low) if low else 0
    return _count_below(code, level, lower, low > 0, low > 0 and load64(code, bounds + IS_ABOVE_LOW) != 0)


@kernel
def _is_within(code, level, cells, at, wide):
    bounds = load64(code, level + BOUNDS)
    value = cell(cells, at + load64(code, bounds + BOUNDS_COLUMN), wide)
    low, high = load64(code, bounds + LOW), load64(code, bounds + HIGH)
    if low:
        v = load64(code, low)
        if value < v or (value == v and load64(code, bounds + IS_ABOVE_LOW)):
            return False
    if high:
        v = load64(code, high)
        if value > v or (value == v and load64(code, bounds + IS_BELOW_HIGH)):
            return False
    return True


@kernel
def next_in_range(code, level):
    """The next row between the bounds: first the sorted rows, then the newer ones; -1 at the end."""
    relation, index = load64(code, level + REL), load64(code, level + INDEX)
    at, covered = load64(code, level + CURSOR), load64(index, COVERED)
    if at < covered:
        if at < load64(code, level + END):
            store64(code, level + CURSOR, at + 1)
            return load64(load64(index, ORDER_AT), at)
        at = covered
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    first, end, last = load64(code, level + KEY_FROM), load64(code, level + KEY_TO), load64(code, level + AT)
    while at < last:
        row = at
        at += 1
        begins = row * stride
        if agrees(code, cells, begins, wide, first, end) and _is_within(code, level, cells, begins, wide):
            store64(code, level + CURSOR, at)
            return row
    store64(code, level + CURSOR, at)
    return -1
