"""Conversions: the operator `as`, and exact numbers to a type.

A number is rounded once, from its exact value as a ratio of integers: truncated toward zero for an integer,
rounded half to even at the scale of a decimal, and to the nearest float or double, ties to even. A float or
double becomes the decimal that it is written as, so 0.1 becomes 0.1. Text is read and written as in
`data.values`, except that bytes and strings are converted by UTF-8.

Options are not handled here.
"""

from __future__ import annotations

import decimal
import math
import struct
from datetime import UTC, date, datetime, timedelta
from typing import Final, assert_never

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, Value, from_text, to_text
from tidelog.engine.local.codes.codec import is_direct
from tidelog.engine.local.expressions.arithmetic import (
    from_units,
    half_even,
    limits,
    outside,
    single,
    singles,
)
from tidelog.engine.local.expressions.operations import Fast, Operation, Plain, Undefined
from tidelog.engine.local.expressions.vectors import Mask, Vector
from tidelog.errors import shown

__all__ = ["DAYS", "EXACT_DOUBLE", "MOMENTS", "conversion", "nearest"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = date.min.toordinal() - _EPOCH.toordinal()
_LAST_DAY: Final = date.max.toordinal() - _EPOCH.toordinal()
_DAY: Final = 86_400_000_000  # microseconds
DAYS: Final = _FIRST_DAY, _LAST_DAY
MOMENTS: Final = _FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1
EXACT_DOUBLE: Final = 2**53  # integers up to here are exact doubles, and so are powers of ten up to 10**22


def conversion(source: types.Item, target: types.Item) -> Operation:
    """`as` between two types that `library.can_cast` allows."""
    fast = _fast(source, target) if is_direct(source) and is_direct(target) else None
    return Operation((source,), target, _plain(source, target), fast)


# -- exact numbers


def nearest(type_: Type, numerator: int, denominator: int) -> Value:
    """Convert a ratio to a type, truncating or rounding once. The range of integers is not checked."""
    match type_:
        case types.Decimal(_, scale):
            return from_units(type_, int(half_even(numerator * 10**scale, denominator)))
        case types.Double():
            return _double(type_, numerator, denominator)
        case types.Float():
            return single(_odd_double(type_, numerator, denominator))
        case (
            types.Bool()
            | types.Int()
            | types.BigInt()
            | types.Bit()
            | types.Signed()
            | types.String()
            | types.Bytes()
            | types.Date()
            | types.Timestamp()
            | types.Duration()
            | types.Option()
            | types.Tuple()
            | types.Vec()
            | types.Set()
            | types.Map()
            | types.Named()
        ):
            quotient = abs(numerator) // denominator
            return quotient if numerator >= 0 else -quotient
        case _:
            assert_never(type_)


def _double(type_: Type, numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator  # correctly rounded for integers
    except OverflowError:
        raise Undefined(f"overflow: the result does not fit a {type_}") from None


def _odd_double(type_: Type, numerator: int, denominator: int) -> float:
    """Round a ratio to odd, so that rounding the result again is correct.

    Of the two doubles around an inexact ratio, this is the one with an odd last bit. It lies on the same side
    of every number with fewer digits as the ratio.
    """
    found = _double(type_, numerator, denominator)
    above, below = found.as_integer_ratio()
    difference = numerator * below - above * denominator
    if difference == 0 or struct.pack("<d", found)[0] & 1:
        return found
    return math.nextafter(found, math.inf if difference > 0 else -math.inf)


# -- plain


def _plain(source: types.Item, target: types.Item) -> Plain:
    match source, target:
        case _ if source == target:
            return lambda value: value
        case (types.String(), types.Bytes()):
            return str.encode
        case (types.Bytes(), types.String()):
            return _utf8
        case (_, types.String()):
            return lambda value: to_text(source, value)
        case (types.String(), _):
            return lambda text: from_text(target, text)
        case (types.Date(), types.Timestamp()):
            return lambda d: datetime(d.year, d.month, d.day, tzinfo=UTC)
        case (types.Date(), _):
            return lambda d: d.toordinal() - _EPOCH.toordinal()
        case (types.Timestamp(), types.Date()):
            return datetime.date
        case (types.Timestamp(), _):
            return lambda moment: (moment - _EPOCH) // timedelta(microseconds=1)
        case (_, types.Date() | types.Timestamp()):
            return lambda number: _calendar(target, number)
        case _:
            return lambda number: _number(source, target, number)


def _utf8(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Undefined(f"the bytes {value[:20].hex()} are not valid UTF-8") from None


def _calendar(target: Type, number: int) -> Value:
    first, last = DAYS if isinstance(target, types.Date) else MOMENTS
    if not first <= number <= last:
        raise Undefined(f"{shown(number)} is a {target} outside the years 1 to 9999")
    if isinstance(target, types.Date):
        return date.fromordinal(number + _EPOCH.toordinal())
    return _EPOCH + timedelta(microseconds=number)


def _number(source: Type, target: Type, number: int | float | decimal.Decimal) -> Value:
    if isinstance(number, float):
        if not math.isfinite(number):
            return _not_finite(target, number)
        if isinstance(target, types.Decimal):
            number = decimal.Decimal(to_text(source, number))
    return nearest(target, *number.as_integer_ratio())


def _not_finite(target: Type, number: float) -> float:
    if types.is_float(target):
        return number
    raise Undefined(f"{'NaN' if number is NAN else 'an infinite number'} is not a {target}")


# -- fast


def _fast(source: types.Item, target: types.Item) -> Fast | None:
    match source, target:
        case _ if source == target:
            return _same
        case (types.Date(), types.Timestamp()):
            return lambda a: (Vector(a.codes * np.int64(_DAY)), None)
        case (types.Timestamp(), types.Date()):
            return lambda a: (Vector(a.codes // np.int64(_DAY)), None)
        case (types.Date() | types.Timestamp(), _):
            return _same
        case (_, types.Date()):
            return _within(*DAYS)
        case (_, types.Timestamp()):
            return _within(*MOMENTS)
        case (types.Float() | types.Double(), _):
            return _fast_from_float(target)
        case (types.Decimal(), _):
            return _fast_from_decimal(source, target)
        case (_, types.Double()):
            return lambda a: (Vector.of_numbers(a.codes.astype(np.float64)), None)
        case (_, types.Float()):
            return lambda a: (Vector.of_numbers(a.codes.astype(np.float32).astype(np.float64)), None)
        case (_, types.Decimal(precision, scale)):
            return _raised(10**scale, 10 ** (precision - scale) - 1)
        case _:
            return _within(*limits(target))


def _same(a: Vector) -> tuple[Vector, Mask | None]:
    return a, None


def _within(low: int, high: int) -> Fast:
    return lambda a: (a, outside(a.codes, low, high))


def _raised(factor: int, largest: int) -> Fast:
    """Convert to a finer unit; numbers with too many digits are left to the plain form."""
    return lambda a: (Vector(a.codes * np.int64(factor)), outside(a.codes, -largest, largest))


def _fast_from_float(target: types.Item) -> Fast | None:
    match target:
        case types.Double():
            return _same
        case types.Float():
            return _fast_single
        case types.Decimal():
            return None
        case (
            types.Bool()
            | types.Int()
            | types.BigInt()
            | types.Bit()
            | types.Signed()
            | types.String()
            | types.Bytes()
            | types.Date()
            | types.Timestamp()
            | types.Duration()
            | types.Tuple()
            | types.Vec()
            | types.Set()
            | types.Map()
            | types.Named()
        ):
            low, high = limits(target)
            return lambda a: _fast_cut(a, float(low), float(high + 1))
        case _:
            assert_never(target)


def _fast_single(a: Vector) -> tuple[Vector, Mask | None]:
    found = singles(a.numbers)
    return Vector.of_numbers(found), np.isinf(found) & np.isfinite(a.numbers)


def _fast_cut(a: Vector, low: float, end: float) -> tuple[Vector, Mask | None]:
    """Truncate to integers from `low` to below `end`, which are both exact doubles."""
    whole = np.trunc(a.numbers)
    bad = ~((whole >= low) & (whole < end))
    return Vector(np.where(bad, 0.0, whole).astype(np.int64)), bad


def _fast_from_decimal(source: types.Decimal, target: types.Item) -> Fast | None:
    unit = np.int64(10**source.scale)
    match target:
        case types.Double():
            return lambda a: (
                Vector.of_numbers(a.codes.astype(np.float64) / float(unit)),
                outside(a.codes, -EXACT_DOUBLE, EXACT_DOUBLE),
            )
        case types.Float():
            return None
        case types.Decimal(precision, scale):
            if scale >= source.scale:
                return _raised(10 ** (scale - source.scale), 10 ** (precision - scale + source.scale) - 1)
            return _rounded(10 ** (source.scale - scale), *limits(target))
        case (
            types.Bool()
            | types.Int()
            | types.BigInt()
            | types.Bit()
            | types.Signed()
            | types.String()
            | types.Bytes()
            | types.Date()
            | types.Timestamp()
            | types.Duration()
            | types.Tuple()
            | types.Vec()
            | types.Set()
            | types.Map()
            | types.Named()
        ):
            low, high = limits(target)

            def cut(a: Vector) -> tuple[Vector, Mask | None]:
                whole = np.sign(a.codes) * (np.abs(a.codes) // unit)
                return Vector(whole), outside(whole, low, high)

            return cut
        case _:
            assert_never(target)


def _rounded(unit: int, low: int, high: int) -> Fast:
    def apply(a: Vector) -> tuple[Vector, Mask | None]:
        found = half_even(a.codes, np.int64(unit))
        return Vector(found), outside(found, low, high)

    return apply
