"""Comparisons of values, by integers that have their order (see `codes.order`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Value, joins, order_key
from tidelog.engine.local.codes.codec import NONE, Codec, Codes, is_direct
from tidelog.engine.local.codes.order import keys as ordered_by
from tidelog.engine.local.expressions.operations import Fast, Operation, Plain
from tidelog.engine.local.expressions.vectors import Mask, Vector

__all__ = ["COMPARISONS", "EQUALITIES", "choice", "comparison", "equality", "keys"]


def keys(codec: Codec, type_: Type, columns: Sequence[Codes]) -> tuple[Sequence[Codes], Codes | None]:
    """Map columns of codes to columns of integers in the order of the values.

    Also returns the code of each integer from 0 on, or None if the integers are the codes.
    """
    return ordered_by(None if is_direct(type_) else codec.dictionary(type_), columns)


# -- equality

EQUALITIES: Final = frozenset(["==", "!="])


def equality(op: str, type_: Type) -> Operation:
    """`none` equals nothing, not even itself. Other values are equal if their codes are."""
    wanted = op == "=="

    def fast(a: Vector, b: Vector) -> tuple[Vector, Mask | None]:
        equal: Mask = a.codes == b.codes
        if isinstance(type_, types.Option):
            equal &= a.codes != NONE
        return Vector((equal == wanted).astype(np.int64)), None

    return Operation((type_, type_), types.BOOL, lambda a, b: joins(a, b) == wanted, fast)


# -- order

COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def comparison(op: str, type_: Type, codec: Codec) -> Operation:
    compare = COMPARISONS[op]

    def fast(a: Vector, b: Vector) -> tuple[Vector, Mask | None]:
        if _are_plain_numbers(a, b):
            return Vector(compare(a.numbers, b.numbers).astype(np.int64)), None
        (left, right), _ = keys(codec, type_, [a.codes, b.codes])
        return Vector(compare(left, right).astype(np.int64)), None

    def plain(a: Value, b: Value) -> bool:
        return bool(compare(order_key(type_, a), order_key(type_, b)))

    return Operation((type_, type_), types.BOOL, plain, fast)


def _are_plain_numbers(a: Vector, b: Vector) -> bool:
    """Whether to compare two vectors as numbers: they are available as numbers, without NaN."""
    at_hand = (a.is_numbers or len(a) == 1) and (b.is_numbers or len(b) == 1) and a.is_numbers | b.is_numbers
    return at_hand and not np.isnan(a.numbers).any() and not np.isnan(b.numbers).any()


def choice(function: str, type_: Type, codec: Codec) -> tuple[Plain, Fast]:
    """`min` or `max` of two values: the plain and the fast form."""
    choose = min if function == "min" else max
    better = COMPARISONS["<=" if function == "min" else ">="]

    def fast(a: Vector, b: Vector) -> tuple[Vector, Mask | None]:
        (left, right), _ = keys(codec, type_, [a.codes, b.codes])
        return Vector(np.where(better(left, right), a.codes, b.codes)), None

    return (lambda a, b: choose(a, b, key=lambda v: order_key(type_, v))), fast
