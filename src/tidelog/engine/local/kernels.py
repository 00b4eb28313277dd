"""The kernel `derive`, in which a rule's body becomes its heads.

No kernel is specific to a program: what is joined how comes in small arrays, so a new rule costs no
compilation, and compiled code is kept on disk.

`derive` fuses everything that happens to an instance: it walks the atoms of a body depth first, and at the
bottom tests, counts or adds the head, without writing the instance down. It is a machine whose whole state
is in arrays, so it can stop when a table is full, have it grown, and go on where it was.

How a relation is described is said in `rows`; a level is a row of `LV`, a key one of `KEYS`, and so on,
laid out by the constants below.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.engine.local.codec import NONE
from tidelog.engine.local.heads import (
    DONE,
    EMITTED,
    GROW_LIST,
    GROW_OUT,
    GROW_TABLE,
    INSTANCES,
    LEVEL,
    LISTED,
    LOGS,
    insert_head,
    is_there,
    rederive_head,
    rediscover_head,
    remove_head,
)
from tidelog.engine.local.memory import load8, load32, load64
from tidelog.engine.local.rows import (
    ARITY,
    DATA_AT,
    HASH_AT,
    HASH_MASK,
    SEED,
    SUPPORT_AT,
    TAG_AT,
    find,
    mix,
)

__all__ = [
    "DONE",
    "EMIT",
    "GROW_LIST",
    "GROW_OUT",
    "GROW_TABLE",
    "INSERT",
    "REDERIVE",
    "REMOVE",
    "apply_heads",
    "derive",
    "enter",
]

# LV: a level
KIND, REL, MASK, HEADS_AT, NEXT_AT, INDEX_MASK, KEY_FROM, KEY_TO = range(8)
COL_FROM, COL_TO, FIL_FROM, FIL_TO, RANKED, LIST_AT, LIST_LEN, LEVEL_WIDTH = range(8, 16)
LIST, SCAN, INDEX, MEMBER, TEMP = range(5)

# COLS: column, what to do, slot
BIND, EQUAL, BIND_SOME, EQUAL_SOME = range(4)  # the last two refuse none
# FIL: what, then its operands
EQ, NE, LT, LE, GT, GE, ABSENT = range(7)

# modes of `derive`
INSERT, REMOVE, REDERIVE, EMIT = range(4)

_NONE = NONE


# -- derive


@njit(cache=True, nogil=True)
def _enter(LV, KEYS, R, b, t, level):  # type: ignore[no-untyped-def]
    """Where the rows of a level begin, given the slots so far."""
    kind = LV[level, KIND]
    if kind != INDEX and kind != MEMBER:
        return 0
    first, last = LV[level, KEY_FROM], LV[level, KEY_TO]
    if kind == MEMBER:
        for j in range(first, last):
            v = b[KEYS[j, 1]]
            if KEYS[j, 2] and v == _NONE:
                return -1
            t[KEYS[j, 0]] = v
        return find(R, LV[level, REL], t)
    h = SEED
    for j in range(first, last):
        v = b[KEYS[j, 1]]
        if KEYS[j, 2] and v == _NONE:
            return -1
        h = mix(h, v)
    return load32(LV[level, HEADS_AT], np.int64(h & np.uint64(LV[level, INDEX_MASK])))


@njit(cache=True, nogil=True)
def _widest(R):  # type: ignore[no-untyped-def]
    """The largest number of columns among relations, hidden ones included; at least one."""
    width = 1
    for r in range(R.shape[0]):
        width = max(width, R[r, ARITY])
    return width


@njit(cache=True, nogil=True)
def enter(LV, KEYS, R, b, cur):  # type: ignore[no-untyped-def]
    """Set the machine to the beginning of its first level."""
    cur[0] = _enter(LV, KEYS, R, b, np.empty(_widest(R), np.int64), 0)


@njit(inline="always")
def _agrees(data, at, KEYS, b, first, last):  # type: ignore[no-untyped-def]
    """Whether the row whose values begin there has the values of a key."""
    same = True
    for j in range(first, last):
        if load64(data, at + KEYS[j, 0]) != b[KEYS[j, 1]]:
            same = False
            break
    return same


@njit(cache=True, nogil=True)
def _next(LV, KEYS, R, b, cur, level):  # type: ignore[no-untyped-def]
    """The next row of a level that agrees with its key, or -1."""
    kind = LV[level, KIND]
    if kind == INDEX:
        r = LV[level, REL]
        data, arity = R[r, DATA_AT], R[r, ARITY]
        first, last = LV[level, KEY_FROM], LV[level, KEY_TO]
        row = cur[level]
        while row >= 0:
            following = load32(LV[level, NEXT_AT], row)
            if _agrees(data, row * arity, KEYS, b, first, last):
                cur[level] = following
                return row
            row = following
        cur[level] = -1
        return -1
    if kind == MEMBER:
        row = cur[level]
        cur[level] = -1
        return row if row >= 0 else -1
    at = cur[level]
    if at >= LV[level, LIST_LEN]:
        return -1
    cur[level] = at + 1
    return load64(LV[level, LIST_AT], at) if kind == LIST else at


@njit(cache=True, nogil=True)
def _accept(LV, COLS, R, b, level, row):  # type: ignore[no-untyped-def]
    """Whether a row is visible and agrees with itself; binds its columns to slots."""
    r = LV[level, REL]
    if LV[level, KIND] == TEMP:
        base, length = LV[level, LIST_AT], LV[level, LIST_LEN]
        for j in range(LV[level, COL_FROM], LV[level, COL_TO]):
            b[COLS[j, 2]] = load64(base, COLS[j, 0] * length + row)
        return True
    if not (LV[level, MASK] >> load8(R[r, TAG_AT], row)) & 1:
        return False
    data, arity = R[r, DATA_AT], R[r, ARITY]
    for j in range(LV[level, COL_FROM], LV[level, COL_TO]):
        v = load64(data, row * arity + COLS[j, 0])
        op = COLS[j, 1]
        if op >= BIND_SOME and v == _NONE:
            return False
        if op in (BIND, BIND_SOME):
            b[COLS[j, 2]] = v
        elif v != b[COLS[j, 2]]:
            return False
    return True


@njit(cache=True, nogil=True)
def _passes(LV, KEYS, FIL, R, b, t, level):  # type: ignore[no-untyped-def]
    """Whether the conditions and negations of a level hold."""
    for f in range(LV[level, FIL_FROM], LV[level, FIL_TO]):
        op = FIL[f, 0]
        if op == ABSENT:
            known = True
            r = FIL[f, 1]
            for j in range(FIL[f, 3], FIL[f, 3] + R[r, ARITY]):
                v = b[KEYS[j, 1]]
                if v == _NONE and KEYS[j, 2]:
                    known = False
                t[KEYS[j, 0]] = v
            if known:
                row = find(R, r, t)
                if row >= 0 and (FIL[f, 2] >> load8(R[r, TAG_AT], row)) & 1:
                    return False
            continue
        x, y = b[FIL[f, 1]], b[FIL[f, 2]]
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
def _sweep(  # type: ignore[no-untyped-def]
    LV, KEYS, R, HEAD, target, mode, rank, b, cur, highest, st, listed, undo, level, source, t
):
    """All that is left of the last level, for plain heads: the loop where most time goes.

    `source[j]` is the column that the head's value j comes from, or -1 if it is in a slot.
    """
    r = LV[level, REL]
    data, arity, tags, mask = R[r, DATA_AT], R[r, ARITY], R[r, TAG_AT], LV[level, MASK]
    indexed, following = LV[level, KIND] == INDEX, LV[level, NEXT_AT]
    first, last = LV[level, KEY_FROM], LV[level, KEY_TO]
    column, wanted = (KEYS[first, 0], b[KEYS[first, 1]]) if last > first else (0, 0)
    ranked, above, length = LV[level, RANKED], highest[level], LV[level, LIST_LEN]
    width = HEAD.size
    table, table_mask = R[target, HASH_AT], R[target, HASH_MASK]
    head_data, head_tags, head_support = R[target, DATA_AT], R[target, TAG_AT], R[target, SUPPORT_AT]
    for j in range(width):
        if source[j] < 0:
            t[j] = b[HEAD[j]]
    at = cur[level]
    while True:
        if indexed:
            if at < 0:
                break
            row = at
            at = load32(following, row)
            if load64(data, row * arity + column) != wanted:
                continue
            if not _agrees(data, row * arity, KEYS, b, first + 1, last):
                continue
        else:
            if at >= length:
                break
            row = load64(LV[level, LIST_AT], at) if LV[level, KIND] == LIST else at
            at += 1
        if not (mask >> load8(tags, row)) & 1:
            continue
        if st[LISTED] >= listed.size or st[LOGS] >= undo.shape[1]:
            cur[level] = row if indexed else at - 1
            return GROW_LIST
        for j in range(width):
            if source[j] >= 0:
                t[j] = load64(data, row * arity + source[j])
        high = max(above, load32(R[r, SUPPORT_AT], 2 * row)) if ranked else above
        if mode == INSERT:
            if is_there(table, table_mask, head_data, head_tags, head_support, t, width, high):
                st[INSTANCES] += 1
                continue
            if insert_head(R, target, t, high, rank, listed, undo, st) != DONE:
                cur[level] = row if indexed else at - 1
                return GROW_TABLE
        else:
            remove_head(R, target, t, high, listed, undo, st)
        st[INSTANCES] += 1
    cur[level] = -1 if indexed else length
    return DONE


@njit(cache=True, nogil=True)
def _plain_last(LV, COLS, HEAD, mode, source):  # type: ignore[no-untyped-def]
    """Whether the last level can be swept, and where the head's values then come from."""
    last = LV.shape[0] - 1
    kind = LV[last, KIND]
    if mode > REMOVE or kind in (MEMBER, TEMP) or LV[last, FIL_FROM] != LV[last, FIL_TO]:
        return False
    for j in range(LV[last, COL_FROM], LV[last, COL_TO]):
        if COLS[j, 1] != BIND:
            return False
    for i in range(HEAD.size):
        source[i] = -1
        for j in range(LV[last, COL_FROM], LV[last, COL_TO]):
            if COLS[j, 2] == HEAD[i]:
                source[i] = COLS[j, 0]
    return True


@njit(cache=True, nogil=True)
def _leaf(  # type: ignore[no-untyped-def]
    R, HEAD, target, mode, rank, b, origin, highest, st, listed, undo, out, t
):
    """Do with an instance what the mode says, or say what has to grow first."""
    if mode == EMIT:
        at = st[EMITTED]
        if at >= out.shape[1]:
            return GROW_OUT
        for j in range(HEAD.size):
            out[j, at] = b[HEAD[j]]
        out[HEAD.size, at] = highest
        out[HEAD.size + 1, at] = origin
        st[EMITTED] = at + 1
        return DONE
    if st[LISTED] >= listed.size or st[LOGS] >= undo.shape[1]:
        return GROW_LIST
    if mode == REDERIVE and origin >= 0:
        rederive_head(R, target, origin, rank, listed, st)
        return DONE
    for j in range(HEAD.size):
        t[j] = b[HEAD[j]]
    if mode == INSERT:
        return insert_head(R, target, t, highest, rank, listed, undo, st)
    if mode == REDERIVE:
        rediscover_head(R, target, t, rank, listed, st)
    else:
        remove_head(R, target, t, highest, listed, undo, st)
    return DONE


@njit(cache=True, nogil=True)
def derive(  # type: ignore[no-untyped-def]
    LV, KEYS, COLS, FIL, R, HEAD, target, mode, rank, b, cur, rows, highest, st, listed, undo, out
):
    """Run the machine until it is done or something has to grow."""
    levels = LV.shape[0]
    t = np.empty(_widest(R), np.int64)
    source = np.empty(max(HEAD.size, 1), np.int64)
    plain = _plain_last(LV, COLS, HEAD, mode, source)
    level = st[LEVEL]
    while level >= 0:
        if plain and level == levels - 1:
            status = _sweep(
                LV, KEYS, R, HEAD, target, mode, rank, b, cur, highest, st, listed, undo, level, source, t
            )
            if status != DONE:
                st[LEVEL] = level
                return status
            level -= 1
            continue
        if level == levels:
            status = _leaf(R, HEAD, target, mode, rank, b, rows[0], highest[level], st, listed, undo, out, t)
            if status != DONE:
                st[LEVEL] = level
                return status
            st[INSTANCES] += 1
            level -= 1
            continue
        row = _next(LV, KEYS, R, b, cur, level)
        if row < 0:
            level -= 1
            continue
        if not _accept(LV, COLS, R, b, level, row) or not _passes(LV, KEYS, FIL, R, b, t, level):
            continue
        rows[level] = row
        above = highest[level]
        if LV[level, RANKED]:
            if LV[level, KIND] == TEMP:
                at, length = LV[level, RANKED] - 1, LV[level, LIST_LEN]
                above = load64(LV[level, LIST_AT], at * length + row)
                rows[0] = load64(LV[level, LIST_AT], (at + 1) * length + row)
            else:
                above = max(above, load32(R[LV[level, REL], SUPPORT_AT], 2 * row))
        level += 1
        highest[level] = above
        if level < levels:
            cur[level] = _enter(LV, KEYS, R, b, t, level)
    st[LEVEL] = -1
    return DONE


@njit(cache=True, nogil=True)
def apply_heads(  # type: ignore[no-untyped-def]
    R, target, mode, rank, heads, highest, origins, start, st, listed, undo
):
    """What `derive` does with heads, for computed ones; how many are done, fewer if something is full."""
    t = np.empty(_widest(R), np.int64)
    for i in range(start, highest.size):
        if st[LISTED] >= listed.size or st[LOGS] >= undo.shape[1]:
            return i
        for c in range(heads.shape[0]):
            t[c] = heads[c, i]
        if mode == INSERT:
            if insert_head(R, target, t, highest[i], rank, listed, undo, st) != DONE:
                return i
        elif mode == REMOVE:
            remove_head(R, target, t, highest[i], listed, undo, st)
        elif origins[i] >= 0:
            rederive_head(R, target, origins[i], rank, listed, st)
        else:
            rediscover_head(R, target, t, rank, listed, st)
    return highest.size
