"""Kernels on what a commit does to rows: the undo log and the worklist."""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import count_of, rank_of
from tidelog.engine.local.kernels.compiled import kernel
from tidelog.engine.local.kernels.layout import (
    BASE,
    LISTED,
    LOGGED,
    TAG_AT,
    UNDO_AT,
    UNDO_CAP,
    UNDO_COUNT,
    UNDO_LENGTH,
    UNDO_RANK,
    UNDO_ROW,
    UNDO_TAG,
    UNDO_WIDTH,
    WORKLIST_AT,
    WORKLIST_CAP,
)
from tidelog.engine.local.kernels.memory import load64, store8, store64

__all__ = ["has_room", "list_row", "log"]


@kernel
def log(relation, row, tag):
    """Log the state of a row once per commit; new rows need no entry. Returns its current tag."""
    if row >= load64(relation, BASE) or tag & LOGGED:
        return tag
    count = load64(relation, UNDO_LENGTH)
    at = UNDO_WIDTH * count
    log = load64(relation, UNDO_AT)
    store64(log, at + UNDO_ROW, row)
    store64(log, at + UNDO_TAG, tag)
    store64(log, at + UNDO_RANK, rank_of(relation, row))
    store64(log, at + UNDO_COUNT, count_of(relation, row))
    store64(relation, UNDO_LENGTH, count + 1)
    store8(load64(relation, TAG_AT), row, tag | LOGGED)
    return tag | LOGGED


@kernel
def list_row(relation, row):
    count = load64(relation, LISTED)
    store64(load64(relation, WORKLIST_AT), count, row)
    store64(relation, LISTED, count + 1)
    return 0


@kernel
def has_room(relation):
    if load64(relation, LISTED) >= load64(relation, WORKLIST_CAP):
        return False
    return load64(relation, UNDO_LENGTH) < load64(relation, UNDO_CAP)
