"""Chooses which of two atoms is looked up and which is tested; see `rules/twins`."""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import kernel
from tidelog.engine.local.kernels.indexes import bucket_end, bucket_start
from tidelog.engine.local.kernels.layout import (
    INDEX,
    KEY_FROM,
    KEY_SLOT,
    KEY_TO,
    KEY_WIDTH,
    LEVEL_WIDTH,
)
from tidelog.engine.local.kernels.memory import load64, store64
from tidelog.engine.local.kernels.rows import SEED, mix, upper

__all__ = ["choose"]

_WORTHWHILE = 8  # fewer rows


@kernel
def _rows_of_key(code, level):
    """About how many rows a level would look up, given the slots bound so far."""
    h = SEED
    for j in range(load64(code, level + KEY_FROM), load64(code, level + KEY_TO), KEY_WIDTH):
        h = mix(h, load64(code, load64(code, j + KEY_SLOT)))
    index, half = load64(code, level + INDEX), upper(h)
    return bucket_end(index, half) - bucket_start(index, half)


@kernel
def choose(code, level, twin):
    """Exchange two levels that are about to be entered for their twin if that looks up fewer rows."""
    if _rows_of_key(code, level) < _rows_of_key(code, twin) + _WORTHWHILE:
        return 0
    for i in range(2 * LEVEL_WIDTH):
        word = load64(code, level + i)
        store64(code, level + i, load64(code, twin + i))
        store64(code, twin + i, word)
    return 0
