"""Kernels on tables: finding, adding and asserting rows.

Rows of relations are numbered; a number identifies a tuple until the table is compacted.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.layout import (
    ARITY,
    CAP,
    DATA_AT,
    GIVEN_AT,
    HASH_AT,
    HASH_MASK,
    ROWS,
    SUPPORT_AT,
    TAG_AT,
)
from tidelog.engine.local.kernels.memory import load8, load32, load64, store8, store32, store64
from tidelog.engine.local.kernels.ranks import set_count, set_rank

__all__ = [
    "SEED",
    "add_rows",
    "append",
    "assert_rows",
    "find",
    "find_rows",
    "is_full",
    "mix",
    "rehash",
    "retract_rows",
]

SEED = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SPREAD = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_GOING = 2  # marks an asserted fact that is being retracted


@inlined
def mix(h, v):
    h ^= np.uint64(v) * _SPREAD
    h ^= h >> _HALF
    h *= _MIX
    return h ^ (h >> _HALF)


@kernel
def _find_pair(relation, x, y):
    mask, table, data = load64(relation, HASH_MASK), load64(relation, HASH_AT), load64(relation, DATA_AT)
    at = np.int64(mix(mix(SEED, x), y) & np.uint64(mask))
    while True:
        row = load32(table, at)
        if row < 0:
            return -1 - at
        if load64(data, 2 * row) == x and load64(data, 2 * row + 1) == y:
            return row
        at = (at + 1) & mask


@kernel
def find(relation, values):
    """The row with these values, dead or alive, or -1 minus the free slot of the hash table."""
    arity = load64(relation, ARITY)
    if arity == 2:
        return _find_pair(relation, load64(values, 0), load64(values, 1))
    h = SEED
    for c in range(arity):
        h = mix(h, load64(values, c))
    mask, table, data = load64(relation, HASH_MASK), load64(relation, HASH_AT), load64(relation, DATA_AT)
    at = np.int64(h & np.uint64(mask))
    while True:
        row = load32(table, at)
        if row < 0:
            return -1 - at
        same = True
        for c in range(arity):
            if load64(data, row * arity + c) != load64(values, c):
                same = False
                break
        if same:
            return row
        at = (at + 1) & mask


@kernel
def append(relation, values, place, tag, rank, count):
    """Add a row with these values at the free slot that `find` returned."""
    row = load64(relation, ROWS)
    data, arity, support = load64(relation, DATA_AT), load64(relation, ARITY), load64(relation, SUPPORT_AT)
    for c in range(arity):
        store64(data, row * arity + c, load64(values, c))
    store32(load64(relation, HASH_AT), -1 - place, row)
    store8(load64(relation, TAG_AT), row, tag)
    set_rank(support, row, rank)
    set_count(support, row, count)
    store64(relation, ROWS, row + 1)
    return row


@kernel
def is_full(relation):
    rows = load64(relation, ROWS)
    return rows >= load64(relation, CAP) or 2 * (rows + 1) > load64(relation, HASH_MASK)


@exported
def add_rows(relation, data_at, count, rows):
    """Find the row of each tuple of an array; missing tuples are added as dead rows. There must be room."""
    arity = load64(relation, ARITY)
    for i in range(count):
        values = data_at + 8 * i * arity
        row = find(relation, values)
        store64(rows, i, row if row >= 0 else append(relation, values, row, 0, 0, 0))
    return 0


@exported
def find_rows(relation, data_at, count, rows):
    """Find the row of each tuple of an array; negative for missing tuples."""
    arity = load64(relation, ARITY)
    for i in range(count):
        store64(rows, i, find(relation, data_at + 8 * i * arity))
    return 0


@exported
def retract_rows(relation, data_at, count, gone):
    """Mark the asserted tuples of an array as being retracted; returns how many rows `gone` lists."""
    arity, given = load64(relation, ARITY), load64(relation, GIVEN_AT)
    found = 0
    for i in range(count):
        row = find(relation, data_at + 8 * i * arity)
        if row >= 0 and load8(given, row) == 1:
            store8(given, row, _GOING)
            store64(gone, found, row)
            found += 1
    return found


@exported
def assert_rows(relation, data_at, count, new):
    """Assert the tuples of an array, adding missing rows; returns how many rows `new` lists."""
    arity, given = load64(relation, ARITY), load64(relation, GIVEN_AT)
    found = 0
    for i in range(count):
        values = data_at + 8 * i * arity
        row = find(relation, values)
        if row < 0:
            row = append(relation, values, row, 0, 0, 0)
        if load8(given, row) == 0:
            store8(given, row, 1)
            store64(new, found, row)
            found += 1
    return found


@exported
def rehash(relation):
    """Fill an empty hash table with all rows."""
    data, mask, arity, table = (
        load64(relation, DATA_AT),
        load64(relation, HASH_MASK),
        load64(relation, ARITY),
        load64(relation, HASH_AT),
    )
    for row in range(load64(relation, ROWS)):
        h = SEED
        for c in range(arity):
            h = mix(h, load64(data, row * arity + c))
        at = np.int64(h & np.uint64(mask))
        while load32(table, at) >= 0:
            at = (at + 1) & mask
        store32(table, at, row)
    return 0
