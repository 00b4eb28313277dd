"""What becomes of a head that was found: a row added, a count moved, a suspect listed or brought back.

Whatever a row was before the commit is written down once, before it changes, so that it can be put back.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.engine.local.memory import load8, load32, load64, store8, store32
from tidelog.engine.local.rows import (
    ALIVE,
    BASE,
    CUR,
    LOGGED,
    NEXT,
    OLD,
    SEED,
    SUPPORT_AT,
    TAG_AT,
    append,
    find,
    is_full,
    mix,
)

__all__ = [
    "DONE",
    "EMITTED",
    "GROW_LIST",
    "GROW_OUT",
    "GROW_TABLE",
    "INSTANCES",
    "LEVEL",
    "LISTED",
    "LOGS",
    "insert_head",
    "is_there",
    "rederive_head",
    "rediscover_head",
    "remove_head",
]

# how a kernel ends
DONE, GROW_TABLE, GROW_LIST, GROW_OUT = range(4)

# st: its counters
LEVEL, LISTED, INSTANCES, EMITTED, LOGS = range(5)


@njit(cache=True, nogil=True)
def log(R, r, row, tag, undo, st):  # type: ignore[no-untyped-def]
    """Write down, once in a commit, what a row was before it; rows that came in it need no note."""
    if row >= R[r, BASE] or tag & LOGGED:
        return tag
    at = st[LOGS]
    undo[0, at] = row
    undo[1, at] = tag
    undo[2, at] = load32(R[r, SUPPORT_AT], 2 * row)
    undo[3, at] = load32(R[r, SUPPORT_AT], 2 * row + 1)
    st[LOGS] = at + 1
    store8(R[r, TAG_AT], row, tag | LOGGED)
    return tag | LOGGED


@njit(cache=True, nogil=True)
def insert_head(R, r, t, highest, rank, listed, undo, st):  # type: ignore[no-untyped-def]
    """One more instance for a head: a new row, or one more for its count if it supports it."""
    row = find(R, r, t)
    if row < 0:
        if is_full(R, r):
            return GROW_TABLE
        row = append(R, r, t, row)
    tag = load8(R[r, TAG_AT], row)
    if tag & NEXT:
        store32(R[r, SUPPORT_AT], 2 * row + 1, load32(R[r, SUPPORT_AT], 2 * row + 1) + 1)
    elif tag & ALIVE:
        if highest < load32(R[r, SUPPORT_AT], 2 * row):
            log(R, r, row, tag, undo, st)
            store32(R[r, SUPPORT_AT], 2 * row + 1, load32(R[r, SUPPORT_AT], 2 * row + 1) + 1)
    else:
        tag = log(R, r, row, tag, undo, st)
        store8(R[r, TAG_AT], row, tag | NEXT)
        store32(R[r, SUPPORT_AT], 2 * row, rank)
        store32(R[r, SUPPORT_AT], 2 * row + 1, 1)
        listed[st[LISTED]] = row
        st[LISTED] += 1
    return DONE


@njit(cache=True, nogil=True)
def remove_head(R, r, t, highest, listed, undo, st):  # type: ignore[no-untyped-def]
    """One instance less for a head that it supported; at none, the head is listed as a suspect."""
    row = find(R, r, t)
    if row < 0:
        return
    tag = load8(R[r, TAG_AT], row)
    if not tag & ALIVE or tag & CUR or highest >= load32(R[r, SUPPORT_AT], 2 * row):
        return
    tag = log(R, r, row, tag, undo, st)
    count = load32(R[r, SUPPORT_AT], 2 * row + 1) - 1
    store32(R[r, SUPPORT_AT], 2 * row + 1, count)
    if count <= 0 and not tag & NEXT:
        store8(R[r, TAG_AT], row, tag | NEXT)
        listed[st[LISTED]] = row
        st[LISTED] += 1


@njit(cache=True, nogil=True)
def rederive_head(R, r, row, rank, listed, st):  # type: ignore[no-untyped-def]
    """One instance for a suspect: it comes back. It was written down when it became one."""
    tag = load8(R[r, TAG_AT], row)
    if not tag & NEXT:
        store8(R[r, TAG_AT], row, tag | NEXT)
        store32(R[r, SUPPORT_AT], 2 * row, rank)
        store32(R[r, SUPPORT_AT], 2 * row + 1, 0)
        listed[st[LISTED]] = row
        st[LISTED] += 1
    store32(R[r, SUPPORT_AT], 2 * row + 1, load32(R[r, SUPPORT_AT], 2 * row + 1) + 1)


@njit(cache=True, nogil=True)
def rediscover_head(R, r, t, rank, listed, st):  # type: ignore[no-untyped-def]
    """One instance for a head, if it is a suspect: there before the commit, and not now."""
    row = find(R, r, t)
    if row >= 0 and load8(R[r, TAG_AT], row) & (ALIVE | OLD) == OLD:
        rederive_head(R, r, row, rank, listed, st)


@njit(inline="always")
def is_there(table, mask, data, tags, support, t, width, highest):  # type: ignore[no-untyped-def]
    """Whether a head needs nothing more: it is there and not supported, or new and has been counted.

    Most heads are like that, so this is worth being written into the loop that asks.
    """
    h = SEED
    for j in range(width):
        h = mix(h, t[j])
    place = np.int64(h & np.uint64(mask))
    there = load32(table, place)
    while there >= 0:
        same = True
        for j in range(width):
            if load64(data, there * width + j) != t[j]:
                same = False
                break
        if same:
            break
        place = (place + 1) & mask
        there = load32(table, place)
    done = False
    if there >= 0:
        tag = load8(tags, there)
        if tag & NEXT:
            store32(support, 2 * there + 1, load32(support, 2 * there + 1) + 1)
            done = True
        elif tag & ALIVE:
            done = highest >= load32(support, 2 * there)
    return done
