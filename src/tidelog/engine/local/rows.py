"""Kernels on tables: finding, adding, asserting and indexing rows.

A relation is known to kernels by the address of its description (see `Table`), an index by the address of its
own: a few words each, laid out by the constants below, which hold addresses and sizes in turn. They stay
where they are while the arrays behind them grow, so whoever knows a description knows the table for good.

Rows of relations are numbered; a number names a tuple until the table is compacted.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.compiled import njit
from tidelog.engine.local.memory import load8, load32, load64, store8, store32, store64

__all__ = [
    "ALIVE",
    "ARITY",
    "BASE",
    "CAP",
    "COLUMNS",
    "COLUMNS_FROM",
    "COVERED",
    "CUR",
    "DATA_AT",
    "DELTA_FROM",
    "DELTA_TO",
    "FOLLOWING_AT",
    "GIVEN_AT",
    "HASH_AT",
    "HASH_MASK",
    "HEADS_AT",
    "HEADS_MASK",
    "LISTED",
    "LIST_AT",
    "LIST_CAP",
    "LOGGED",
    "NEXT",
    "NOTES",
    "NOTES_AT",
    "NOTES_CAP",
    "OLD",
    "ORDER_AT",
    "ROWS",
    "SEED",
    "SUPPORT_AT",
    "TABLE_WIDTH",
    "TAG_AT",
    "TRACE_AT",
    "add_rows",
    "append",
    "assert_rows",
    "cover",
    "find",
    "find_rows",
    "is_full",
    "mix",
    "rehash",
    "retract_rows",
]

# a row's tag
ALIVE, OLD, CUR, NEXT, LOGGED = 1, 2, 4, 8, 16

# a relation: its arrays, and in a commit the rows listed so far, of which some are the delta, and the notes;
# the description of its trace, if it has one
DATA_AT, CAP, ROWS, TAG_AT, SUPPORT_AT, HASH_AT, HASH_MASK, ARITY, BASE, GIVEN_AT = range(10)
LIST_AT, LIST_CAP, LISTED, DELTA_FROM, DELTA_TO, NOTES_AT, NOTES_CAP, NOTES, TRACE_AT, TABLE_WIDTH = range(
    10, 20
)

# an index: chains by hash, or rows in order; then its columns
HEADS_AT, HEADS_MASK, FOLLOWING_AT, COVERED, ORDER_AT, COLUMNS, COLUMNS_FROM = range(7)

SEED = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SPREAD = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_GOING = 2  # the mark of an asserted fact that is being retracted


@njit(inline="always")
def mix(h, v):  # type: ignore[no-untyped-def]
    h ^= np.uint64(v) * _SPREAD
    h ^= h >> _HALF
    h *= _MIX
    return h ^ (h >> _HALF)


@njit(cache=True, nogil=True)
def _find_pair(relation, x, y):  # type: ignore[no-untyped-def]
    mask, table, data = load64(relation, HASH_MASK), load64(relation, HASH_AT), load64(relation, DATA_AT)
    at = np.int64(mix(mix(SEED, x), y) & np.uint64(mask))
    while True:
        row = load32(table, at)
        if row < 0:
            return -1 - at
        if load64(data, 2 * row) == x and load64(data, 2 * row + 1) == y:
            return row
        at = (at + 1) & mask


@njit(cache=True, nogil=True)
def find(relation, values):  # type: ignore[no-untyped-def]
    """The row that has the values at values, whatever its tag, or -1 minus its free place in the table."""
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


@njit(cache=True, nogil=True)
def append(relation, values, place, tag, rank, count):  # type: ignore[no-untyped-def]
    """A new row with these values at the free place that `find` told."""
    row = load64(relation, ROWS)
    data, arity, support = load64(relation, DATA_AT), load64(relation, ARITY), load64(relation, SUPPORT_AT)
    for c in range(arity):
        store64(data, row * arity + c, load64(values, c))
    store32(load64(relation, HASH_AT), -1 - place, row)
    store8(load64(relation, TAG_AT), row, tag)
    store64(support, 2 * row, rank)
    store64(support, 2 * row + 1, count)
    store64(relation, ROWS, row + 1)
    return row


@njit(cache=True, nogil=True)
def is_full(relation):  # type: ignore[no-untyped-def]
    rows = load64(relation, ROWS)
    return rows >= load64(relation, CAP) or 2 * (rows + 1) > load64(relation, HASH_MASK)


@njit(cache=True, nogil=True)
def add_rows(relation, data_at, count, rows):  # type: ignore[no-untyped-def]
    """The row of each tuple of an array, added dead where it is not there; room has been made."""
    arity = load64(relation, ARITY)
    for i in range(count):
        values = data_at + 8 * i * arity
        row = find(relation, values)
        rows[i] = row if row >= 0 else append(relation, values, row, 0, 0, 0)


@njit(cache=True, nogil=True)
def find_rows(relation, data_at, count, rows):  # type: ignore[no-untyped-def]
    """The row of each tuple of an array, negative where it is not there."""
    arity = load64(relation, ARITY)
    for i in range(count):
        rows[i] = find(relation, data_at + 8 * i * arity)


@njit(cache=True, nogil=True)
def retract_rows(relation, data_at, count, gone):  # type: ignore[no-untyped-def]
    """Mark the asserted tuples of an array as going; how many rows were listed in `gone`."""
    arity, given = load64(relation, ARITY), load64(relation, GIVEN_AT)
    found = 0
    for i in range(count):
        row = find(relation, data_at + 8 * i * arity)
        if row >= 0 and load8(given, row) == 1:
            store8(given, row, _GOING)
            gone[found] = row
            found += 1
    return found


@njit(cache=True, nogil=True)
def assert_rows(relation, data_at, count, new):  # type: ignore[no-untyped-def]
    """Assert the tuples of an array, adding what is not there; how many rows were listed in `new`."""
    arity, given = load64(relation, ARITY), load64(relation, GIVEN_AT)
    found = 0
    for i in range(count):
        values = data_at + 8 * i * arity
        row = find(relation, values)
        if row < 0:
            row = append(relation, values, row, 0, 0, 0)
        if load8(given, row) == 0:
            store8(given, row, 1)
            new[found] = row
            found += 1
    return found


@njit(cache=True, nogil=True)
def rehash(relation):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def cover(index, relation):  # type: ignore[no-untyped-def]
    """Put the rows that came since into the chains of an index, each in front; false if it is too small."""
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
