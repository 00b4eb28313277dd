"""Heads that `derive` has found and not applied yet, so that their slots and rows are loaded together."""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.extrema import fetch_best, fetch_entry, fetch_next, half_of_key
from tidelog.engine.local.kernels.inserting import insert_heads
from tidelog.engine.local.kernels.layout import (
    APPLY,
    BEST_AT,
    BEST_COLUMN,
    COUNTS_AT,
    DONE,
    EMIT_ALL,
    EMITTED,
    GROW_OUT,
    INSERT,
    KNOWN,
    KNOWN_AT,
    MODE,
    OUT_AT,
    OUT_CAP,
    PENDING,
    PENDING_FROM,
    PENDING_HASH,
    PENDING_MORE,
    PENDING_RANK,
    PENDING_TIMES,
    PENDING_TO,
    RANK,
    ROWS,
    SEARCHES,
    SHARES,
    TARGET,
    WIDTH,
)
from tidelog.engine.local.kernels.memory import load32, load64, store32, store64
from tidelog.engine.local.kernels.rows import CACHED, fetch_row, fetch_slot, hash_of
from tidelog.engine.local.kernels.sharing import count_head
from tidelog.engine.local.kernels.support import apply_head

__all__ = ["flush", "next_pending", "put_off"]


@kernel
def _emit_pending(code, at, size):
    """Emit a pending head, or count it if it was emitted lately, with the same rank."""
    count, out = load64(code, EMITTED), load64(code, OUT_AT)
    known, slot = load64(code, KNOWN_AT), load64(code, at + PENDING_HASH) & (load64(code, KNOWN) - 1)
    entry = load32(known, slot)
    if entry < count and load64(code, MODE) == INSERT:
        same = load64(out, entry * size + PENDING_RANK) == load64(code, at + PENDING_RANK)
        for j in range(PENDING_MORE, size):
            if load64(out, entry * size + j) != load64(code, at + j):
                same = False
                break
        if same:
            times = entry * size + PENDING_TIMES
            store64(out, times, load64(out, times) + 1)
            return DONE
    if count >= load64(code, OUT_CAP):
        return GROW_OUT
    for j in range(size):
        store64(out, count * size + j, load64(code, at + j))
    store64(out, count * size + PENDING_TIMES, 1)
    store32(known, slot, count)
    store64(code, EMITTED, count + 1)
    return DONE


@kernel
def _emit_all(code, at, size, first, last):
    """Emit all pending heads, those of each share to a list of its own."""
    out, capacity, counts = load64(code, OUT_AT), load64(code, OUT_CAP), load64(code, COUNTS_AT)
    shares = load64(code, SHARES)
    for i in range(first, last):
        share = (load64(code, at + PENDING_HASH) * shares) >> 32
        count = load64(counts, share)
        if count >= capacity:
            store64(code, PENDING_FROM, i)
            return GROW_OUT
        begins = (share * capacity + count) * size
        for j in range(size):
            store64(out, begins + j, load64(code, at + j))
        store64(out, begins + PENDING_TIMES, 1)
        store64(counts, share, count + 1)
        at += size
    store64(code, PENDING_FROM, 0)
    store64(code, PENDING_TO, 0)
    return DONE


@kernel
def flush(code):
    """Apply the pending heads, or return what must grow first.

    Their slots are being loaded since they were put off. Now begins the loading of their rows, all at once,
    so that the time of one memory access is spent for many.

    A thread that only searches counts instances of known heads and emits the others, or emits all of them.
    """
    target, mode, rank = load64(code, TARGET), load64(code, MODE), load64(code, RANK)
    first, last = load64(code, PENDING_FROM), load64(code, PENDING_TO)
    size = load64(code, WIDTH) + PENDING_MORE
    at = load64(code, PENDING) + first * size
    searches = load64(code, SEARCHES)
    if searches == EMIT_ALL:
        return _emit_all(code, at, size, first, last)
    if last - first > 2 and load64(target, ROWS) > CACHED:
        best = load64(target, BEST_AT)
        for i in range(last - first):
            half = load64(code, at + i * size + PENDING_HASH)
            if best:
                fetch_best(target, best, half)
            else:
                fetch_row(target, half)
        for i in range(last - first if best else 0):
            values = code + 8 * (at + i * size + PENDING_MORE)
            fetch_next(target, best, values, load64(code, at + i * size + PENDING_HASH))
    if mode == INSERT and searches == APPLY:
        done = insert_heads(target, code + 8 * load64(code, PENDING), size, first, last, rank)
        first, at = done, at + (done - first) * size
    for i in range(first, last):
        values = code + 8 * (at + PENDING_MORE)
        half, highest = load64(code, at + PENDING_HASH), load64(code, at + PENDING_RANK)
        if searches == APPLY:
            status = apply_head(mode, target, values, half, highest, rank)
        elif count_head(mode, target, values, half, highest):
            status = DONE
        else:
            status = _emit_pending(code, at, size)
        if status != DONE:
            store64(code, PENDING_FROM, i)
            return status
        at += size
    store64(code, PENDING_FROM, 0)
    store64(code, PENDING_TO, 0)
    return DONE


@inlined
def next_pending(code, width):
    """Where the values of the next pending head go. There must be room."""
    return load64(code, PENDING) + load64(code, PENDING_TO) * (width + PENDING_MORE) + PENDING_MORE


@inlined
def put_off(code, target, at, width, highest):
    """Add a head, whose values are at `at`, to the pending ones, and begin to load its slot."""
    best = load64(target, BEST_AT)
    if best:
        half = half_of_key(code + 8 * at, width, load64(best, BEST_COLUMN))
        fetch_entry(best, half)
    else:
        half = hash_of(code + 8 * at, width)
        fetch_slot(target, half)
    store64(code, at - PENDING_MORE + PENDING_HASH, half)
    store64(code, at - PENDING_MORE + PENDING_RANK, highest)
    store64(code, PENDING_TO, load64(code, PENDING_TO) + 1)
