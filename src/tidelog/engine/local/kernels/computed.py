"""Applies heads whose values were computed as columns.

New heads are inserted some at a time, so that their slots and rows are loaded together. Several threads first
write all heads down in the form of pending ones; then each inserts those of its share (`sharing`).
"""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.extrema import half_of_key
from tidelog.engine.local.kernels.inserting import insert_heads
from tidelog.engine.local.kernels.layout import (
    ARITY,
    BEST_AT,
    BEST_COLUMN,
    DONE,
    INSERT,
    MOST_PENDING,
    PENDING_HASH,
    PENDING_MORE,
    PENDING_RANK,
    PENDING_TIMES,
    REDERIVE,
    ROWS,
)
from tidelog.engine.local.kernels.memory import load64, store64
from tidelog.engine.local.kernels.rows import CACHED, fetch_row, fetch_slot, hash_of
from tidelog.engine.local.kernels.support import apply_head, rederive_row

__all__ = ["apply_heads", "write_heads"]


@inlined
def _write(heads, stride, i, arity, above, pending):
    """Write a head down as a pending one; returns half its hash."""
    values = pending + 8 * PENDING_MORE
    for c in range(arity):
        store64(values, c, load64(heads, c * stride + i))
    half = hash_of(values, arity)
    store64(pending, PENDING_HASH, half)
    store64(pending, PENDING_RANK, above)
    store64(pending, PENDING_TIMES, 1)
    return half


@exported
def write_heads(heads, stride, arity, highest, first, last, pending):
    """Write heads down as pending ones, each at the place of its number."""
    size = arity + PENDING_MORE
    for i in range(first, last):
        _write(heads, stride, i, arity, load64(highest, i), pending + 8 * size * i)
    return 0


@kernel
def _insert_some(relation, rank, heads, stride, highest, first, last, pending):
    """Insert heads, at most as many as are pending at once; returns the first that is left to do."""
    arity = load64(relation, ARITY)
    size = arity + PENDING_MORE
    for i in range(first, last):
        at = pending + 8 * size * (i - first)
        fetch_slot(relation, _write(heads, stride, i, arity, load64(highest, i), at))
    if load64(relation, ROWS) > CACHED:
        for i in range(last - first):
            fetch_row(relation, load64(pending, i * size + PENDING_HASH))
    return first + insert_heads(relation, pending, size, 0, last - first, rank)


@kernel
def _apply_one(relation, mode, rank, heads, stride, i, above, origin, pending):
    arity, best = load64(relation, ARITY), load64(relation, BEST_AT)
    if mode == REDERIVE and origin >= 0:
        return rederive_row(relation, origin, rank)
    half = _write(heads, stride, i, arity, above, pending)
    values = pending + 8 * PENDING_MORE
    if best:
        half = half_of_key(values, arity, load64(best, BEST_COLUMN))
    return apply_head(mode, relation, values, half, above, rank)


@exported
def apply_heads(relation, mode, rank, heads, count, stride, highest, origins, pending, out):
    """Apply computed heads as `derive` does, from the number in `out` on; returns what is full, if anything.

    Head i has value c at `c * stride + i`. `pending` has room for the pending heads. `out` then counts the
    heads done.
    """
    many = mode == INSERT and not load64(relation, BEST_AT)
    i = load64(out, 0)
    while i < count:
        if many and count - i > 2:
            last = i + MOST_PENDING if i + MOST_PENDING < count else count
            i = _insert_some(relation, rank, heads, stride, highest, i, last, pending)
            if i == last:
                continue
        above, origin = load64(highest, i), load64(origins, i)
        status = _apply_one(relation, mode, rank, heads, stride, i, above, origin, pending)
        if status != DONE:
            store64(out, 0, i)
            return status
        i += 1
    store64(out, 0, count)
    return DONE
