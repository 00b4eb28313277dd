"""Kernels on tables: finding, adding and indexing rows.

A relation is a row of the descriptor matrix `R` (see `Table.describe`): addresses and sizes, laid out by the
constants below. Rows of relations are numbered; a number names a tuple until the table is compacted.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.engine.local.memory import load32, load64, store8, store32, store64

__all__ = [
    "ALIVE",
    "ARITY",
    "BASE",
    "CAP",
    "CUR",
    "DATA_AT",
    "HASH_AT",
    "HASH_MASK",
    "LOGGED",
    "NEXT",
    "OLD",
    "ROWS",
    "SEED",
    "SUPPORT_AT",
    "TAG_AT",
    "add_rows",
    "append",
    "find",
    "find_rows",
    "index_rows",
    "is_full",
    "mix",
    "rehash",
]

# a row's tag
ALIVE, OLD, CUR, NEXT, LOGGED = 1, 2, 4, 8, 16

# R: a relation
DATA_AT, CAP, ROWS, TAG_AT, SUPPORT_AT, HASH_AT, HASH_MASK, ARITY, BASE = range(9)

SEED = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SPREAD = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)


@njit(inline="always")
def mix(h, v):  # type: ignore[no-untyped-def]
    h ^= np.uint64(v) * _SPREAD
    h ^= h >> _HALF
    h *= _MIX
    return h ^ (h >> _HALF)


@njit(cache=True, nogil=True)
def find(R, r, t):  # type: ignore[no-untyped-def]
    """The row of relation r that equals t, whatever its tag, or -1 minus its free place in the table."""
    arity = R[r, ARITY]
    h = SEED
    for c in range(arity):
        h = mix(h, t[c])
    mask = R[r, HASH_MASK]
    at = np.int64(h & np.uint64(mask))
    table, data = R[r, HASH_AT], R[r, DATA_AT]
    while True:
        row = load32(table, at)
        if row < 0:
            return -1 - at
        same = True
        for c in range(arity):
            if load64(data, row * arity + c) != t[c]:
                same = False
                break
        if same:
            return row
        at = (at + 1) & mask


@njit(cache=True, nogil=True)
def append(R, r, t, place):  # type: ignore[no-untyped-def]
    """A new row with these values at the free place that `find` told; its tag is 0."""
    row = R[r, ROWS]
    data, arity = R[r, DATA_AT], R[r, ARITY]
    for c in range(arity):
        store64(data, row * arity + c, t[c])
    store32(R[r, HASH_AT], -1 - place, row)
    store8(R[r, TAG_AT], row, 0)
    store64(R[r, SUPPORT_AT], row, 0)
    R[r, ROWS] = row + 1
    return row


@njit(cache=True, nogil=True)
def is_full(R, r):  # type: ignore[no-untyped-def]
    return R[r, ROWS] >= R[r, CAP] or 2 * (R[r, ROWS] + 1) > R[r, HASH_MASK]


@njit(cache=True, nogil=True)
def add_rows(R, data, rows):  # type: ignore[no-untyped-def]
    """The row of each row of `data` in relation 0, added where it is not there; room has been made."""
    arity = R[0, ARITY]
    t = np.empty(max(arity, 1), np.int64)
    for i in range(rows.size):
        for c in range(arity):
            t[c] = data[i, c]
        row = find(R, 0, t)
        rows[i] = row if row >= 0 else append(R, 0, t, row)


@njit(cache=True, nogil=True)
def find_rows(R, data, rows):  # type: ignore[no-untyped-def]
    """The row of each row of `data` in relation 0, negative where it is not there."""
    arity = R[0, ARITY]
    t = np.empty(max(arity, 1), np.int64)
    for i in range(rows.size):
        for c in range(arity):
            t[c] = data[i, c]
        rows[i] = find(R, 0, t)


@njit(cache=True, nogil=True)
def rehash(R):  # type: ignore[no-untyped-def]
    """Fill an empty hash table of relation 0 with all its rows."""
    data, mask, arity = R[0, DATA_AT], R[0, HASH_MASK], R[0, ARITY]
    for row in range(R[0, ROWS]):
        h = SEED
        for c in range(arity):
            h = mix(h, load64(data, row * arity + c))
        at = np.int64(h & np.uint64(mask))
        while load32(R[0, HASH_AT], at) >= 0:
            at = (at + 1) & mask
        store32(R[0, HASH_AT], at, row)


@njit(cache=True, nogil=True)
def index_rows(data_at, arity, columns, heads, following, first, last):  # type: ignore[no-untyped-def]
    """Put rows into the chains of an index, each in front of its bucket."""
    mask = np.uint64(heads.size - 1)
    for row in range(first, last):
        h = SEED
        for j in range(columns.size):
            h = mix(h, load64(data_at, row * arity + columns[j]))
        at = h & mask
        following[row] = heads[at]
        heads[at] = row
