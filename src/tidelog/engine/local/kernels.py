"""The kernel `derive`, in which a rule's body becomes its heads.

No kernel is specific to a program: what is joined how comes in a *frame*, an array of words, so a new rule
costs no compilation, and compiled code is kept on disk.

`derive` fuses everything that happens to an instance: it walks the atoms of a body depth first, and at the
bottom tests, counts or adds the head, without writing the instance down. It is a machine whose whole state is
in its frame, so it can stop when a table is full or time is up, and go on where it was.

A frame is known by its address. It holds a header, a level for each atom and one more for the head, then what
the levels refer to by their place in the frame: keys, columns, filters, slots. All are laid out by the
constants below; how relations and indexes are described is said in `rows`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.engine.local.codec import NONE
from tidelog.engine.local.heads import (
    ADD,
    DONE,
    EMIT,
    GROW_INDEX,
    GROW_LIST,
    GROW_OUT,
    GROW_TABLE,
    GROW_TRACE,
    INSERT,
    OVERDELETE,
    PAUSE,
    REDERIVE,
    REMOVE,
    SETTLE,
    SUBTRACT,
    end_round,
    insert_head,
    overdelete_head,
    rederive_row,
    rediscover_head,
    remove_head,
    settle_head,
    weigh_head,
)
from tidelog.engine.local.memory import load8, load32, load64, store64
from tidelog.engine.local.rows import (
    ARITY,
    COVERED,
    DATA_AT,
    DELTA_FROM,
    DELTA_TO,
    FOLLOWING_AT,
    HEADS_AT,
    HEADS_MASK,
    LIST_AT,
    ORDER_AT,
    ROWS,
    SEED,
    SUPPORT_AT,
    TAG_AT,
    cover,
    find,
    mix,
)

__all__ = [
    "ADD",
    "DONE",
    "EMIT",
    "GROW_INDEX",
    "GROW_LIST",
    "GROW_OUT",
    "GROW_TABLE",
    "GROW_TRACE",
    "INSERT",
    "OVERDELETE",
    "PAUSE",
    "REDERIVE",
    "REMOVE",
    "SETTLE",
    "SUBTRACT",
    "hurry",
    "run",
]

# a frame's header
LEVELS, LEVEL, TARGET, MODE, RANK, HEAD, WIDTH, SOURCE = range(8)
INSTANCES, STEPS, OUT_AT, OUT_CAP, EMITTED, TUPLE, ORIGIN, HEADER = range(8, 16)
NOT_BEGUN = -2  # of LEVEL

# a level
KIND, REL, MASK, INDEX, KEY_FROM, KEY_TO, COL_FROM, COL_TO = range(8)
FIL_FROM, FIL_TO, RANKED, AT, END, CURSOR, HIGHEST, BOUNDS, LEVEL_WIDTH = range(8, 17)
LIST, DELTA, SCAN, CHAIN, RANGE, MEMBER, TEMP = range(7)

# a key: column, slot, whether none matches nothing
KEY_WIDTH = 3
# a column: which, what to do, slot
COL_WIDTH = 3
BIND, EQUAL, BIND_SOME, EQUAL_SOME = range(4)  # the last two refuse none
# a filter: what, then its operands
FIL_WIDTH = 4
EQ, NE, LT, LE, GT, GE, ABSENT = range(7)
# the bounds of a range: column; slot of the lower bound or 0, whether it is left out; the same for the upper
BOUNDS_WIDTH = 5

# a loop: its header, then its relations, its frames, and the instances of each frame
FRAMES, RELATIONS, POSITION, ROUNDS, LOOP_RANK, LOOP_MODE, FOUND, LOOP_HEADER = range(8)

UNCOVERED = 64  # rows after those in order that are looked at one by one


# -- ranges


@njit(cache=True, nogil=True)
def _count_below(frame, level, value, is_bounded, inclusive):  # type: ignore[no-untyped-def]
    """How many rows in order come before a key and value; with `inclusive`, also those that have them."""
    relation, index, column = (
        load64(frame, level + REL),
        load64(frame, level + INDEX),
        load64(frame, load64(frame, level + BOUNDS)),
    )
    data, arity, order = load64(relation, DATA_AT), load64(relation, ARITY), load64(index, ORDER_AT)
    low, high = 0, load64(index, COVERED)
    while low < high:
        middle = (low + high) >> 1
        at = load64(order, middle) * arity
        sign = 0
        for j in range(load64(frame, level + KEY_FROM), load64(frame, level + KEY_TO), KEY_WIDTH):
            x, y = load64(data, at + load64(frame, j)), load64(frame, load64(frame, j + 1))
            if x != y:
                sign = -1 if x < y else 1
                break
        if sign == 0 and is_bounded:
            x = load64(data, at + column)
            sign = -1 if x < value else 1 if x > value else 0
        if sign < 0 or (sign == 0 and inclusive):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _enter_range(frame, level):  # type: ignore[no-untyped-def]
    bounds = load64(frame, level + BOUNDS)
    low, high = load64(frame, bounds + 1), load64(frame, bounds + 3)
    store64(frame, level + AT, load64(load64(frame, level + REL), ROWS))
    upper = load64(frame, high) if high else 0
    store64(
        frame,
        level + END,
        _count_below(frame, level, upper, high > 0, high == 0 or load64(frame, bounds + 4) == 0),
    )
    lower = load64(frame, low) if low else 0
    return _count_below(frame, level, lower, low > 0, low > 0 and load64(frame, bounds + 2) != 0)


@njit(cache=True, nogil=True)
def _is_within(frame, level, data, at):  # type: ignore[no-untyped-def]
    bounds = load64(frame, level + BOUNDS)
    value = load64(data, at + load64(frame, bounds))
    low, high = load64(frame, bounds + 1), load64(frame, bounds + 3)
    if low:
        v = load64(frame, low)
        if value < v or (value == v and load64(frame, bounds + 2)):
            return False
    if high:
        v = load64(frame, high)
        if value > v or (value == v and load64(frame, bounds + 4)):
            return False
    return True


@njit(cache=True, nogil=True)
def _next_in_range(frame, level):  # type: ignore[no-untyped-def]
    """The rows in order between the bounds, then those that came since and lie between them."""
    relation, index = load64(frame, level + REL), load64(frame, level + INDEX)
    at, covered = load64(frame, level + CURSOR), load64(index, COVERED)
    if at < covered:
        if at < load64(frame, level + END):
            store64(frame, level + CURSOR, at + 1)
            return load64(load64(index, ORDER_AT), at)
        at = covered
    data, arity, last = load64(relation, DATA_AT), load64(relation, ARITY), load64(frame, level + AT)
    first, end = load64(frame, level + KEY_FROM), load64(frame, level + KEY_TO)
    while at < last:
        row = at
        at += 1
        if _agrees(frame, data, row * arity, first, end) and _is_within(frame, level, data, row * arity):
            store64(frame, level + CURSOR, at)
            return row
    store64(frame, level + CURSOR, at)
    return -1


# -- derive


@njit(cache=True, nogil=True)
def _enter(frame, level):  # type: ignore[no-untyped-def]
    """Where the rows of a level begin, given the slots so far."""
    kind, relation = load64(frame, level + KIND), load64(frame, level + REL)
    if kind < CHAIN or kind == TEMP:
        if kind == DELTA:
            store64(frame, level + END, load64(relation, DELTA_TO))
            return load64(relation, DELTA_FROM)
        if kind == SCAN:
            store64(frame, level + END, load64(relation, ROWS))
        return 0
    first, last = load64(frame, level + KEY_FROM), load64(frame, level + KEY_TO)
    if kind == CHAIN:
        h = SEED
        for j in range(first, last, KEY_WIDTH):
            v = load64(frame, load64(frame, j + 1))
            if v == NONE and load64(frame, j + 2):
                return -1
            h = mix(h, v)
        index = load64(frame, level + INDEX)
        return load32(load64(index, HEADS_AT), np.int64(h & np.uint64(load64(index, HEADS_MASK))))
    values = frame + 8 * load64(frame, TUPLE)
    for j in range(first, last, KEY_WIDTH):
        v = load64(frame, load64(frame, j + 1))
        if v == NONE and load64(frame, j + 2):
            return -1 if kind == MEMBER else load64(relation, ROWS)
        if kind == MEMBER:
            store64(values, load64(frame, j), v)
    return find(relation, values) if kind == MEMBER else _enter_range(frame, level)


@njit(inline="always")
def _agrees(frame, data, at, first, last):  # type: ignore[no-untyped-def]
    """Whether the row whose values begin there has the values of a key."""
    same = True
    for j in range(first, last, KEY_WIDTH):
        if load64(data, at + load64(frame, j)) != load64(frame, load64(frame, j + 1)):
            same = False
            break
    return same


@njit(cache=True, nogil=True)
def _next(frame, level):  # type: ignore[no-untyped-def]
    """The next row of a level that agrees with its key, or a negative number."""
    kind, relation, at = (
        load64(frame, level + KIND),
        load64(frame, level + REL),
        load64(frame, level + CURSOR),
    )
    if kind == CHAIN:
        data, arity = load64(relation, DATA_AT), load64(relation, ARITY)
        first, last = load64(frame, level + KEY_FROM), load64(frame, level + KEY_TO)
        following = load64(load64(frame, level + INDEX), FOLLOWING_AT)
        while at >= 0:
            row = at
            at = load32(following, row)
            if _agrees(frame, data, row * arity, first, last):
                store64(frame, level + CURSOR, at)
                return row
        store64(frame, level + CURSOR, -1)
        return -1
    if kind == MEMBER:
        store64(frame, level + CURSOR, -1)
        return at
    if kind == RANGE:
        return _next_in_range(frame, level)
    if at >= load64(frame, level + END):
        return -1
    store64(frame, level + CURSOR, at + 1)
    if kind == LIST:
        return load64(load64(frame, level + AT), at)
    if kind == DELTA:
        return load64(load64(relation, LIST_AT), at)
    return at


@njit(cache=True, nogil=True)
def _accept(frame, level, row):  # type: ignore[no-untyped-def]
    """Whether a row is visible and agrees with itself; binds its columns to slots."""
    first, last = load64(frame, level + COL_FROM), load64(frame, level + COL_TO)
    if load64(frame, level + KIND) == TEMP:
        base, length = load64(frame, level + AT), load64(frame, level + END)
        for j in range(first, last, COL_WIDTH):
            store64(frame, load64(frame, j + 2), load64(base, load64(frame, j) * length + row))
        return True
    relation = load64(frame, level + REL)
    if not (load64(frame, level + MASK) >> load8(load64(relation, TAG_AT), row)) & 1:
        return False
    data, at = load64(relation, DATA_AT), row * load64(relation, ARITY)
    for j in range(first, last, COL_WIDTH):
        v = load64(data, at + load64(frame, j))
        op = load64(frame, j + 1)
        if op >= BIND_SOME and v == NONE:
            return False
        if op in (BIND, BIND_SOME):
            store64(frame, load64(frame, j + 2), v)
        elif v != load64(frame, load64(frame, j + 2)):
            return False
    return True


@njit(cache=True, nogil=True)
def _is_refuted(frame, at):  # type: ignore[no-untyped-def]
    """Whether the relation of a negation has what it negates."""
    relation, keys = load64(frame, at + 1), load64(frame, at + 3)
    values = frame + 8 * load64(frame, TUPLE)
    for j in range(keys, keys + KEY_WIDTH * load64(relation, ARITY), KEY_WIDTH):
        v = load64(frame, load64(frame, j + 1))
        if v == NONE and load64(frame, j + 2):
            return False
        store64(values, load64(frame, j), v)
    row = find(relation, values)
    return row >= 0 and (load64(frame, at + 2) >> load8(load64(relation, TAG_AT), row)) & 1 != 0


@njit(cache=True, nogil=True)
def _passes(frame, level):  # type: ignore[no-untyped-def]
    """Whether the conditions and negations of a level hold."""
    for at in range(load64(frame, level + FIL_FROM), load64(frame, level + FIL_TO), FIL_WIDTH):
        op = load64(frame, at)
        if op == ABSENT:
            if _is_refuted(frame, at):
                return False
            continue
        x, y = load64(frame, load64(frame, at + 1)), load64(frame, load64(frame, at + 2))
        if op == EQ:
            ok = x == y
        elif op == NE:
            ok = x != y
        elif op == LT:
            ok = x < y
        elif op == LE:
            ok = x <= y
        elif op == GT:
            ok = x > y
        else:
            ok = x >= y
        if not ok:
            return False
    return True


@njit(cache=True, nogil=True)
def _sweep(frame, level):  # type: ignore[no-untyped-def]
    """All that is left of a last level that only binds, for heads to insert or remove: the inner loop.

    The frame's sources say which column a value of the head comes from, or -1 if it is in a slot.
    """
    relation, target, mode, rank = (
        load64(frame, level + REL),
        load64(frame, TARGET),
        load64(frame, MODE),
        load64(frame, RANK),
    )
    data, arity, tags, support = (
        load64(relation, DATA_AT),
        load64(relation, ARITY),
        load64(relation, TAG_AT),
        load64(relation, SUPPORT_AT),
    )
    mask, ranked, above = (
        load64(frame, level + MASK),
        load64(frame, level + RANKED),
        load64(frame, level + HIGHEST),
    )
    chained, scanned, end = (
        load64(frame, level + KIND) == CHAIN,
        load64(frame, level + KIND) == SCAN,
        load64(frame, level + END),
    )
    following = load64(load64(frame, level + INDEX), FOLLOWING_AT) if chained else 0
    first, last = load64(frame, level + KEY_FROM), load64(frame, level + KEY_TO)
    width, source, head, values = (
        load64(frame, WIDTH),
        load64(frame, SOURCE),
        load64(frame, HEAD),
        frame + 8 * load64(frame, TUPLE),
    )
    for j in range(width):
        if load64(frame, source + j) < 0:
            store64(values, j, load64(frame, load64(frame, head + j)))
    listed = 0 if scanned or chained else _list_of(frame, level)
    instances = load64(frame, INSTANCES)
    at = load64(frame, level + CURSOR)
    status = DONE
    while True:
        here = at
        if chained:
            if at < 0:
                break
            row = at
            at = load32(following, row)
            if not _agrees(frame, data, row * arity, first, last):
                continue
        else:
            if at >= end:
                break
            row = at if scanned else load64(listed, at)
            at += 1
        if not (mask >> load8(tags, row)) & 1:
            continue
        for j in range(width):
            column = load64(frame, source + j)
            if column >= 0:
                store64(values, j, load64(data, row * arity + column))
        highest = max(above, load32(support, 2 * row)) if ranked else above
        if mode == INSERT:
            status = insert_head(target, values, highest, rank)
        elif mode == REMOVE:
            status = remove_head(target, values, highest)
        elif mode == OVERDELETE:
            status = overdelete_head(target, values)
        else:
            status = weigh_head(target, values, highest, mode)
        if status != DONE:
            at = here
            break
        instances += 1
    store64(frame, level + CURSOR, at)
    store64(frame, INSTANCES, instances)
    return status


@njit(cache=True, nogil=True)
def _list_of(frame, level):  # type: ignore[no-untyped-def]
    if load64(frame, level + KIND) == DELTA:
        return load64(load64(frame, level + REL), LIST_AT)
    return load64(frame, level + AT)


@njit(cache=True, nogil=True)
def _leaf(frame, highest):  # type: ignore[no-untyped-def]
    """Do with an instance what the mode says, or say what has to grow first."""
    mode, head, width, origin = (
        load64(frame, MODE),
        load64(frame, HEAD),
        load64(frame, WIDTH),
        load64(frame, ORIGIN),
    )
    if mode == EMIT:
        at, capacity, out = load64(frame, EMITTED), load64(frame, OUT_CAP), load64(frame, OUT_AT)
        if at >= capacity:
            return GROW_OUT
        for j in range(width):
            store64(out, j * capacity + at, load64(frame, load64(frame, head + j)))
        store64(out, width * capacity + at, highest)
        store64(out, (width + 1) * capacity + at, origin)
        store64(frame, EMITTED, at + 1)
        return DONE
    target, rank = load64(frame, TARGET), load64(frame, RANK)
    if mode == REDERIVE and origin >= 0:
        return rederive_row(target, origin, rank)
    values = frame + 8 * load64(frame, TUPLE)
    for j in range(width):
        store64(values, j, load64(frame, load64(frame, head + j)))
    if mode == INSERT:
        return insert_head(target, values, highest, rank)
    if mode == REDERIVE:
        return rediscover_head(target, values, rank)
    if mode == SETTLE:
        return settle_head(target, values, highest, rank)
    if mode == OVERDELETE:
        return overdelete_head(target, values)
    if mode == REMOVE:
        return remove_head(target, values, highest)
    return weigh_head(target, values, highest, mode)


@njit(cache=True, nogil=True)
def _descend(frame, number, level, row):  # type: ignore[no-untyped-def]
    """Go on to the next level with a row of this one."""
    above = load64(frame, level + HIGHEST)
    ranked = load64(frame, level + RANKED)
    if load64(frame, level + KIND) == TEMP:
        base, length = load64(frame, level + AT), load64(frame, level + END)
        above = load64(base, (ranked - 1) * length + row)
        store64(frame, ORIGIN, load64(base, ranked * length + row))
    else:
        if ranked:
            above = max(above, load32(load64(load64(frame, level + REL), SUPPORT_AT), 2 * row))
        if number == 0:
            store64(frame, ORIGIN, row)
    following = level + LEVEL_WIDTH
    store64(frame, following + HIGHEST, above)
    if number + 1 < load64(frame, LEVELS):
        store64(frame, following + CURSOR, _enter(frame, following))


@njit(cache=True, nogil=True)
def _derive(frame):  # type: ignore[no-untyped-def]
    """Run the machine until it is done, something has to grow, or it has made its steps."""
    levels, steps, number = load64(frame, LEVELS), load64(frame, STEPS), load64(frame, LEVEL)
    swept = levels - 1 if load64(frame, SOURCE) else -1
    status = DONE
    while number >= 0:
        level = HEADER + number * LEVEL_WIDTH
        steps -= 1
        if steps < 0:
            status = PAUSE
            break
        if number == swept:
            status = _sweep(frame, level)
            if status != DONE:
                break
            number -= 1
        elif number == levels:
            status = _leaf(frame, load64(frame, level + HIGHEST))
            if status != DONE:
                break
            store64(frame, INSTANCES, load64(frame, INSTANCES) + 1)
            number -= 1
        else:
            row = _next(frame, level)
            if row < 0:
                number -= 1
            elif _accept(frame, level, row) and _passes(frame, level):
                _descend(frame, number, level, row)
                number += 1
    store64(frame, LEVEL, number)
    return status


@njit(cache=True, nogil=True)
def _are_covered(frame):  # type: ignore[no-untyped-def]
    """Bring the indexes of all levels up to date; false if one has to be made larger first."""
    for number in range(load64(frame, LEVELS)):
        level = HEADER + number * LEVEL_WIDTH
        kind, index, relation = (
            load64(frame, level + KIND),
            load64(frame, level + INDEX),
            load64(frame, level + REL),
        )
        if kind == CHAIN and not cover(index, relation):
            return False
        if kind == RANGE and load64(relation, ROWS) - load64(index, COVERED) > UNCOVERED:
            return False
    return True


@njit(cache=True, nogil=True)
def run(frame, rank, list_at, list_len, steps, resume):  # type: ignore[no-untyped-def]
    """Run a frame from the beginning, with rows of its first level if it takes a list, or go on."""
    if not resume:
        store64(frame, RANK, rank)
        store64(frame, INSTANCES, 0)
        store64(frame, EMITTED, 0)
        store64(frame, ORIGIN, -1)
        store64(frame, LEVEL, NOT_BEGUN)
        if load64(frame, HEADER + KIND) in (LIST, TEMP):
            store64(frame, HEADER + AT, list_at)
            store64(frame, HEADER + END, list_len)
    if load64(frame, LEVEL) == NOT_BEGUN:
        if not _are_covered(frame):
            return GROW_INDEX
        store64(frame, HEADER + HIGHEST, -1)
        store64(frame, HEADER + CURSOR, _enter(frame, HEADER))
        store64(frame, LEVEL, 0)
    store64(frame, STEPS, steps)
    return _derive(frame)


@njit(cache=True, nogil=True)
def hurry(loop, most, large, steps, resume):  # type: ignore[no-untyped-def]
    """Rounds of a loop, until one finds nothing, or more than is `large`, or there were so many.

    It ends between rounds, or where something has to grow: then the frame at POSITION is to be resumed.
    """
    frames, relations, mode = load64(loop, FRAMES), load64(loop, RELATIONS), load64(loop, LOOP_MODE)
    first = LOOP_HEADER + relations
    while True:
        position, rank = load64(loop, POSITION), load64(loop, LOOP_RANK)
        while position < frames:
            frame = load64(loop, first + position)
            relation = load64(frame, HEADER + REL)
            if resume or load64(relation, DELTA_FROM) < load64(relation, DELTA_TO):
                status = run(frame, rank, 0, 0, steps, resume)
                if status != DONE:
                    store64(loop, POSITION, position)
                    return status
                resume = False
                found = first + frames + position
                store64(loop, found, load64(loop, found) + load64(frame, INSTANCES))
            position += 1
        total = 0
        for i in range(relations):
            total += end_round(load64(loop, LOOP_HEADER + i), mode)
        store64(loop, POSITION, 0)
        store64(loop, ROUNDS, load64(loop, ROUNDS) + 1)
        store64(loop, LOOP_RANK, rank + 1)
        store64(loop, FOUND, load64(loop, FOUND) + total)
        if total == 0 or total > large or load64(loop, ROUNDS) >= most:
            return DONE
