"""Kernels on indexes: adding rows to chains, merging sorted rows, looking up keys."""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.jit import njit
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


@njit(cache=True, nogil=True)
def cover(index, relation):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def merge(relation, index, fresh, merged):  # type: ignore[no-untyped-def]
    """Merge the sorted rows of an index with new sorted rows."""
    data, arity, order = load64(relation, DATA_AT), load64(relation, ARITY), load64(index, ORDER_AT)
    covered, columns = load64(index, COVERED), load64(index, COLUMNS)
    i = j = 0
    while i < covered or j < fresh.size:
        is_first = j >= fresh.size
        if not is_first and i < covered:
            is_first = True
            for c in range(columns):
                column = load64(index, COLUMNS_FROM + c)
                x = load64(data, load64(order, i) * arity + column)
                y = load64(data, fresh[j] * arity + column)
                if x != y:
                    is_first = x < y
                    break
        if is_first:
            merged[i + j] = load64(order, i)
            i += 1
        else:
            merged[i + j] = fresh[j]
            j += 1


@njit(cache=True, nogil=True)
def collect(data_at, arity, columns, heads, following, keys, found):  # type: ignore[no-untyped-def]
    """Write the matching pairs of key and row to `found`, as far as they fit; returns their total number."""
    mask = np.uint64(heads.size - 1)
    count = 0
    for i in range(keys.shape[0]):
        h = SEED
        for j in range(columns.size):
            h = mix(h, keys[i, j])
        row = np.int64(heads[h & mask])
        while row >= 0:
            same = True
            for j in range(columns.size):
                if load64(data_at, row * arity + columns[j]) != keys[i, j]:
                    same = False
                    break
            if same:
                if count < found.shape[1]:
                    found[0, count] = i
                    found[1, count] = row
                count += 1
            row = np.int64(following[row])
    return count
