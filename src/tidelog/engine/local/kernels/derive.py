"""The kernel `derive`, which interprets the bytecode of a rule: it joins the body and applies the heads.

No kernel is specific to a program. The *bytecode* of a rule, an array of words, says what to join and how. So
a new rule needs no compilation, and compiled code is cached on disk.

`derive` fuses all work on an instance: it walks the atoms of a body depth first, and at the end tests, counts
or adds the head, without materializing the instance. Its whole state is in the bytecode, so it can stop when
a table is full or time is up, and resume later.

Bytecode is passed by its address. It holds a header, a level for each atom and one for the head, then the
parts that levels refer to by their position: keys, columns, filters, slots. `layout` defines the layout of
all parts, and the descriptors of relations and indexes.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.bit_atoms import accept_pair, enter_pairs, next_pair
from tidelog.engine.local.kernels.bit_sweep import sweep_pairs
from tidelog.engine.local.kernels.cells import cell, larger, rank_of
from tidelog.engine.local.kernels.compiled import exported, kernel
from tidelog.engine.local.kernels.conditions import passes
from tidelog.engine.local.kernels.indexes import bucket_end, bucket_start, chain_head, cover
from tidelog.engine.local.kernels.joins import FEWEST_JOINED, join
from tidelog.engine.local.kernels.layout import (
    AGAIN,
    ARITY,
    AT,
    BIND,
    BIND_SOME,
    CELLS_AT,
    COL_COLUMN,
    COL_FROM,
    COL_OP,
    COL_SLOT,
    COL_TO,
    COL_WIDTH,
    COVERED,
    CURSOR,
    DELTA,
    DELTA_FROM,
    DELTA_TO,
    DIAGONAL_LIST,
    DONE,
    EMIT,
    EMITTED,
    END,
    FAILURES,
    FIL_FROM,
    FIL_TO,
    FOLLOWING_AT,
    GROUPED,
    GROUPED_AT,
    GROW_INDEX,
    GROW_OUT,
    HASHED,
    HEAD,
    HEADER,
    HIGHEST,
    HINTS,
    IMPROVE,
    INDEX,
    INSTANCES,
    JOINED,
    KEY_CHECKS,
    KEY_COLUMN,
    KEY_FROM,
    KEY_SLOT,
    KEY_TO,
    KEY_WIDTH,
    KIND,
    LEVEL,
    LEVEL_WIDTH,
    LEVELS,
    LIST,
    LOOKUP,
    MASK,
    MEMBER,
    MODE,
    MOST_PENDING,
    NONE,
    NOT_BEGUN,
    ORIGIN,
    OUT_AT,
    OUT_CAP,
    PAUSE,
    PENDING_FROM,
    PENDING_TO,
    PLACES_LIST,
    RANGE,
    RANK,
    RANKED,
    REDERIVE,
    REL,
    REPLACE,
    ROWS,
    SCAN,
    SOURCE,
    STEPS,
    STRIDE,
    TAG_AT,
    TARGET,
    TEMP,
    TUPLE,
    TWINS,
    UNCOVERED,
    UNKNOWN,
    WIDE,
    WIDTH,
    WORKLIST_AT,
)
from tidelog.engine.local.kernels.look_ahead import look_ahead, skip_barren
from tidelog.engine.local.kernels.memory import load8, load32, load64, store64
from tidelog.engine.local.kernels.pending import flush, next_pending, put_off
from tidelog.engine.local.kernels.probes import probe
from tidelog.engine.local.kernels.ranges import agrees, enter_range, next_in_range
from tidelog.engine.local.kernels.rows import (
    SEED,
    find,
    hash_of,
    mix,
    upper,
)
from tidelog.engine.local.kernels.support import rederive_row
from tidelog.engine.local.kernels.sweep import sweep
from tidelog.engine.local.kernels.twins import choose

__all__ = ["run"]


# -- derive


@kernel
def _enter(code, level):
    """The initial cursor of a level, given the slots bound so far."""
    kind, relation = load64(code, level + KIND), load64(code, level + REL)
    if kind < LOOKUP or kind == TEMP:
        if kind == DELTA:
            store64(code, level + END, load64(relation, DELTA_TO))
            return load64(relation, DELTA_FROM)
        if kind == SCAN:
            store64(code, level + END, load64(relation, ROWS))
        return 0
    first, last = load64(code, level + KEY_FROM), load64(code, level + KEY_TO)
    if kind == LOOKUP:
        h = SEED
        for j in range(first, last, KEY_WIDTH):
            v = load64(code, load64(code, j + KEY_SLOT))
            if v == NONE and load64(code, j + KEY_CHECKS):
                store64(code, level + END, 0)
                store64(code, level + AT, -1)
                return 0
            h = mix(h, v)
        index = load64(code, level + INDEX)
        half = upper(h)
        store64(code, level + END, bucket_end(index, half))
        store64(code, level + AT, chain_head(index, half))
        return bucket_start(index, half)
    if kind > TEMP:
        return enter_pairs(code, level)
    values = code + 8 * load64(code, TUPLE)
    for j in range(first, last, KEY_WIDTH):
        v = load64(code, load64(code, j + KEY_SLOT))
        if v == NONE and load64(code, j + KEY_CHECKS):
            return -1 if kind == MEMBER else load64(relation, ROWS)
        if kind == MEMBER:
            store64(values, load64(code, j + KEY_COLUMN), v)
    if kind == MEMBER:
        return find(relation, values, hash_of(values, load64(relation, ARITY)))
    return enter_range(code, level)


@kernel
def _next(code, level):
    """The next row of a level that matches its key, or a negative number: AGAIN if there may be more."""
    kind, relation, at = (
        load64(code, level + KIND),
        load64(code, level + REL),
        load64(code, level + CURSOR),
    )
    if kind == LOOKUP:
        cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
        first, last = load64(code, level + KEY_FROM), load64(code, level + KEY_TO)
        index, end = load64(code, level + INDEX), load64(code, level + END)
        grouped = load64(index, GROUPED_AT)
        while at < end:
            row = load32(grouped, at)
            at += 1
            if agrees(code, cells, row * stride, wide, first, last):
                store64(code, level + CURSOR, at)
                return row
        store64(code, level + CURSOR, end)
        newer = load64(code, level + AT)
        while newer >= 0:
            row = newer
            newer = load32(load64(index, FOLLOWING_AT), row - load64(index, GROUPED))
            if agrees(code, cells, row * stride, wide, first, last):
                store64(code, level + AT, newer)
                return row
        store64(code, level + AT, -1)
        return -1
    if kind == MEMBER:
        store64(code, level + CURSOR, -1)
        return at
    if kind == RANGE:
        return next_in_range(code, level)
    if kind > TEMP:
        return next_pair(code, level)
    if at >= load64(code, level + END):
        return -1
    store64(code, level + CURSOR, at + 1)
    if kind == LIST:
        return load64(load64(code, level + AT), at)
    if kind == DELTA:
        return load64(load64(relation, WORKLIST_AT), at)
    return at


@kernel
def _accept(code, level, row):
    """Whether a row is visible and matches its terms; binds its columns to slots."""
    first, last, kind = (
        load64(code, level + COL_FROM),
        load64(code, level + COL_TO),
        load64(code, level + KIND),
    )
    if kind >= TEMP:
        if kind > TEMP:
            return accept_pair(code, level, row)
        base, length = load64(code, level + AT), load64(code, level + END)
        for j in range(first, last, COL_WIDTH):
            column, slot = load64(code, j + COL_COLUMN), load64(code, j + COL_SLOT)
            store64(code, slot, load64(base, column * length + row))
        return True
    relation = load64(code, level + REL)
    if not (load64(code, level + MASK) >> load8(load64(relation, TAG_AT), row)) & 1:
        return False
    cells, at, wide = load64(relation, CELLS_AT), row * load64(relation, STRIDE), load64(relation, WIDE)
    for j in range(first, last, COL_WIDTH):
        v = cell(cells, at + load64(code, j + COL_COLUMN), wide)
        op = load64(code, j + COL_OP)
        if op >= BIND_SOME and v == NONE:
            return False
        if op == BIND or op == BIND_SOME:
            store64(code, load64(code, j + COL_SLOT), v)
        elif v != load64(code, load64(code, j + COL_SLOT)):
            return False
    return True


@kernel
def _leaf(code, highest):
    """Apply an instance according to the mode, or return what must grow first."""
    mode, head, width, origin = (
        load64(code, MODE),
        load64(code, HEAD),
        load64(code, WIDTH),
        load64(code, ORIGIN),
    )
    if mode == EMIT:
        at, capacity, out = load64(code, EMITTED), load64(code, OUT_CAP), load64(code, OUT_AT)
        if at >= capacity:
            return GROW_OUT
        for j in range(width):
            store64(out, j * capacity + at, load64(code, load64(code, head + j)))
        store64(out, width * capacity + at, highest)
        store64(out, (width + 1) * capacity + at, origin)
        store64(code, EMITTED, at + 1)
        return DONE
    if mode == REDERIVE and origin >= 0:
        return rederive_row(load64(code, TARGET), origin, load64(code, RANK))
    if load64(code, PENDING_TO) == MOST_PENDING:
        status = flush(code)
        if status != DONE:
            return status
    at = next_pending(code, width)
    for j in range(width):
        store64(code, at + j, load64(code, load64(code, head + j)))
    put_off(code, load64(code, TARGET), at, width, highest)
    return DONE


@kernel
def _descend(code, number, level, row):
    """Enter the next level with a row of this one."""
    above = load64(code, level + HIGHEST)
    ranked = load64(code, level + RANKED)
    if load64(code, level + KIND) == TEMP:
        base, length = load64(code, level + AT), load64(code, level + END)
        above = load64(base, (ranked - 1) * length + row)
        store64(code, ORIGIN, load64(base, ranked * length + row))
    else:
        if ranked:
            above = larger(above, rank_of(load64(code, level + REL), row))
        if number == 0:
            store64(code, ORIGIN, row)
    following, twins = level + LEVEL_WIDTH, load64(code, TWINS)
    if twins and number + 1 < load64(code, LEVELS) and load64(code, twins + number + 1):
        choose(code, following, load64(code, twins + number + 1))
    store64(code, following + HIGHEST, above)
    if number + 1 < load64(code, LEVELS):
        store64(code, following + CURSOR, _enter(code, following))
    return 0


@kernel
def _derive(code):
    """Run the bytecode until it is done, something must grow, or the steps are used up."""
    levels, steps, number = load64(code, LEVELS), load64(code, STEPS), load64(code, LEVEL)
    swept = levels - 1 if load64(code, SOURCE) else -1
    joined = levels - 2 if load64(code, JOINED) else -1
    hints, mode = load64(code, HINTS), load64(code, MODE)
    may_skip = mode != IMPROVE and mode != REPLACE
    status = DONE
    while number >= 0:
        level = HEADER + number * LEVEL_WIDTH
        steps -= 1
        if steps < 0:
            status = PAUSE
            break
        if number == swept:
            store64(code, STEPS, steps)
            status = sweep_pairs(code, level) if load64(code, level + KIND) > TEMP else sweep(code, level)
            steps = load64(code, STEPS)
            if status != DONE:
                break
            number -= 1
        elif number == joined and load64(code, level + END) - load64(code, level + CURSOR) >= FEWEST_JOINED:
            store64(code, STEPS, steps)
            tests = load64(code, level + LEVEL_WIDTH + KIND) == MEMBER
            status = probe(code, number) if tests else join(code, number)
            steps, number = load64(code, STEPS), load64(code, LEVEL)
            if status != DONE:
                break
        elif number == levels:
            status = _leaf(code, load64(code, level + HIGHEST))
            if status != DONE:
                break
            store64(code, INSTANCES, load64(code, INSTANCES) + 1)
            number -= 1
        else:
            if number == 0 and hints:
                if may_skip:
                    steps -= skip_barren(code, level)
                else:
                    look_ahead(code, level)
            row = _next(code, level)
            if row < 0:
                if row != AGAIN:
                    number -= 1
            elif _accept(code, level, row):
                passed = 1
                if load64(code, level + FIL_FROM) != load64(code, level + FIL_TO):
                    passed = passes(code, level)
                if passed < 0:
                    status = UNKNOWN
                    break
                if passed:
                    _descend(code, number, level, row)
                    number += 1
    if number < 0:
        status = flush(code)
    store64(code, LEVEL, number)
    store64(code, STEPS, steps)
    return status


@kernel
def _are_covered(code):
    """Bring the indexes of all levels up to date; false if one must grow first."""
    for number in range(load64(code, LEVELS)):
        level = HEADER + number * LEVEL_WIDTH
        kind, index, relation = (
            load64(code, level + KIND),
            load64(code, level + INDEX),
            load64(code, level + REL),
        )
        if kind == LOOKUP and not cover(index, relation):
            return False
        twin = load64(code, load64(code, TWINS) + number) if load64(code, TWINS) else 0
        if twin and not cover(load64(code, twin + INDEX), load64(code, twin + REL)):
            return False
        if kind == RANGE and load64(relation, ROWS) - load64(index, COVERED) > UNCOVERED:
            return False
    return True


@exported
def run(code, rank, list_at, list_len, steps, resume):
    """Run bytecode from the beginning, with a list of rows for the first level if it takes one, or resume."""
    if not resume:
        store64(code, RANK, rank)
        store64(code, INSTANCES, 0)
        store64(code, EMITTED, 0)
        store64(code, FAILURES, 0)
        store64(code, ORIGIN, -1)
        store64(code, PENDING_FROM, 0)
        store64(code, PENDING_TO, 0)
        store64(code, HASHED, 0)
        store64(code, LEVEL, NOT_BEGUN)
        kind = load64(code, HEADER + KIND)
        if kind == LIST or kind == TEMP or kind == PLACES_LIST or kind == DIAGONAL_LIST:
            store64(code, HEADER + AT, list_at)
            store64(code, HEADER + END, list_len)
    if load64(code, LEVEL) == NOT_BEGUN:
        if not _are_covered(code):
            return GROW_INDEX
        store64(code, HEADER + HIGHEST, -1)
        store64(code, HEADER + CURSOR, _enter(code, HEADER))
        store64(code, LEVEL, 0)
    store64(code, STEPS, steps)
    return _derive(code)
