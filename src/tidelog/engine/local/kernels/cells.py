"""Access to the rows of a table: their codes, ranks and counts.

A row consists of cells: a code for each column, then its rank and its count. All cells of a table have 32
bits while everything in them fits, otherwise 64.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.layout import ARITY, CELLS_AT, DONE, INSTANCE, STRIDE, WIDE, WIDEN
from tidelog.engine.local.kernels.memory import (
    add32,
    add64,
    load32,
    load64,
    set_bits32,
    set_bits64,
    store32,
    store64,
)

__all__ = [
    "add_to_count",
    "cell",
    "count_of",
    "count_one",
    "fits",
    "holds",
    "larger",
    "mark_count",
    "rank_of",
    "set_cell",
    "set_count",
    "set_rank",
]


@inlined
def cell(cells, at, wide):
    return load64(cells, at) if wide else load32(cells, at)


@inlined
def set_cell(cells, at, wide, value):
    if wide:
        store64(cells, at, value)
    else:
        store32(cells, at, value)


@inlined
def fits(value):
    """Whether a value fits into 32 bits."""
    return value >= -2147483648 and value <= 2147483647


@inlined
def rank_of(relation, row):
    at = load64(relation, STRIDE) * row + load64(relation, ARITY)
    return cell(load64(relation, CELLS_AT), at, load64(relation, WIDE))


@inlined
def count_of(relation, row):
    at = load64(relation, STRIDE) * row + load64(relation, ARITY) + 1
    return cell(load64(relation, CELLS_AT), at, load64(relation, WIDE))


@inlined
def set_rank(relation, row, rank):
    at = load64(relation, STRIDE) * row + load64(relation, ARITY)
    set_cell(load64(relation, CELLS_AT), at, load64(relation, WIDE), rank)


@inlined
def set_count(relation, row, count):
    at = load64(relation, STRIDE) * row + load64(relation, ARITY) + 1
    set_cell(load64(relation, CELLS_AT), at, load64(relation, WIDE), count)


@inlined
def add_to_count(relation, row, number):
    """Add to a count that other threads may change, too."""
    cells, at = load64(relation, CELLS_AT), load64(relation, STRIDE) * row + load64(relation, ARITY) + 1
    if load64(relation, WIDE):
        add64(cells, at, number)
    else:
        add32(cells, at, number)


@inlined
def mark_count(relation, row, bits):
    """Set bits of a count that other threads may change, too."""
    cells, at = load64(relation, CELLS_AT), load64(relation, STRIDE) * row + load64(relation, ARITY) + 1
    if load64(relation, WIDE):
        set_bits64(cells, at, bits)
    else:
        set_bits32(cells, at, bits)


@inlined
def larger(rank, other):
    return rank if rank > other else other


@inlined
def holds(relation, value):
    """Whether a cell can hold a value."""
    return load64(relation, WIDE) != 0 or fits(value)


@kernel
def count_one(relation, row):
    """Count one more instance of a row."""
    count = count_of(relation, row) + INSTANCE
    if not holds(relation, count):
        return WIDEN
    set_count(relation, row, count)
    return DONE
