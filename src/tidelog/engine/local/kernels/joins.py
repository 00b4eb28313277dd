"""Joins the last two atoms of a rule in one loop, for blocks of rows; part of the kernel `derive`.

A block has some rows of the first of the two atoms that are visible and match its constants. First the
keys of all of them are hashed. Then what each of them looks up begins to be loaded, for all of them
together. Only then are heads made. The loop can stop at any head; it leaves the levels as `derive` does,
which goes on with the second one.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.cells import cell, larger, rank_of
from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.conditions import passes
from tidelog.engine.local.kernels.indexes import (
    bucket_end,
    bucket_start,
    chain_head,
    fetch_bucket,
    fetch_found,
)
from tidelog.engine.local.kernels.layout import (
    AT,
    BIND,
    BIND_SOME,
    BOUNDS,
    CELLS_AT,
    COL_COLUMN,
    COL_FROM,
    COL_OP,
    COL_SLOT,
    COL_TO,
    COL_WIDTH,
    CURSOR,
    DONE,
    END,
    FIL_FROM,
    FIL_TO,
    GROUPED,
    GROUPED_AT,
    HEADER,
    HIGHEST,
    INDEX,
    IS_PLAIN,
    JOINED,
    JOINED_HALF,
    JOINED_ROW,
    JOINED_WIDTH,
    KEY_CHECKS,
    KEY_FROM,
    KEY_SLOT,
    KEY_SOURCES,
    KEY_TO,
    KEY_WIDTH,
    KIND,
    LEVEL,
    LEVEL_WIDTH,
    LOOKUP,
    MASK,
    MEMBER,
    MOST_JOINED,
    NONE,
    PAUSE,
    RANKED,
    REL,
    SCAN,
    STEPS,
    STRIDE,
    TAG_AT,
    VARYING,
    WIDE,
)
from tidelog.engine.local.kernels.look_ahead import list_of
from tidelog.engine.local.kernels.memory import load8, load32, load64, prefetch, store64
from tidelog.engine.local.kernels.ranges import agrees
from tidelog.engine.local.kernels.rows import CACHED, SEED, fetch_cells, fetch_slot, mix, upper
from tidelog.engine.local.kernels.sweep import sweep

__all__ = ["FEWEST_JOINED", "gather", "join", "matches"]

FEWEST_JOINED = 4  # rows for which a block is worthwhile
_AHEAD = 8  # rows between beginning to load a row and using it
_AT_ONCE = 1024  # rows of the first atom that are looked at before the steps are counted


@inlined
def matches(code, cells, at, wide, first, last):
    """Whether a row matches the terms of its atom; binds its columns to slots."""
    same = True
    for j in range(first, last, COL_WIDTH):
        v, op = cell(cells, at + load64(code, j + COL_COLUMN), wide), load64(code, j + COL_OP)
        if op >= BIND_SOME and v == NONE:
            same = False
            break
        if op == BIND or op == BIND_SOME:
            store64(code, load64(code, j + COL_SLOT), v)
        elif v != load64(code, load64(code, j + COL_SLOT)):
            same = False
            break
    return same


@kernel
def _fetch_of_first(code, level, relation, at):
    """Begin to load the row at a position of the first atom."""
    if load64(code, level + KIND) == LOOKUP:
        fetch_cells(relation, load32(load64(load64(code, level + INDEX), GROUPED_AT), at))
    else:
        fetch_cells(relation, load64(list_of(code, level), at))
    return 0


@kernel
def _finds_nothing(index, half):
    """Whether no row has a key, as far as half its hash tells."""
    return bucket_start(index, half) == bucket_end(index, half) and chain_head(index, half) < 0


@kernel
def _half_of_rest(code, prefix, key, last_key, source, cells, at, wide):
    """Half the hash of a key, given the hash of its first values; -1 if one of the others matches nothing."""
    h, matches_nothing = np.uint64(prefix), False
    for j in range(key, last_key, KEY_WIDTH):
        column = load64(code, source)
        v = cell(cells, at + column, wide) if column >= 0 else load64(code, load64(code, j + KEY_SLOT))
        matches_nothing |= v == NONE and load64(code, j + KEY_CHECKS) != 0
        h = mix(h, v)
        source += 1
    return -1 if matches_nothing else upper(h)


@kernel
def _is_accepted(code, level, cells, at, wide):
    """Whether a row matches the terms and comparisons of its atom; binds its columns to slots."""
    if not matches(code, cells, at, wide, load64(code, level + COL_FROM), load64(code, level + COL_TO)):
        return False
    return load64(code, level + FIL_FROM) == load64(code, level + FIL_TO) or passes(code, level) == 1


@kernel
def gather(code, level, at, last):
    """Fill the block with rows from a position on; returns the position to go on with.

    Begins to load where the second atom looks them up. If that is in a small index, rows that find nothing
    are left out. A key is not hashed again if only one of its values varies, and is that of the row before.
    """
    relation, mask, kind = load64(code, level + REL), load64(code, level + MASK), load64(code, level + KIND)
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    tags, block, second = load64(relation, TAG_AT), load64(code, JOINED), level + LEVEL_WIDTH
    entry, full = block + 1, block + 1 + JOINED_WIDTH * MOST_JOINED
    sources, tests = load64(code, second + BOUNDS), load64(code, second + KIND) == MEMBER
    is_plain, varies = load64(code, sources + IS_PLAIN), load64(code, sources + VARYING)
    key, last_key = load64(code, second + KEY_FROM), load64(code, second + KEY_TO)
    index = load64(code, second + REL if tests else second + INDEX)
    is_large = not tests and load64(index, GROUPED) >= CACHED
    listed, own, last_own = 0, 0, 0
    if kind == LOOKUP:
        listed = load64(load64(code, level + INDEX), GROUPED_AT)
        own, last_own = load64(code, level + KEY_FROM), load64(code, level + KEY_TO)
    elif kind != SCAN:
        listed = list_of(code, level)
    prefix, column = SEED, sources + KEY_SOURCES  # the first values may be the same for all rows
    while key < last_key and load64(code, column) < 0 and not load64(code, key + KEY_CHECKS):
        prefix = mix(prefix, load64(code, load64(code, key + KEY_SLOT)))
        key += KEY_WIDTH
        column += 1
    before, half, finds = NONE, 0, True
    while at < last and entry < full:
        row = at
        if kind == LOOKUP:
            row = load32(listed, at)
        elif kind != SCAN:
            row = load64(listed, at)
        if kind != SCAN and at + _AHEAD < last:
            _fetch_of_first(code, level, relation, at + _AHEAD)
        at += 1
        begin = row * stride
        if not (mask >> load8(tags, row)) & 1 or not agrees(code, cells, begin, wide, own, last_own):
            continue
        if not is_plain and not _is_accepted(code, level, cells, begin, wide):
            continue
        value = cell(cells, begin + varies, wide) if varies >= 0 else NONE
        if value == NONE or value != before:
            before = value
            half = _half_of_rest(code, np.int64(prefix), key, last_key, column, cells, begin, wide)
            finds = half >= 0
            if tests:
                fetch_slot(index, half)
            elif is_large:
                fetch_bucket(index, half)
            elif finds:
                finds = not _finds_nothing(index, half)
        if finds:
            store64(code, entry, at - 1)
            store64(code, entry + JOINED_ROW, row)
            store64(code, entry + JOINED_HALF, half)
            entry += JOINED_WIDTH
    store64(code, block, (entry - block) // JOINED_WIDTH)
    return at


@kernel
def _load_found(code, level, count):
    """Begin to load what the rows of the block look up."""
    index, relation, block = (
        load64(code, level + INDEX),
        load64(code, level + REL),
        load64(code, JOINED),
    )
    grouped, first = load64(index, GROUPED_AT), block + 1
    last = first + JOINED_WIDTH * count
    for entry in range(first, last, JOINED_WIDTH):
        prefetch(grouped, 4 * bucket_start(index, load64(code, entry + JOINED_HALF)))
    for entry in range(first, last, JOINED_WIDTH):
        fetch_found(index, relation, load64(code, entry + JOINED_HALF))
    return 0


@kernel
def _enter_found(code, level, half):
    """Begin with what a row of the block looks up; false if there is nothing."""
    index = load64(code, level + INDEX)
    begin, end, newer = bucket_start(index, half), bucket_end(index, half), chain_head(index, half)
    store64(code, level + CURSOR, begin)
    store64(code, level + END, end)
    store64(code, level + AT, newer)
    return begin < end or newer >= 0


@kernel
def join(code, number):
    """Run the rest of the level of this number and the next one, which is the last; keeps LEVEL."""
    level = HEADER + number * LEVEL_WIDTH
    second, block = level + LEVEL_WIDTH, load64(code, JOINED)
    relation, index = load64(code, level + REL), load64(code, second + INDEX)
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    first, last = load64(code, level + COL_FROM), load64(code, level + COL_TO)
    ranked, above = load64(code, level + RANKED), load64(code, level + HIGHEST)
    at, end, status = load64(code, level + CURSOR), load64(code, level + END), DONE
    while at < end and status == DONE:
        begins = at
        at = gather(code, level, begins, begins + _AT_ONCE if begins + _AT_ONCE < end else end)
        steps, count = load64(code, STEPS) - (at - begins), load64(code, block)
        store64(code, STEPS, steps)
        if load64(index, GROUPED) >= CACHED:
            _load_found(code, second, count)
        for entry in range(block + 1, block + 1 + JOINED_WIDTH * count, JOINED_WIDTH):
            if not _enter_found(code, second, load64(code, entry + JOINED_HALF)):
                continue
            row = load64(code, entry + JOINED_ROW)
            matches(code, cells, row * stride, wide, first, last)
            store64(code, second + HIGHEST, larger(above, rank_of(relation, row)) if ranked else above)
            status = sweep(code, second)
            if status != DONE:
                at = load64(code, entry) + 1
                number += 1
                break
        if status == DONE and load64(code, STEPS) <= 0:
            status = PAUSE
    store64(code, LEVEL, number)
    store64(code, level + CURSOR, at)
    return status
