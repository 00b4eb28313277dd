"""The fast forms of the standard functions on whole numbers, limits, the calendar and durations.

As in `vector_functions`, only results that are identical to the last bit are computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np

from tidelog.data.durations import UNITS
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codes, is_direct
from tidelog.engine.local.expressions import vector_functions
from tidelog.engine.local.expressions.arithmetic import outside
from tidelog.engine.local.expressions.conversions import DAYS, EXACT_DOUBLE, MOMENTS
from tidelog.engine.local.expressions.durations import UNIT_NAMES
from tidelog.engine.local.expressions.operations import Fast
from tidelog.engine.local.expressions.vector_functions import from_days, whole
from tidelog.engine.local.expressions.vectors import Mask, Vector

__all__ = ["fast_form"]

_Build: TypeAlias = Callable[[Type], Fast | None]


def fast_form(name: str, arguments: tuple[Type, ...]) -> Fast | None:
    build = _FAST.get((name, len(arguments)))
    return vector_functions.fast_form(name, arguments) if build is None else build(arguments[0])


# -- numbers


def _floor(function: Callable[[Codes, Codes], Codes]) -> _Build:
    """Division rounded down. Divisors 0 and -1 are left to the plain form: they fail or overflow."""

    def build(type_: Type) -> Fast | None:
        return apply if is_direct(type_) else None

    def apply(a: Vector, b: Vector) -> tuple[Vector, Mask | None]:
        left = (b.codes == 0) | (b.codes == -1)
        found = function(a.codes, np.where(left, 1, b.codes))
        return Vector(found), np.broadcast_to(left, len(found))

    return build


def _clamp(type_: Type) -> Fast | None:
    """The codes of a direct type have the order of its values, NaN included."""
    if not is_direct(type_):
        return None

    def apply(x: Vector, low: Vector, high: Vector) -> tuple[Vector, Mask | None]:
        found = np.minimum(np.maximum(x.codes, low.codes), high.codes)
        return Vector(found), np.broadcast_to(low.codes > high.codes, len(found))

    return apply


def _is_nan(_type: Type) -> Fast:
    return lambda a: (Vector(np.isnan(a.numbers).astype(np.int64)), None)


def _is_finite(_type: Type) -> Fast:
    return lambda a: (Vector(np.isfinite(a.numbers).astype(np.int64)), None)


def _units_toward_zero(codes: Codes, unit: int) -> Codes:
    size = np.abs(codes) // np.int64(unit) * np.int64(unit)
    return np.where(codes < 0, -size, size)


# -- calendar

_SECOND: Final = 1_000_000  # microseconds
_DAY: Final = 86_400


def _quarter(days: Codes) -> Codes:
    return days.view("M8[D]").astype("M8[M]").astype(np.int64) % 12 // 3 + 1


def _first_days(days: Codes) -> Codes:
    """The first day of the year of each day."""
    return days.view("M8[D]").astype("M8[Y]").astype("M8[D]").view(np.int64)


def _day_of_year(days: Codes) -> Codes:
    return days - _first_days(days) + 1


def _thursdays(days: Codes) -> Codes:
    """The Thursday of the week of each day; 1970-01-01 was one."""
    return days - (days + 3) % 7 + 3


def _week(days: Codes) -> Codes:
    thursdays = _thursdays(days)
    return (thursdays - _first_days(thursdays)) // 7 + 1


def _week_year(days: Codes) -> Codes:
    return _thursdays(days).view("M8[D]").astype("M8[Y]").astype(np.int64) + 1970


def _last_day(_type: Type) -> Fast:
    def apply(a: Vector) -> tuple[Vector, Mask | None]:
        months = a.codes.view("M8[D]").astype("M8[M]") + np.timedelta64(1, "M")
        return Vector(months.astype("M8[D]").view(np.int64) - 1), None

    return apply


def _epoch_seconds(_type: Type) -> Fast:
    return lambda a: (Vector(a.codes // np.int64(_SECOND)), None)


def _from_epoch_seconds(_type: Type) -> Fast:
    first, last = DAYS[0] * _DAY, (DAYS[1] + 1) * _DAY - 1

    def apply(a: Vector) -> tuple[Vector, Mask | None]:
        return Vector(a.codes * np.int64(_SECOND)), outside(a.codes, first, last)

    return apply


# -- durations


def _bucket(_type: Type) -> Fast:
    def apply(t: Vector, width: Vector) -> tuple[Vector, Mask | None]:
        is_empty = width.codes <= 0
        starts = t.codes - t.codes % np.where(is_empty, 1, width.codes)
        return Vector(starts), is_empty | (starts < MOMENTS[0])

    return apply


def _total_seconds(_type: Type) -> Fast:
    def apply(d: Vector) -> tuple[Vector, Mask | None]:
        left = outside(d.codes, -EXACT_DOUBLE, EXACT_DOUBLE)
        return Vector.of_numbers(d.codes.astype(np.float64) / _SECOND), left

    return apply


def _of_unit(unit: str) -> _Build:
    size = UNITS[unit]
    most = (2**63 - 1) // size

    def apply(n: Vector) -> tuple[Vector, Mask | None]:
        return Vector(n.codes * np.int64(size)), outside(n.codes, -most, most)

    return lambda _type: apply


_FAST: Final[Mapping[tuple[str, int], _Build]] = {
    ("div_floor", 2): _floor(np.floor_divide),
    ("mod_floor", 2): _floor(np.mod),
    ("clamp", 3): _clamp,
    ("is_nan", 1): _is_nan,
    ("is_finite", 1): _is_finite,
    ("trunc", 1): whole(np.trunc, _units_toward_zero),
    ("quarter", 1): from_days(_quarter),
    ("day_of_year", 1): from_days(_day_of_year),
    ("week", 1): from_days(_week),
    ("week_year", 1): from_days(_week_year),
    ("last_day", 1): _last_day,
    ("epoch_seconds", 1): _epoch_seconds,
    ("from_epoch_seconds", 1): _from_epoch_seconds,
    ("bucket", 2): _bucket,
    ("total_seconds", 1): _total_seconds,
    **{(unit, 1): _of_unit(unit) for unit in UNIT_NAMES},
}
