"""Kernels on indexes: adding rows to chains, merging sorted rows, looking up keys."""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.compiled import exported
from tidelog.engine.local.kernels.layout import (
    ARITY,
    COLUMNS,
    COLUMNS_FROM,
    COVERED,
    DATA_AT,
    FOLLOWING_AT,
    HEADS_AT,
    HEADS_MASK,
    ORDER_AT,
    ROWS,
)
from tidelog.engine.local.kernels.memory import load32, load64, store32, store64
from tidelog.engine.local.kernels.rows import SEED, mix

__all__ = ["collect", "cover", "merge"]


@exported
def cover(index, relation):
    """Add new rows to the front of the chains of an index; false if the index is too small."""
    first, last, mask = load64(index, COVERED), load64(relation, ROWS), load64(index, HEADS_MASK)
    if first == last:
        return True
    if last > mask + 1:
        return False
    data, arity, columns = load64(relation, DATA_AT), load64(relation, ARITY), load64(index, COLUMNS)
    heads, following = load64(index, HEADS_AT), load64(index, FOLLOWING_AT)
    for row in range(first, last):
        h = SEED
        for j in range(columns):
            h = mix(h, load64(data, row * arity + load64(index, COLUMNS_FROM + j)))
        at = np.int64(h & np.uint64(mask))
        store32(following, row, load32(heads, at))
        store32(heads, at, row)
    store64(index, COVERED, last)
    return True


@exported
def merge(relation, index, fresh, size, merged):
    """Merge the sorted rows of an index with `size` new sorted rows."""
    data, arity, order = load64(relation, DATA_AT), load64(relation, ARITY), load64(index, ORDER_AT)
    covered, columns = load64(index, COVERED), load64(index, COLUMNS)
    i = j = 0
    while i < covered or j < size:
        is_first = j >= size
        if not is_first and i < covered:
            is_first = True
            for c in range(columns):
                column = load64(index, COLUMNS_FROM + c)
                x = load64(data, load64(order, i) * arity + column)
                y = load64(data, load64(fresh, j) * arity + column)
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
    data, arity, columns = load64(relation, DATA_AT), load64(relation, ARITY), load64(index, COLUMNS)
    heads, following, mask = load64(index, HEADS_AT), load64(index, FOLLOWING_AT), load64(index, HEADS_MASK)
    total = 0
    for i in range(count):
        h = SEED
        for j in range(columns):
            h = mix(h, load64(keys, i * columns + j))
        row = load32(heads, np.int64(h & np.uint64(mask)))
        while row >= 0:
            same = True
            for j in range(columns):
                column = load64(index, COLUMNS_FROM + j)
                if load64(data, row * arity + column) != load64(keys, i * columns + j):
                    same = False
                    break
            if same:
                if total < capacity:
                    store64(found, total, i)
                    store64(found, capacity + total, row)
                total += 1
            row = load32(following, row)
    return total
