"""Begins to load what later rows of the first level of a rule will look up in the second one."""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import cell
from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.indexes import bucket_start, fetch_bucket, fetch_found
from tidelog.engine.local.kernels.layout import (
    AT,
    CELLS_AT,
    CURSOR,
    DELTA,
    END,
    GROUPED,
    GROUPED_AT,
    HINTS,
    INDEX,
    KEY_FROM,
    KEY_SLOT,
    KEY_TO,
    KEY_WIDTH,
    KIND,
    LEVEL_WIDTH,
    REL,
    SCAN,
    STRIDE,
    TEMP,
    WIDE,
    WORKLIST_AT,
)
from tidelog.engine.local.kernels.memory import load64, prefetch
from tidelog.engine.local.kernels.rows import CACHED, SEED, mix, upper

__all__ = ["list_of", "look_ahead"]

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


@kernel
def look_ahead(code, level):
    """Begin to load what the second level will need for later rows of the first one."""
    at, left = load64(code, level + CURSOR), load64(code, level + END) - load64(code, level + CURSOR)
    index, relation = load64(code, level + LEVEL_WIDTH + INDEX), load64(code, level + LEVEL_WIDTH + REL)
    if load64(index, GROUPED) < CACHED:
        return 0
    if left > 3 * _ROWS_AHEAD:
        half = _half_of_key(code, level, _row_at(code, level, at + 3 * _ROWS_AHEAD))
        fetch_bucket(index, half)
    if left > 2 * _ROWS_AHEAD:
        half = _half_of_key(code, level, _row_at(code, level, at + 2 * _ROWS_AHEAD))
        prefetch(load64(index, GROUPED_AT), 4 * bucket_start(index, half))
    if left > _ROWS_AHEAD:
        fetch_found(index, relation, _half_of_key(code, level, _row_at(code, level, at + _ROWS_AHEAD)))
    return 0
