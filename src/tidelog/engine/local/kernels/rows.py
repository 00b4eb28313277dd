"""Kernels on the rows of a table: finding, adding, asserting and retracting tuples.

The hash table has a word for each slot: 1 more than a row in the lower half, and half of the tuple's hash in
the upper half; 0 is an empty slot. A slot's position follows from that half, in the same order. So a tuple is
compared only with rows that have its hash, and a larger table is filled from the smaller one in one sweep.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.cells import cell, fits, set_cell
from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.layout import (
    ARITY,
    CAP,
    CELLS_AT,
    GIVEN_AT,
    ROWS,
    SLOTS,
    SLOTS_AT,
    STRIDE,
    TAG_AT,
    WIDE,
)
from tidelog.engine.local.kernels.memory import load8, load64, prefetch, store8, store64

__all__ = [
    "CACHED",
    "SEED",
    "add_rows",
    "all_fit",
    "append",
    "append_unslotted",
    "assert_rows",
    "copy_codes",
    "enlarge",
    "fetch_cells",
    "fetch_row",
    "fetch_slot",
    "find",
    "find_rows",
    "hash_of",
    "is_full",
    "mix",
    "place",
    "put_slot",
    "retract_rows",
    "slot_rows",
    "spread",
    "upper",
]

SEED = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SPREAD = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_LOWER = 0xFFFFFFFF
_GOING = 2  # marks an asserted fact that is being retracted


@inlined
def mix(h, v):
    h ^= np.uint64(v) * _SPREAD
    h ^= h >> _HALF
    h *= _MIX
    return h ^ (h >> _HALF)


@inlined
def upper(h):
    """The upper half of a hash."""
    return np.int64(h >> _HALF)


@inlined
def place(half, size):
    """The position of half a hash in a table of this size."""
    return np.int64((np.uint64(half) * np.uint64(size)) >> _HALF)


@kernel
def hash_of(values, arity):
    """Half the hash of a tuple."""
    h = SEED
    for c in range(arity):
        h = mix(h, load64(values, c))
    return upper(h)


@kernel
def find(relation, values, half):
    """The row with these values, dead or alive, or -1 minus the free slot; `half` is half their hash."""
    size, slots, cells = load64(relation, SLOTS), load64(relation, SLOTS_AT), load64(relation, CELLS_AT)
    arity, stride, wide = load64(relation, ARITY), load64(relation, STRIDE), load64(relation, WIDE)
    at = place(half, size)
    while True:
        slot = load64(slots, at)
        if slot == 0:
            return -1 - at
        if (slot >> 32) & _LOWER == half:
            row = (slot & _LOWER) - 1
            same = True
            for c in range(arity):
                if cell(cells, row * stride + c, wide) != load64(values, c):
                    same = False
                    break
            if same:
                return row
        at += 1
        if at == size:
            at = 0


@inlined
def fetch_slot(relation, half):
    """Begin to load the slot where a tuple would be."""
    prefetch(load64(relation, SLOTS_AT), 8 * place(half, load64(relation, SLOTS)))


@inlined
def fetch_cells(relation, row):
    """Begin to load a row."""
    prefetch(load64(relation, CELLS_AT), (row * load64(relation, STRIDE)) << (2 + load64(relation, WIDE)))
    prefetch(load64(relation, TAG_AT), row)


@inlined
def fetch_row(relation, half):
    """Begin to load the row at the slot where a tuple would be."""
    slot = load64(load64(relation, SLOTS_AT), place(half, load64(relation, SLOTS)))
    if slot:
        fetch_cells(relation, (slot & _LOWER) - 1)


@kernel
def append(relation, values, half, free, tag, rank, count):
    """Add a row with these values, at the free slot that `find` returned; -1 if it does not fit.

    A new row has small ranks and counts.
    """
    row = append_unslotted(relation, values, tag, rank, count)
    if row >= 0:
        store64(load64(relation, SLOTS_AT), -1 - free, (half << 32) | (row + 1))
    return row


@kernel
def append_unslotted(relation, values, tag, rank, count):
    """Add a row with these values that `find` does not find until `slot_rows` is called."""
    row = load64(relation, ROWS)
    cells, arity, wide = load64(relation, CELLS_AT), load64(relation, ARITY), load64(relation, WIDE)
    if not wide:
        for c in range(arity):
            if not fits(load64(values, c)):
                return -1
        if not fits(rank):
            return -1
    at = row * load64(relation, STRIDE)
    for c in range(arity):
        set_cell(cells, at + c, wide, load64(values, c))
    set_cell(cells, at + arity, wide, rank)
    set_cell(cells, at + arity + 1, wide, count)
    store8(load64(relation, TAG_AT), row, tag)
    store64(relation, ROWS, row + 1)
    return row


@kernel
def is_full(relation):
    rows = load64(relation, ROWS)
    return rows >= load64(relation, CAP) or 4 * (rows + 1) > 3 * load64(relation, SLOTS)


# -- many at once

_BLOCK = 32  # tuples whose slots and rows are loaded together
CACHED = 1 << 14  # up to so many rows are in the cache anyway


@kernel
def _begin_block(relation, data_at, count, halves, i):
    """Hash a block of tuples if it begins here, and begin to load what the search for them needs."""
    if i % _BLOCK:
        return 0
    arity = load64(relation, ARITY)
    last = i + _BLOCK if i + _BLOCK < count else count
    for j in range(i, last):
        half = hash_of(data_at + 8 * j * arity, arity)
        store64(halves, j, half)
        fetch_slot(relation, half)
    if load64(relation, ROWS) > CACHED:
        for j in range(i, last):
            fetch_row(relation, load64(halves, j))
    return 0


@exported
def all_fit(data_at, count):
    """Whether all these numbers fit into 32 bits."""
    for i in range(count):
        if not fits(load64(data_at, i)):
            return 0
    return 1


@exported
def add_rows(relation, data_at, count, rows):
    """Find the row of each tuple of an array; missing tuples are added as dead rows. There must be room.

    As in the following kernels, the array for the results holds the hashes of a block until they are used.
    """
    arity = load64(relation, ARITY)
    for i in range(count):
        _begin_block(relation, data_at, count, rows, i)
        values, half = data_at + 8 * i * arity, load64(rows, i)
        row = find(relation, values, half)
        store64(rows, i, row if row >= 0 else append(relation, values, half, row, 0, 0, 0))
    return 0


@exported
def find_rows(relation, data_at, count, rows):
    """Find the row of each tuple of an array; negative for missing tuples."""
    arity = load64(relation, ARITY)
    for i in range(count):
        _begin_block(relation, data_at, count, rows, i)
        store64(rows, i, find(relation, data_at + 8 * i * arity, load64(rows, i)))
    return 0


@exported
def retract_rows(relation, data_at, count, gone):
    """Mark the asserted tuples of an array as being retracted; returns how many rows `gone` lists."""
    arity, given = load64(relation, ARITY), load64(relation, GIVEN_AT)
    found = 0
    for i in range(count):
        _begin_block(relation, data_at, count, gone, i)
        row = find(relation, data_at + 8 * i * arity, load64(gone, i))
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
        _begin_block(relation, data_at, count, new, i)
        values, half = data_at + 8 * i * arity, load64(new, i)
        row = find(relation, values, half)
        if row < 0:
            row = append(relation, values, half, row, 0, 0, 0)
        if load8(given, row) == 0:
            store8(given, row, 1)
            store64(new, found, row)
            found += 1
    return found


@exported
def copy_codes(cells, stride, wide, arity, rows, count, out):
    """Copy the codes of these rows, or of the first ones if `rows` is 0."""
    for i in range(count):
        at = (load64(rows, i) if rows else i) * stride
        for c in range(arity):
            store64(out, i * arity + c, cell(cells, at + c, wide))
    return 0


@inlined
def put_slot(slots, size, slot):
    """Put a slot into a hash table; returns its position."""
    at = place((slot >> 32) & _LOWER, size)
    while load64(slots, at):
        at += 1
        if at == size:
            at = 0
    store64(slots, at, slot)
    return at


@exported
def enlarge(slots, larger, smaller, size):
    """Fill an empty hash table with `larger` slots from a smaller one with `size` slots."""
    for i in range(size):
        slot = load64(smaller, i)
        if slot:
            put_slot(slots, larger, slot)
    return 0


@exported
def spread(slots, larger, size, aside):
    """Enlarge a hash table in place, from `size` slots to `larger`; what is behind it must be free.

    The slots are moved from the last one on. Most of them move up, where none is left to be moved. The others
    are put aside, where there is room for all, and follow at the end. So do those for which there is no place
    before the end of the table.
    """
    waiting = 0
    for i in range(size - 1, -1, -1):
        slot = load64(slots, i)
        if slot == 0:
            continue
        store64(slots, i, 0)
        at = place((slot >> 32) & _LOWER, larger)
        if at > i:
            while at < larger and load64(slots, at):
                at += 1
        if i < at and at < larger:
            store64(slots, at, slot)
        else:
            store64(aside, waiting, slot)
            waiting += 1
    for i in range(waiting):
        put_slot(slots, larger, load64(aside, i))
    return 0


@kernel
def _half_of_tuple(relation, row):
    """Half the hash of the tuple of a row."""
    cells, at, wide = load64(relation, CELLS_AT), row * load64(relation, STRIDE), load64(relation, WIDE)
    h = SEED
    for c in range(load64(relation, ARITY)):
        h = mix(h, cell(cells, at + c, wide))
    return upper(h)


@exported
def slot_rows(relation, first):
    """Put the rows from a number on into the hash table. There must be room."""
    slots, size, rows = load64(relation, SLOTS_AT), load64(relation, SLOTS), load64(relation, ROWS)
    for row in range(first, rows):
        if row + _BLOCK < rows:
            prefetch(slots, 8 * place(_half_of_tuple(relation, row + _BLOCK), size))
        put_slot(slots, size, (_half_of_tuple(relation, row) << 32) | (row + 1))
    return 0
