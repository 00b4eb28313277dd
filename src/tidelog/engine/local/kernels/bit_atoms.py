"""Atoms over a relation that is stored as bit rows; part of the kernel `derive`.

Such a relation has two matrices, those before and after the commit. The tags that a level can see decide
which of their bits count: a pair that is in both has the tags OLD and ALIVE. Values are numbered by a table
of names; the number of a value is its place. What a level is at are two places: PLACE, and the one that
`next_pair` returns.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tidelog.engine.local.kernels.cells import cell
from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.layout import (
    AGAIN,
    AT,
    BIND,
    BIND_SOME,
    BITS,
    CELLS_AT,
    COL_COLUMN,
    COL_FROM,
    COL_OP,
    COL_SLOT,
    COL_TO,
    COL_WIDTH,
    COLUMN,
    CURSOR,
    DIAGONAL,
    DIAGONAL_LIST,
    END,
    FIL_KEYS,
    FIL_LEFT,
    FIL_RIGHT,
    IDS_AT,
    INDEX,
    KEY_FROM,
    KEY_SLOT,
    KEY_WIDTH,
    KIND,
    MASK,
    MATRIX_WIDTH,
    NAMES_AT,
    PAIR,
    PAIRS,
    PLACE,
    PLACES,
    PLACES_LIST,
    REL,
    ROW,
    ROW_WORDS,
    ROWS_AT,
    SCANNED,
    STRIDE,
    TRANSPOSED,
    TUPLE,
    WIDE,
    WORD,
)
from tidelog.engine.local.kernels.memory import load64, store64
from tidelog.engine.local.kernels.rows import find, hash_of

__all__ = ["accept_pair", "enter_pairs", "is_pair_refuted", "name_of", "next_pair"]

_BLOCK = 64  # rows that one step examines

# the tags of a pair that counts, as a mask: ALIVE is 1 << 1, OLD is 1 << 2, both are 1 << 3
_INSERTED, _DELETED, _BOTH = 2, 4, 8
_TAGS = _INSERTED | _DELETED | _BOTH


def _finder() -> Any:
    @intrinsic
    def lowest_bit(typingctx: Any, word: Any) -> Any:
        """The position of the lowest bit of a word that is not 0."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], ir.IntType(1)(1))

        return types.int64(types.int64), codegen

    return lowest_bit


_lowest_bit = _finder()


@inlined
def _word(matrix, x, w):
    """A word of the row of a place, which is 0 if there is none."""
    words = load64(matrix, ROW_WORDS)
    if x >= load64(matrix, PLACES) or w >= words:
        return 0
    return load64(load64(matrix, ROWS_AT), load64(load64(matrix, IDS_AT), x) * words + w)


@inlined
def _seen(matrices, mask, x, w):
    """The bits of a word that count, of the matrices before and after the commit."""
    tags = mask & _TAGS
    if tags == _INSERTED | _BOTH:
        return _word(matrices + 8 * MATRIX_WIDTH, x, w)
    old = _word(matrices, x, w)
    if tags == _DELETED | _BOTH:
        return old
    new = _word(matrices + 8 * MATRIX_WIDTH, x, w)
    if tags == _BOTH:
        return old & new
    if tags == _TAGS:
        return old | new
    return new & ~old if tags == _INSERTED else old & ~new


@inlined
def _has(matrices, mask, x, y):
    return (_seen(matrices, mask, x, y >> 6) >> (y & 63)) & 1


@inlined
def _most(matrices, field):
    """The larger of the numbers that the matrices before and after the commit have."""
    old, new = load64(matrices, field), load64(matrices, MATRIX_WIDTH + field)
    return old if old > new else new


@kernel
def _place_of(code, relation, value):
    """The place of a value, or a negative number."""
    values = code + 8 * load64(code, TUPLE)
    store64(values, 0, value)
    return find(load64(relation, NAMES_AT), values, hash_of(values, 1))


@kernel
def enter_pairs(code, level):
    """The initial cursor of a level, given the slots bound so far."""
    kind, relation = load64(code, level + KIND), load64(code, level + REL)
    store64(code, level + BITS, 0)
    store64(code, level + WORD, _most(relation, ROW_WORDS))
    if kind == PLACES_LIST or kind == DIAGONAL_LIST:
        return 0
    if kind == PAIRS or kind == DIAGONAL:
        store64(code, level + END, _most(relation, PLACES))
        return 0
    key = load64(code, level + KEY_FROM)
    x = _place_of(code, relation, load64(code, load64(code, key + KEY_SLOT)))
    if kind == PAIR:
        y = _place_of(code, relation, load64(code, load64(code, key + KEY_WIDTH + KEY_SLOT)))
        return 0 if x >= 0 and y >= 0 and _has(relation, load64(code, level + MASK), x, y) else -1
    matrices = relation
    if kind == COLUMN:
        matrices = relation + 8 * TRANSPOSED if load64(relation, TRANSPOSED + ROWS_AT) else 0
    store64(code, level + INDEX, matrices)
    store64(code, level + PLACE, x)
    if x >= 0 and matrices:
        store64(code, level + WORD, 0)
        store64(code, level + END, _most(matrices, ROW_WORDS))
    elif x >= 0:
        store64(code, level + END, _most(relation, PLACES))
    else:
        store64(code, level + WORD, 0)
        store64(code, level + END, 0)
    return 0


@inlined
def _next_in_row(code, level, matrices, end):
    """The next place in the row of PLACE, or -1."""
    bits, w = load64(code, level + BITS), load64(code, level + WORD)
    if not bits:
        x, mask = load64(code, level + PLACE), load64(code, level + MASK)
        while not bits and w < end:
            bits = _seen(matrices, mask, x, w)
            w += 1
        store64(code, level + WORD, w)
        if not bits:
            return -1
    store64(code, level + BITS, bits & (bits - 1))
    return (w - 1) * 64 + _lowest_bit(bits)


@kernel
def _next_in_column(code, level):
    """The next place whose row has the bit of PLACE."""
    relation, mask = load64(code, level + REL), load64(code, level + MASK)
    at, end, y = load64(code, level + CURSOR), load64(code, level + END), load64(code, level + PLACE)
    last = at + _BLOCK if at + _BLOCK < end else end
    x = at
    while x < last and not _has(relation, mask, x, y):
        x += 1
    found = x < last
    after = x + 1 if found else last
    store64(code, level + CURSOR, after)
    store64(code, level + SCANNED, load64(code, level + SCANNED) + after - at)
    if found:
        return x
    return AGAIN if last < end else -1


@kernel
def _next_on_diagonal(code, level):
    """The next place, of all or of those in a list, whose row has its own bit."""
    relation, mask, listed = (
        load64(code, level + REL),
        load64(code, level + MASK),
        load64(code, level + KIND) == DIAGONAL_LIST,
    )
    at, end = load64(code, level + CURSOR), load64(code, level + END)
    last = at + _BLOCK if at + _BLOCK < end else end
    for i in range(at, last):
        x = load64(load64(code, level + AT), i) if listed else i
        if _has(relation, mask, x, x):
            store64(code, level + CURSOR, i + 1)
            store64(code, level + PLACE, x)
            return x
    store64(code, level + CURSOR, last)
    return AGAIN if last < end else -1


@kernel
def next_pair(code, level):
    """The next second place of a level, a negative number if there is none, or AGAIN after some work."""
    kind, relation = load64(code, level + KIND), load64(code, level + REL)
    if kind == PAIR:
        found = load64(code, level + CURSOR)
        store64(code, level + CURSOR, -1)
        return found
    if kind == ROW or kind == COLUMN:
        matrices = load64(code, level + INDEX)
        if not matrices:
            return _next_in_column(code, level)
        return _next_in_row(code, level, matrices, load64(code, level + END))
    if kind >= DIAGONAL:
        return _next_on_diagonal(code, level)
    found = _next_in_row(code, level, relation, _most(relation, ROW_WORDS))
    at = load64(code, level + CURSOR)
    if found >= 0 or at >= load64(code, level + END):
        return found
    x = load64(load64(code, level + AT), at) if kind == PLACES_LIST else at
    store64(code, level + PLACE, x)
    store64(code, level + WORD, 0)
    store64(code, level + CURSOR, at + 1)
    return AGAIN


@inlined
def name_of(names, x):
    return cell(load64(names, CELLS_AT), x * load64(names, STRIDE), load64(names, WIDE))


@kernel
def accept_pair(code, level, y):
    """Whether a pair matches its terms; binds its columns to slots."""
    names = load64(load64(code, level + REL), NAMES_AT)
    for j in range(load64(code, level + COL_FROM), load64(code, level + COL_TO), COL_WIDTH):
        v = name_of(names, y if load64(code, j + COL_COLUMN) else load64(code, level + PLACE))
        op = load64(code, j + COL_OP)
        if op == BIND or op == BIND_SOME:
            store64(code, load64(code, j + COL_SLOT), v)
        elif v != load64(code, load64(code, j + COL_SLOT)):
            return False
    return True


@kernel
def is_pair_refuted(code, at):
    """Whether the relation of a negation contains the negated pair."""
    relation, keys = load64(code, at + FIL_LEFT), load64(code, at + FIL_KEYS)
    x = _place_of(code, relation, load64(code, load64(code, keys + KEY_SLOT)))
    y = _place_of(code, relation, load64(code, load64(code, keys + KEY_WIDTH + KEY_SLOT)))
    return x >= 0 and y >= 0 and _has(relation, load64(code, at + FIL_RIGHT), x, y) != 0
