"""Conversions: from exact numbers to a type, and the `as` operator.

Numbers are exact fractions and are rounded once, when they are converted to their type:

- to an integer: truncated toward zero, then checked;
- to a decimal: rounded half to even at its scale, then checked;
- to float or double: rounded to nearest, half to even; an infinite result is an overflow.

A float or double becomes a decimal *as it is written*, by its shortest text, so that 0.1 becomes 0.1. It
becomes an integer by its exact value. Strings are parsed with `from_text` and written with `to_text`, except
that strings and bytes convert to each other as UTF-8. Days and microseconds count from 1970-01-01. A value is
converted to an option as to its item type; `none` stays `none`, and is "none" as a string.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Final, assert_never

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, Value, canonical, from_text, to_text
from tidelog.program.library.catalog import MAX_BIGINT_BITS

__all__ = ["Undefined", "cast", "checked", "exact", "exact_sum", "number_at"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SINGLE_DIGITS: Final = 24  # binary digits
_SINGLE_LOWEST: Final = -149  # the exponent of the smallest positive single
_SINGLE_LARGEST: Final = (2**_SINGLE_DIGITS - 1) * 2**104


class Undefined(Exception):
    """An operation has no value for these operands; the message gives the reason to users."""


def checked(type_: Type, value: object) -> Value:
    """The canonical value of a type. Raises BadValue or Undefined if it does not fit."""
    if isinstance(value, int) and value.bit_length() > MAX_BIGINT_BITS:
        raise Undefined(f"the number exceeds {MAX_BIGINT_BITS} bits")
    return canonical(type_, value)


# -- exact numbers


def exact(value: Value) -> Fraction:
    """The exact value of a finite number."""
    assert isinstance(value, int | float | decimal.Decimal)
    return Fraction(value)


def number_at(type_: Type, value: Fraction) -> Value:
    """An exact value as a number of a type: truncated or rounded as the type requires, and checked."""
    match type_:
        case types.Decimal():
            return _decimal_at(type_, value)
        case types.Float():
            return checked(type_, _single_at(value))
        case types.Double():
            return checked(type_, _double_at(value))
        case types.Int() | types.BigInt() | types.Bit() | types.Signed():
            return checked(type_, math.trunc(value))
        case types.Bool() | types.String() | types.Bytes() | types.Date() | types.Timestamp():
            raise AssertionError(type_)
        case types.Duration() | types.Option() | types.Tuple() | types.Vec() | types.Set():
            raise AssertionError(type_)
        case types.Map() | types.Named():
            raise AssertionError(type_)
        case _:
            assert_never(type_)


def exact_sum(type_: Type, values: Sequence[Value]) -> Value:
    """The sum as a number of a type, rounded once; by IEEE 754 if a value is NaN or infinite."""
    special = [v for v in values if isinstance(v, float) and not math.isfinite(v)]
    return sum(special) if special else number_at(type_, sum(map(exact, values), Fraction(0)))


def _decimal_at(type_: types.Decimal, value: Fraction) -> decimal.Decimal:
    units = round(value * 10**type_.scale)  # rounds half to even
    if abs(units) >= 10**type_.precision:
        raise Undefined(f"overflow: the result does not fit {type_}")
    digits = tuple(int(d) for d in str(abs(units)))
    return decimal.Decimal((int(units < 0), digits, -type_.scale))


def _double_at(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator  # correctly rounded, since both are integers
    except OverflowError:
        raise Undefined("overflow: the result does not fit a double") from None


def _single_at(value: Fraction) -> float:
    """The nearest single, rounded once: going through double precision could round twice."""
    size = abs(value)
    top = size.numerator.bit_length() - size.denominator.bit_length()  # 2**(top-1) < size < 2**(top+1)
    if size < Fraction(2) ** top:
        top -= 1
    exponent = max(top + 1 - _SINGLE_DIGITS, _SINGLE_LOWEST)
    units = round(value / Fraction(2) ** exponent)
    if abs(units * Fraction(2) ** exponent) > _SINGLE_LARGEST:
        raise Undefined("overflow: the result does not fit a float")
    return math.ldexp(units, exponent)


# -- `as`


def cast(source: Type, target: Type, value: Value) -> Value:
    """The value converted between types that `catalog.can_cast` allows; the result is not yet canonical."""
    match source, target:
        case _ if source == target:
            return value
        case (types.Option(item), types.Option(wanted)):
            return None if value is None else cast(item, wanted, value)
        case (types.Option(item), _):
            return "none" if value is None else cast(item, target, value)
        case (_, types.Option(wanted)):
            return cast(source, wanted, value)
        case (types.String() | types.Bytes(), types.String() | types.Bytes()):
            return _recoded(value)
        case (_, types.String()):
            return to_text(source, value)
        case (types.String(), _):
            assert isinstance(value, str)
            return from_text(target, value)
        case _ if isinstance(source, types.Date | types.Timestamp):
            return _from_calendar(target, value)
        case (_, types.Date() | types.Timestamp()):
            return _to_calendar(target, value)
        case _:
            return _number(source, target, value)


def _recoded(value: Value) -> str | bytes:
    if isinstance(value, str):
        return value.encode()
    assert isinstance(value, bytes)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Undefined(f"the bytes {value[:20].hex()} are not valid UTF-8") from None


def _from_calendar(target: Type, value: Value) -> Value:
    if isinstance(value, datetime):
        return value.date() if isinstance(target, types.Date) else (value - _EPOCH) // _MICROSECOND
    assert isinstance(value, date)
    if isinstance(target, types.Timestamp):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value.toordinal() - _EPOCH.toordinal()


def _to_calendar(target: Type, value: Value) -> Value:
    assert isinstance(value, int)
    try:
        if isinstance(target, types.Date):
            return date.fromordinal(value + _EPOCH.toordinal())
        return _EPOCH + value * _MICROSECOND
    except (ValueError, OverflowError):
        raise Undefined(f"{value} is a {target} outside the years 1 to 9999") from None


def _number(source: Type, target: Type, value: Value) -> Value:
    if isinstance(value, float):
        if not math.isfinite(value):
            return _not_finite(target, value)
        if isinstance(target, types.Decimal):
            return number_at(target, Fraction(to_text(source, value)))
    return number_at(target, exact(value))


def _not_finite(target: Type, value: float) -> float:
    if types.is_float(target):
        return value
    raise Undefined(f"{'NaN' if value is NAN else 'an infinite number'} is not a {target}")
