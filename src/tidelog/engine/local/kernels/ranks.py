"""Access to the rank and the count of a row in the support array of a table."""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import inlined
from tidelog.engine.local.kernels.layout import SUPPORT_COUNT, SUPPORT_RANK, SUPPORT_WIDTH
from tidelog.engine.local.kernels.memory import load64, store64

__all__ = ["count_of", "larger", "rank_of", "set_count", "set_rank"]


@inlined
def rank_of(support, row):
    return load64(support, SUPPORT_WIDTH * row + SUPPORT_RANK)


@inlined
def count_of(support, row):
    return load64(support, SUPPORT_WIDTH * row + SUPPORT_COUNT)


@inlined
def set_rank(support, row, rank):
    store64(support, SUPPORT_WIDTH * row + SUPPORT_RANK, rank)


@inlined
def set_count(support, row, count):
    store64(support, SUPPORT_WIDTH * row + SUPPORT_COUNT, count)


@inlined
def larger(rank, other):
    return rank if rank > other else other
