"""The standard functions that have a form on whole vectors.

Only functions whose results are identical to the last bit are here. `exp`, `ln` and `pow` differ between
libraries by a unit in the last place, so they have only a plain form. A form is built from the types of the
arguments, and is None if those are interned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import NONE, Codes, is_direct
from tidelog.engine.local.expressions.arithmetic import limits, outside
from tidelog.engine.local.expressions.conversions import DAYS
from tidelog.engine.local.expressions.operations import Fast
from tidelog.engine.local.expressions.vectors import Mask, Numbers, Vector
from tidelog.program.library.catalog import NUMBER

__all__ = ["fast_form", "from_days", "whole"]

_Build: TypeAlias = Callable[[Type], Fast | None]


def fast_form(name: str, arguments: tuple[Type, ...]) -> Fast | None:
    build = _FAST.get((name, len(arguments)))
    return None if build is None else build(arguments[0])


# -- numbers


def _absolute(type_: Type) -> Fast | None:
    if types.is_float(type_):
        return lambda a: (Vector.of_numbers(np.abs(a.numbers)), None)
    if not is_direct(type_):
        return None
    low, high = limits(type_)
    # the smallest number of a type may have no opposite
    return lambda a: (Vector(np.abs(a.codes)), outside(a.codes, -high, high) if low < 0 else None)


def _number(type_: Type) -> Fast:
    return lambda a: (a, np.isnan(a.numbers))


def _sign(type_: Type) -> Fast | None:
    if types.is_float(type_):
        return _float_sign
    return (lambda a: (Vector(np.sign(a.codes)), None)) if is_direct(type_) else None


def _float_sign(a: Vector) -> tuple[Vector, Mask | None]:
    numbers = a.numbers
    return Vector((numbers > 0).astype(np.int64) - (numbers < 0)), np.isnan(numbers)


def _away(numbers: Numbers) -> Numbers:
    """The nearest whole numbers, halves away from zero."""
    size = np.abs(numbers)
    whole = np.floor(size)
    with np.errstate(invalid="ignore"):  # infinity minus itself
        up = (size - whole) >= 0.5
    rounded: Numbers = np.copysign(whole + up, numbers)
    return rounded


def whole(on_numbers: Callable[[Numbers], Numbers], on_units: Callable[[Codes, int], Codes]) -> _Build:
    """A function to whole numbers, from its forms on floats and on units of a decimal."""

    def build(type_: Type) -> Fast | None:
        if types.is_float(type_):
            return lambda a: (Vector.of_numbers(on_numbers(a.numbers)), None)
        assert isinstance(type_, types.Decimal)
        return _on_units(type_, lambda codes: on_units(codes, 10**type_.scale)) if is_direct(type_) else None

    return build


def _on_units(type_: types.Decimal, function: Callable[[Codes], Codes]) -> Fast:
    low, high = limits(type_)

    def apply(a: Vector) -> tuple[Vector, Mask | None]:
        found = function(a.codes)
        return Vector(found), outside(found, low, high)

    return apply


def _units_away(codes: Codes, unit: int) -> Codes:
    size = (np.abs(codes) + unit // 2) // np.int64(unit) * np.int64(unit)
    return np.where(codes < 0, -size, size)


def _round_digits(type_: Type) -> Fast | None:
    """Rounds decimals to one number of digits. Everything else is left to the plain form."""
    if not isinstance(type_, types.Decimal) or not is_direct(type_):
        return None

    def apply(a: Vector, digits: Vector) -> tuple[Vector, Mask | None]:
        dropped = type_.scale - int(digits.codes[0])
        if len(digits) > 1 or dropped > 18:
            size = max(len(a), len(digits))
            return Vector(np.zeros(size, np.int64)), np.ones(size, np.bool_)
        if dropped <= 0:
            return a, None
        return _on_units(type_, lambda codes: _units_away(codes, 10**dropped))(a)

    return apply


def _sqrt(_type: Type) -> Fast:
    def apply(a: Vector) -> tuple[Vector, Mask | None]:
        with np.errstate(invalid="ignore"):
            return Vector.of_numbers(np.sqrt(a.numbers)), a.numbers < 0

    return apply


# -- options


def _some(type_: Type) -> Fast:
    """A value whose code is that of `none` cannot become an option."""
    if is_direct(type_):
        return lambda a: (a, outside(a.codes, NONE + 1, 2**63 - 1))
    return lambda a: (a, None)


def _is_none(_type: Type) -> Fast:
    return lambda a: (Vector((a.codes == NONE).astype(np.int64)), None)


def _is_some(_type: Type) -> Fast:
    return lambda a: (Vector((a.codes != NONE).astype(np.int64)), None)


def _unwrap(_type: Type) -> Fast:
    return lambda a: (a, a.codes == NONE)


def _unwrap_or(_type: Type) -> Fast:
    return lambda a, b: (Vector(np.where(a.codes == NONE, b.codes, a.codes)), None)


# -- calendar

_SECOND: Final = 1_000_000  # microseconds
_DAY: Final = 86_400 * _SECOND


def from_days(function: Callable[[Codes], Codes]) -> _Build:
    """A function of the day number, for dates and timestamps."""

    def build(type_: Type) -> Fast:
        if isinstance(type_, types.Date):
            return lambda a: (Vector(function(a.codes)), None)
        return lambda a: (Vector(function(a.codes // np.int64(_DAY))), None)

    return build


def _year(days: Codes) -> Codes:
    return days.view("M8[D]").astype("M8[Y]").astype(np.int64) + 1970


def _month(days: Codes) -> Codes:
    return days.view("M8[D]").astype("M8[M]").astype(np.int64) % 12 + 1


def _day(days: Codes) -> Codes:
    firsts = days.view("M8[D]").astype("M8[M]").astype("M8[D]").view(np.int64)
    return days - firsts + 1


def _weekday(days: Codes) -> Codes:
    weekdays: Codes = (days + 3) % 7 + 1  # 1970-01-01 was a Thursday
    return weekdays


def _clock(unit: int, count: int) -> _Build:
    """A field of a timestamp: `unit` is its length in microseconds, `count` how many make the next unit."""
    return lambda _type: lambda a: (Vector(a.codes // np.int64(unit) % np.int64(count)), None)


def _add_days(_type: Type) -> Fast:
    def apply(a: Vector, b: Vector) -> tuple[Vector, Mask | None]:
        found = a.codes + b.codes  # a wrapped sum is also far outside the calendar
        return Vector(found), outside(found, *DAYS)

    return apply


def _days_between(_type: Type) -> Fast:
    return lambda start, end: (Vector(end.codes - start.codes), None)


_FAST: Final[Mapping[tuple[str, int], _Build]] = {
    ("abs", 1): _absolute,
    (NUMBER, 1): _number,
    ("sign", 1): _sign,
    ("round", 1): whole(_away, _units_away),
    ("round", 2): _round_digits,
    ("floor", 1): whole(np.floor, lambda codes, unit: codes - codes % np.int64(unit)),
    ("ceil", 1): whole(np.ceil, lambda codes, unit: codes + -codes % np.int64(unit)),
    ("sqrt", 1): _sqrt,
    ("some", 1): _some,
    ("is_none", 1): _is_none,
    ("is_some", 1): _is_some,
    ("unwrap", 1): _unwrap,
    ("unwrap_or", 2): _unwrap_or,
    ("year", 1): from_days(_year),
    ("month", 1): from_days(_month),
    ("day", 1): from_days(_day),
    ("weekday", 1): from_days(_weekday),
    ("hour", 1): _clock(3600 * _SECOND, 24),
    ("minute", 1): _clock(60 * _SECOND, 60),
    ("second", 1): _clock(_SECOND, 60),
    ("add_days", 2): _add_days,
    ("days_between", 2): _days_between,
}
