"""Looks ahead from the first level of a rule to the second one, where its rows look up a key.

What later rows will look up begins to be loaded, and rows that find nothing there are skipped.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import cell
from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.indexes import bucket_start, fetch_bucket, fetch_found
from tidelog.engine.local.kernels.layout import (
    AT,
    BUCKETS,
    CELLS_AT,
    COVERED,
    CURSOR,
    DELTA,
    END,
    GROUPED,
    GROUPED_AT,
    HALVES,
    HASHED,
    HEADS,
    HEADS_AT,
    HINTS,
    INDEX,
    KEY_FROM,
    KEY_SLOT,
    KEY_TO,
    KEY_WIDTH,
    KIND,
    LEVEL_WIDTH,
    MOST_HASHED,
    REL,
    SCAN,
    STARTS_AT,
    STRIDE,
    TEMP,
    WIDE,
    WORKLIST_AT,
)
from tidelog.engine.local.kernels.memory import load32, load64, prefetch, store64
from tidelog.engine.local.kernels.rows import CACHED, SEED, fetch_cells, mix, place, upper

__all__ = ["list_of", "look_ahead", "skip_barren"]

_ROWS_AHEAD = 4  # rows of the first level between the steps of a lookup in the second one


@kernel
def list_of(code, level):
    if load64(code, level + KIND) == DELTA:
        return load64(load64(code, level + REL), WORKLIST_AT)
    return load64(code, level + AT)


@inlined
def _value_at(code, level, row, column):
    """The value of a row of the first level in a column."""
    if load64(code, level + KIND) == TEMP:
        return load64(load64(code, level + AT), column * load64(code, level + END) + row)
    relation = load64(code, level + REL)
    at = row * load64(relation, STRIDE) + column
    return cell(load64(relation, CELLS_AT), at, load64(relation, WIDE))


@kernel
def _half_of_key(code, level, row):
    """Half the hash of the key that a row of the first level gives to the second level."""
    hint, second = load64(code, HINTS), level + LEVEL_WIDTH
    h = SEED
    for j in range(load64(code, second + KEY_FROM), load64(code, second + KEY_TO), KEY_WIDTH):
        column = load64(code, hint)
        hint += 1
        h = mix(
            h,
            _value_at(code, level, row, column) if column >= 0 else load64(code, load64(code, j + KEY_SLOT)),
        )
    return upper(h)


@kernel
def _row_at(code, level, at):
    """The row at a position of the first level."""
    kind = load64(code, level + KIND)
    return at if kind == SCAN or kind == TEMP else load64(list_of(code, level), at)


_LISTED_AHEAD = 12  # rows between beginning to load a listed row and using it


@kernel
def _fetch_listed(code, level, at):
    """Begin to load a row that is listed further on, if the first level has a list."""
    kind = load64(code, level + KIND)
    if kind != SCAN and kind != TEMP and at + _LISTED_AHEAD < load64(code, level + END):
        fetch_cells(load64(code, level + REL), load64(list_of(code, level), at + _LISTED_AHEAD))
    return 0


@kernel
def look_ahead(code, level):
    """Begin to load what the second level will need for later rows of the first one."""
    at, left = load64(code, level + CURSOR), load64(code, level + END) - load64(code, level + CURSOR)
    index, relation = load64(code, level + LEVEL_WIDTH + INDEX), load64(code, level + LEVEL_WIDTH + REL)
    if load64(index, GROUPED) < CACHED:
        return _fetch_listed(code, level, at)
    if left > 3 * _ROWS_AHEAD:
        half = _half_of_key(code, level, _row_at(code, level, at + 3 * _ROWS_AHEAD))
        fetch_bucket(index, half)
    if left > 2 * _ROWS_AHEAD:
        half = _half_of_key(code, level, _row_at(code, level, at + 2 * _ROWS_AHEAD))
        prefetch(load64(index, GROUPED_AT), 4 * bucket_start(index, half))
    if left > _ROWS_AHEAD:
        fetch_found(index, relation, _half_of_key(code, level, _row_at(code, level, at + _ROWS_AHEAD)))
    return 0


_AT_ONCE = 256  # rows that are skipped before the steps are counted


@kernel
def _hash_ahead(code, level, last):
    """Hash the keys of positions before `last` that are not hashed yet, and begin to load their buckets."""
    index, halves = load64(code, level + LEVEL_WIDTH + INDEX), code + 8 * load64(code, HALVES)
    for at in range(load64(code, HASHED), last):
        half = _half_of_key(code, level, _row_at(code, level, at))
        store64(halves, at & (MOST_HASHED - 1), half)
        fetch_bucket(index, half)
    store64(code, HASHED, last)
    return 0


@kernel
def skip_barren(code, level):
    """Skip rows of the first level whose keys find no rows in the second one; returns how many were skipped.

    The keys of later rows must not change, so no value may be improved in place.
    """
    first, last = load64(code, level + CURSOR), load64(code, level + END)
    index, relation = load64(code, level + LEVEL_WIDTH + INDEX), load64(code, level + LEVEL_WIDTH + REL)
    halves = code + 8 * load64(code, HALVES)
    buckets, starts, grouped = load64(index, BUCKETS), load64(index, STARTS_AT), load64(index, GROUPED_AT)
    heads, chains = load64(index, HEADS_AT), load64(index, HEADS)
    is_chained = load64(index, COVERED) > load64(index, GROUPED)
    is_large = load64(index, GROUPED) >= CACHED
    if load64(code, HASHED) < first:
        store64(code, HASHED, first)
    until = first + _AT_ONCE if first + _AT_ONCE < last else last
    at = first
    while at < until:
        if is_large:
            _hash_ahead(code, level, at + 3 * _ROWS_AHEAD + 1 if at + 3 * _ROWS_AHEAD < last else last)
            if at + 2 * _ROWS_AHEAD < last:
                half = load64(halves, (at + 2 * _ROWS_AHEAD) & (MOST_HASHED - 1))
                prefetch(grouped, 4 * load32(starts, place(half, buckets)))
            if at + _ROWS_AHEAD < last:
                fetch_found(index, relation, load64(halves, (at + _ROWS_AHEAD) & (MOST_HASHED - 1)))
            half = load64(halves, at & (MOST_HASHED - 1))
        else:
            _fetch_listed(code, level, at)
            half = _half_of_key(code, level, _row_at(code, level, at))
        if buckets:
            bucket = place(half, buckets)
            if load32(starts, bucket) < load32(starts, bucket + 1):
                break
        if is_chained and load32(heads, place(half, chains)) >= 0:
            break
        at += 1
    store64(code, level + CURSOR, at)
    return at - first
