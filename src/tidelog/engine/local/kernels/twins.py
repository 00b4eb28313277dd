"""Chooses which of two atoms is looked up and which is tested; see `rules/twins`."""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.indexes import bucket_end, bucket_start
from tidelog.engine.local.kernels.layout import (
    HASHED,
    HEADER,
    HINTS,
    INDEX,
    KEY_FROM,
    KEY_SLOT,
    KEY_TO,
    KEY_WIDTH,
    LEVEL_WIDTH,
    TWIN_HINTS,
)
from tidelog.engine.local.kernels.memory import load64, store64
from tidelog.engine.local.kernels.rows import SEED, mix, upper

__all__ = ["choose"]

_FEW = 16  # rows, of which the lookup costs less than to compare


@kernel
def _rows_of_key(code, level):
    """About how many rows a level would look up, given the slots bound so far."""
    h = SEED
    for j in range(load64(code, level + KEY_FROM), load64(code, level + KEY_TO), KEY_WIDTH):
        h = mix(h, load64(code, load64(code, j + KEY_SLOT)))
    index, half = load64(code, level + INDEX), upper(h)
    return bucket_end(index, half) - bucket_start(index, half)


@inlined
def _exchange(code, at, other):
    word = load64(code, at)
    store64(code, at, load64(code, other))
    store64(code, other, word)


@kernel
def choose(code, level, twin):
    """Exchange two levels that are about to be entered for their twin if that looks up fewer rows."""
    rows = _rows_of_key(code, level)
    if rows < _FEW or rows < _rows_of_key(code, twin) + _FEW:
        return 0
    for i in range(2 * LEVEL_WIDTH):
        _exchange(code, level + i, twin + i)
    if level == HEADER + LEVEL_WIDTH:
        _exchange(code, HINTS, twin + TWIN_HINTS)
        store64(code, HASHED, 0)  # keys of the other way
    return 0
