"""Conditions, negations and computed values of a level; part of the kernel `derive`."""

from __future__ import annotations

from tidelog.engine.local.kernels.bit_atoms import is_pair_refuted
from tidelog.engine.local.kernels.compiled import kernel
from tidelog.engine.local.kernels.layout import (
    ABSENT,
    ABSENT_PAIR,
    ARITY,
    EQ,
    FAILURES,
    FIL_FROM,
    FIL_KEYS,
    FIL_LEFT,
    FIL_OP,
    FIL_RIGHT,
    FIL_TO,
    FIL_WIDTH,
    GE,
    GT,
    KEY_CHECKS,
    KEY_COLUMN,
    KEY_SLOT,
    KEY_WIDTH,
    LE,
    LT,
    NE,
    NONE,
    TAG_AT,
    TUPLE,
)
from tidelog.engine.local.kernels.memory import load8, load64, store64
from tidelog.engine.local.kernels.numbers import computes
from tidelog.engine.local.kernels.rows import find, hash_of

__all__ = ["passes"]


@kernel
def _is_refuted(code, at):
    """Whether the relation of a negation contains the negated tuple."""
    relation, keys = load64(code, at + FIL_LEFT), load64(code, at + FIL_KEYS)
    values = code + 8 * load64(code, TUPLE)
    for j in range(keys, keys + KEY_WIDTH * load64(relation, ARITY), KEY_WIDTH):
        v = load64(code, load64(code, j + KEY_SLOT))
        if v == NONE and load64(code, j + KEY_CHECKS):
            return False
        store64(values, load64(code, j + KEY_COLUMN), v)
    row = find(relation, values, hash_of(values, load64(relation, ARITY)))
    return row >= 0 and (load64(code, at + FIL_RIGHT) >> load8(load64(relation, TAG_AT), row)) & 1 != 0


@kernel
def passes(code, level):
    """1 if the conditions and negations of a level hold, 0 if not, -1 if one is unknown.

    Also computes values. An instance with a value that cannot be computed is skipped and counted.
    """
    for at in range(load64(code, level + FIL_FROM), load64(code, level + FIL_TO), FIL_WIDTH):
        op = load64(code, at + FIL_OP)
        if op == ABSENT:
            if _is_refuted(code, at):
                return 0
            continue
        if op == ABSENT_PAIR:
            if is_pair_refuted(code, at):
                return 0
            continue
        x = load64(code, load64(code, at + FIL_LEFT))
        y = load64(code, load64(code, at + FIL_RIGHT))
        if op > ABSENT:
            fits = computes(code, op, x, y, load64(code, at + FIL_KEYS))
            if fits < 0:
                return -1
            if not fits:
                store64(code, FAILURES, load64(code, FAILURES) + 1)
                return 0
            continue
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
        elif op == GE:
            ok = x >= y
        else:
            return -1
        if not ok:
            return 0
    return 1
