"""Access to the rank and the count of a row in the support array of a table."""

from __future__ import annotations

from tidelog.engine.local.kernels.jit import njit
from tidelog.engine.local.kernels.layout import SUPPORT_COUNT, SUPPORT_RANK, SUPPORT_WIDTH
from tidelog.engine.local.kernels.memory import load64, store64

__all__ = ["count_of", "rank_of", "set_count", "set_rank"]


@njit(inline="always")
def rank_of(support, row):  # type: ignore[no-untyped-def]
    return load64(support, SUPPORT_WIDTH * row + SUPPORT_RANK)


@njit(inline="always")
def count_of(support, row):  # type: ignore[no-untyped-def]
    return load64(support, SUPPORT_WIDTH * row + SUPPORT_COUNT)


@njit(inline="always")
def set_rank(support, row, rank):  # type: ignore[no-untyped-def]
    store64(support, SUPPORT_WIDTH * row + SUPPORT_RANK, rank)


@njit(inline="always")
def set_count(support, row, count):  # type: ignore[no-untyped-def]
    store64(support, SUPPORT_WIDTH * row + SUPPORT_COUNT, count)
