"""Applies derived heads: adds rows, changes counts, puts suspects on the worklist, re-derives them.

The state of a row before the commit is written to the undo log once, before the row changes. If there is no
room in the table, the undo log or the worklist, nothing happens, and the status says what is full.

A count is the number of instances that support a tuple. It is stored as `INSTANCE` times the count. `OTHERS`
is added once there is an instance that does not support the tuple. Until then the count covers all instances,
and a tuple that lost them need not be re-derived. Ranks and counts have 64 bits, which no commit can exhaust.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.jit import njit
from tidelog.engine.local.kernels.layout import (
    ADD,
    AIMED,
    ALIVE,
    BASE,
    CUR,
    DELTA_FROM,
    DELTA_TO,
    DONE,
    GROW_LIST,
    GROW_TABLE,
    GROW_TRACE,
    INSERT,
    INSTANCE,
    LISTED,
    LOGGED,
    NEXT,
    OLD,
    OTHERS,
    OVERDELETE,
    REDERIVE,
    REMOVE,
    ROWS,
    SETTLE,
    SUBTRACT,
    SUPPORT_AT,
    TAG_AT,
    UNDO_AT,
    UNDO_CAP,
    UNDO_COUNT,
    UNDO_LENGTH,
    UNDO_RANK,
    UNDO_ROW,
    UNDO_TAG,
    UNDO_WIDTH,
    UNKNOWN,
    WORKLIST_AT,
    WORKLIST_CAP,
)
from tidelog.engine.local.kernels.memory import load8, load64, store8, store64
from tidelog.engine.local.kernels.ranks import count_of, rank_of, set_count, set_rank
from tidelog.engine.local.kernels.rows import append, find, is_full
from tidelog.engine.local.kernels.traces import weigh

__all__ = [
    "apply_heads",
    "apply_rows",
    "end_round",
    "insert_head",
    "overdelete_head",
    "publish",
    "rederive_row",
    "rediscover_head",
    "remove_head",
    "settle",
    "settle_head",
    "weigh_head",
]


@njit(cache=True, nogil=True)
def _log(relation, row, tag):  # type: ignore[no-untyped-def]
    """Log the state of a row once per commit; new rows need no entry. Returns its current tag."""
    if row >= load64(relation, BASE) or tag & LOGGED:
        return tag
    count, support = load64(relation, UNDO_LENGTH), load64(relation, SUPPORT_AT)
    at = UNDO_WIDTH * count
    log = load64(relation, UNDO_AT)
    store64(log, at + UNDO_ROW, row)
    store64(log, at + UNDO_TAG, tag)
    store64(log, at + UNDO_RANK, rank_of(support, row))
    store64(log, at + UNDO_COUNT, count_of(support, row))
    store64(relation, UNDO_LENGTH, count + 1)
    store8(load64(relation, TAG_AT), row, tag | LOGGED)
    return tag | LOGGED


@njit(cache=True, nogil=True)
def _list(relation, row):  # type: ignore[no-untyped-def]
    count = load64(relation, LISTED)
    store64(load64(relation, WORKLIST_AT), count, row)
    store64(relation, LISTED, count + 1)


@njit(cache=True, nogil=True)
def _has_room(relation):  # type: ignore[no-untyped-def]
    if load64(relation, LISTED) >= load64(relation, WORKLIST_CAP):
        return False
    return load64(relation, UNDO_LENGTH) < load64(relation, UNDO_CAP)


@njit(cache=True, nogil=True)
def _mark_others(relation, row, tag):  # type: ignore[no-untyped-def]
    """Record that a row has an instance that does not support it."""
    support = load64(relation, SUPPORT_AT)
    count = count_of(support, row)
    if count & OTHERS:
        return DONE
    if not _has_room(relation):
        return GROW_LIST
    _log(relation, row, tag)
    set_count(support, row, count | OTHERS)
    return DONE


@njit(cache=True, nogil=True)
def _insert_row(relation, row, highest, rank):  # type: ignore[no-untyped-def]
    tags, support = load64(relation, TAG_AT), load64(relation, SUPPORT_AT)
    tag = load8(tags, row)
    if tag & NEXT:
        set_count(
            support,
            row,
            count_of(support, row) + INSTANCE,
        )
        return DONE
    if tag & ALIVE and highest >= rank_of(support, row):
        return _mark_others(relation, row, tag)
    if not _has_room(relation):
        return GROW_LIST
    tag = _log(relation, row, tag)
    if tag & ALIVE:
        set_count(
            support,
            row,
            count_of(support, row) + INSTANCE,
        )
    else:
        store8(tags, row, tag | NEXT)
        set_rank(support, row, rank)
        set_count(support, row, INSTANCE)
        _list(relation, row)
    return DONE


@njit(cache=True, nogil=True)
def _settle_row(relation, row, highest, rank):  # type: ignore[no-untyped-def]
    tags, support = load64(relation, TAG_AT), load64(relation, SUPPORT_AT)
    tag = load8(tags, row)
    if tag & ALIVE:
        counts = highest < rank_of(support, row)
    else:
        counts = tag & NEXT or rank_of(support, row) == AIMED
    return _insert_row(relation, row, highest, rank) if counts else DONE


@njit(cache=True, nogil=True)
def settle_head(relation, values, highest, rank):  # type: ignore[no-untyped-def]
    """Count an instance of a head that is alive or needs a rank; other heads are ignored."""
    row = find(relation, values)
    return _settle_row(relation, row, highest, rank) if row >= 0 else DONE


@njit(cache=True, nogil=True)
def insert_head(relation, values, highest, rank):  # type: ignore[no-untyped-def]
    """Count an instance of a head: add a row, or increase its count if the instance supports it."""
    row = find(relation, values)
    if row >= 0:
        return _insert_row(relation, row, highest, rank)
    if is_full(relation):
        return GROW_TABLE
    if not _has_room(relation):
        return GROW_LIST
    _list(relation, append(relation, values, row, NEXT, rank, INSTANCE))
    return DONE


@njit(cache=True, nogil=True)
def _remove_row(relation, row, highest):  # type: ignore[no-untyped-def]
    tags, support = load64(relation, TAG_AT), load64(relation, SUPPORT_AT)
    tag = load8(tags, row)
    if not tag & ALIVE or tag & CUR or highest >= rank_of(support, row):
        return DONE
    if not _has_room(relation):
        return GROW_LIST
    tag = _log(relation, row, tag)
    count = count_of(support, row) - INSTANCE
    set_count(support, row, count)
    if count < INSTANCE and not tag & NEXT:
        store8(tags, row, tag | NEXT)
        _list(relation, row)
    return DONE


@njit(cache=True, nogil=True)
def remove_head(relation, values, highest):  # type: ignore[no-untyped-def]
    """Subtract an instance that supported a head; a head without any becomes a suspect."""
    row = find(relation, values)
    return _remove_row(relation, row, highest) if row >= 0 else DONE


@njit(cache=True, nogil=True)
def _overdelete_row(relation, row):  # type: ignore[no-untyped-def]
    tags = load64(relation, TAG_AT)
    tag = load8(tags, row)
    if not tag & ALIVE or tag & (CUR | NEXT):
        return DONE
    if not _has_room(relation):
        return GROW_LIST
    store8(tags, row, _log(relation, row, tag) | NEXT)
    _list(relation, row)
    return DONE


@njit(cache=True, nogil=True)
def overdelete_head(relation, values):  # type: ignore[no-untyped-def]
    """Make a head that loses an instance a suspect, even if it has others."""
    row = find(relation, values)
    return _overdelete_row(relation, row) if row >= 0 else DONE


@njit(cache=True, nogil=True)
def rederive_row(relation, row, rank):  # type: ignore[no-untyped-def]
    """Count an instance of a suspect, which revives it. It was logged when it became a suspect."""
    tags, support = load64(relation, TAG_AT), load64(relation, SUPPORT_AT)
    tag = load8(tags, row)
    if not tag & NEXT:
        if not _has_room(relation):
            return GROW_LIST
        store8(tags, row, tag | NEXT)
        set_rank(support, row, rank)
        set_count(support, row, 0)
        _list(relation, row)
    set_count(
        support,
        row,
        count_of(support, row) + INSTANCE,
    )
    return DONE


@njit(cache=True, nogil=True)
def rediscover_head(relation, values, rank):  # type: ignore[no-untyped-def]
    """Count an instance of a head if it is a suspect: alive before the commit, but not now."""
    row = find(relation, values)
    if row >= 0 and load8(load64(relation, TAG_AT), row) & (ALIVE | OLD) == OLD:
        return rederive_row(relation, row, rank)
    return DONE


@njit(cache=True, nogil=True)
def _weigh_row(relation, row, highest, mode):  # type: ignore[no-untyped-def]
    return DONE if weigh(relation, row, highest + 1, 1 if mode == ADD else -1) else GROW_TRACE


@njit(cache=True, nogil=True)
def weigh_head(relation, values, highest, mode):  # type: ignore[no-untyped-def]
    """Add or subtract an instance of a head, at the iteration after the latest tuple that it uses."""
    row = find(relation, values)
    if row < 0:
        if is_full(relation):
            return GROW_TABLE
        row = append(relation, values, row, 0, 0, 0)
    return _weigh_row(relation, row, highest, mode)


# -- many at once


@njit(cache=True, nogil=True)
def apply_heads(relation, mode, rank, heads, highest, origins, start, values):  # type: ignore[no-untyped-def]
    """Apply computed heads as `derive` does; returns how many are done, and what is full if not all."""
    for i in range(start, highest.size):
        if mode == REDERIVE and origins[i] >= 0:
            status = rederive_row(relation, origins[i], rank)
        else:
            for c in range(heads.shape[0]):
                store64(values, c, heads[c, i])
            if mode == INSERT:
                status = insert_head(relation, values, highest[i], rank)
            elif mode == REMOVE:
                status = remove_head(relation, values, highest[i])
            elif mode == SETTLE:
                status = settle_head(relation, values, highest[i], rank)
            elif mode == OVERDELETE:
                status = overdelete_head(relation, values)
            elif mode in (ADD, SUBTRACT):
                status = weigh_head(relation, values, highest[i], mode)
            elif mode == REDERIVE:
                status = rediscover_head(relation, values, rank)
            else:
                status = UNKNOWN
        if status != DONE:
            return i, status
    return highest.size, DONE


@njit(cache=True, nogil=True)
def apply_rows(relation, mode, rank, rows, start):  # type: ignore[no-untyped-def]
    """Apply an instance with an empty body for each row; returns how many are done, and what is full."""
    for i in range(start, rows.size):
        if mode == INSERT:
            status = _insert_row(relation, rows[i], -1, rank)
        elif mode == REMOVE:
            status = _remove_row(relation, rows[i], -1)
        elif mode == SETTLE:
            status = _settle_row(relation, rows[i], -1, rank)
        elif mode == OVERDELETE:
            status = _overdelete_row(relation, rows[i])
        elif mode in (ADD, SUBTRACT):
            status = _weigh_row(relation, rows[i], -1, mode)
        elif mode == REDERIVE:
            status = rederive_row(relation, rows[i], rank)
        else:
            status = UNKNOWN
        if status != DONE:
            return i, status
    return rows.size, DONE


@njit(cache=True, nogil=True)
def end_round(relation, mode):  # type: ignore[no-untyped-def]
    """Make the rows put on the worklist in this round the next delta; returns their number."""
    tags, listed = load64(relation, TAG_AT), load64(relation, WORKLIST_AT)
    first, last, end = load64(relation, DELTA_FROM), load64(relation, DELTA_TO), load64(relation, LISTED)
    passed = ~(CUR | ALIVE) if mode == REMOVE else ~CUR
    coming = CUR if mode == REMOVE else CUR | ALIVE
    for i in range(first, last):
        row = load64(listed, i)
        store8(tags, row, load8(tags, row) & passed)
    for i in range(last, end):
        row = load64(listed, i)
        store8(tags, row, (load8(tags, row) & ~NEXT) | coming)
    store64(relation, DELTA_FROM, last)
    store64(relation, DELTA_TO, end)
    return end - last


@njit(cache=True, nogil=True)
def settle(relation, whole, inserted, deleted):  # type: ignore[no-untyped-def]
    """List the rows that the commit inserted and deleted; scans all rows, or only logged and new ones."""
    tags, undo = load64(relation, TAG_AT), load64(relation, UNDO_AT)
    base, rows = load64(relation, BASE), load64(relation, ROWS)
    entered = left = 0
    old = base if whole else load64(relation, UNDO_LENGTH)
    for i in range(old + rows - base):
        row = base + i - old if i >= old else i if whole else load64(undo, UNDO_WIDTH * i + UNDO_ROW)
        tag = load8(tags, row) & ~(CUR | NEXT)
        store8(tags, row, tag)
        state = tag & (ALIVE | OLD)
        if state == ALIVE:
            inserted[entered] = row
            entered += 1
        elif state == OLD:
            deleted[left] = row
            left += 1
    return entered, left


@njit(cache=True, nogil=True)
def publish(relation, whole):  # type: ignore[no-untyped-def]
    """Make the new state of changed rows current."""
    tags, undo = load64(relation, TAG_AT), load64(relation, UNDO_AT)
    base, rows = load64(relation, BASE), load64(relation, ROWS)
    old = base if whole else load64(relation, UNDO_LENGTH)
    for i in range(old + rows - base):
        row = base + i - old if i >= old else i if whole else load64(undo, UNDO_WIDTH * i + UNDO_ROW)
        store8(tags, row, (ALIVE | OLD) if load8(tags, row) & ALIVE else 0)
