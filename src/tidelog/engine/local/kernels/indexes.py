"""Kernels on indexes: adding rows to chains, merging sorted rows, looking up keys."""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import cell
from tidelog.engine.local.kernels.compiled import exported, kernel
from tidelog.engine.local.kernels.layout import (
    CELLS_AT,
    COLUMNS,
    COLUMNS_FROM,
    COVERED,
    FOLLOWING_AT,
    HEADS,
    HEADS_AT,
    ORDER_AT,
    ROWS,
    STRIDE,
    WIDE,
)
from tidelog.engine.local.kernels.memory import load32, load64, prefetch, store32, store64
from tidelog.engine.local.kernels.rows import SEED, mix, place, upper

__all__ = ["collect", "cover", "merge"]

_AHEAD = 12  # rows between beginning to load a chain and adding to it


@kernel
def _chain_of(index, relation, row):
    """The number of the chain that a row belongs to."""
    cells, wide = load64(relation, CELLS_AT), load64(relation, WIDE)
    at = row * load64(relation, STRIDE)
    h = SEED
    for j in range(load64(index, COLUMNS)):
        h = mix(h, cell(cells, at + load64(index, COLUMNS_FROM + j), wide))
    return place(upper(h), load64(index, HEADS))


@exported
def cover(index, relation):
    """Add new rows to the front of the chains of an index; false if the index is too small."""
    first, last, size = load64(index, COVERED), load64(relation, ROWS), load64(index, HEADS)
    if first == last:
        return True
    if 2 * last > 3 * size:
        return False
    heads, following = load64(index, HEADS_AT), load64(index, FOLLOWING_AT)
    for row in range(first, last):
        if row + _AHEAD < last:
            prefetch(heads, 4 * _chain_of(index, relation, row + _AHEAD))
        at = _chain_of(index, relation, row)
        store32(following, row, load32(heads, at))
        store32(heads, at, row)
    store64(index, COVERED, last)
    return True


@exported
def merge(relation, index, fresh, size, merged):
    """Merge the sorted rows of an index with `size` new sorted rows."""
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    order, covered, columns = load64(index, ORDER_AT), load64(index, COVERED), load64(index, COLUMNS)
    i = j = 0
    while i < covered or j < size:
        is_first = j >= size
        if not is_first and i < covered:
            is_first = True
            for c in range(columns):
                column = load64(index, COLUMNS_FROM + c)
                x = cell(cells, load64(order, i) * stride + column, wide)
                y = cell(cells, load64(fresh, j) * stride + column, wide)
                if x != y:
                    is_first = x < y
                    break
        if is_first:
            store64(merged, i + j, load64(order, i))
            i += 1
        else:
            store64(merged, i + j, load64(fresh, j))
            j += 1
    return 0


@exported
def collect(relation, index, keys, count, found, capacity):
    """Write the matching pairs of key and row to `found`, as far as they fit; returns their total number.

    `found` has the numbers of keys, then, from `capacity` on, the rows.
    """
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    heads, following, columns = load64(index, HEADS_AT), load64(index, FOLLOWING_AT), load64(index, COLUMNS)
    size = load64(index, HEADS)
    total = 0
    for i in range(count):
        h = SEED
        for j in range(columns):
            h = mix(h, load64(keys, i * columns + j))
        row = load32(heads, place(upper(h), size))
        while row >= 0:
            same = True
            for j in range(columns):
                column = load64(index, COLUMNS_FROM + j)
                if cell(cells, row * stride + column, wide) != load64(keys, i * columns + j):
                    same = False
                    break
            if same:
                if total < capacity:
                    store64(found, total, i)
                    store64(found, capacity + total, row)
                total += 1
            row = load32(following, row)
    return total
