"""Access to the rows of a table: their codes, ranks and counts.

A row consists of cells: a code for each column, then its rank and its count. All cells of a table have 32
bits while everything in them fits, otherwise 64.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import inlined
from tidelog.engine.local.kernels.layout import ARITY, CELLS_AT, STRIDE, WIDE
from tidelog.engine.local.kernels.memory import load32, load64, store32, store64

__all__ = ["cell", "count_of", "fits", "larger", "rank_of", "set_cell", "set_count", "set_rank"]


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
def larger(rank, other):
    return rank if rank > other else other
