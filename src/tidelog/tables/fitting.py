"""Conversion of one column of user data to its declared type; the first value that does not fit is reported.

There are two paths with the same result. The fast path converts whole columns and never rejects: if it cannot
guarantee every value, it declines. The slow path then checks each value with `canonical` and either reports
the first bad value or accepts them all. So the slow path alone decides what is accepted. Read the fast path
as a list of cases in which the slow path would find no error.

A value fits if the conversion is lossless: an integer in a floating-point column if it is exact, a timestamp
in another time zone or unit if microseconds hold it, a decimal with another scale if the dropped digits are
zeros. The one exception is a `float` column, which rounds double-precision numbers: that is its purpose.
Structured values are converted in `nesting`, part by part.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, assert_never

import pyarrow as pa

from tidelog.data import types
from tidelog.data.traits import traits
from tidelog.data.types import Scalar, Type, is_structured, present
from tidelog.data.values import LEAST, BadValue, Value, from_text, to_text
from tidelog.errors import shown
from tidelog.tables import compute as pc
from tidelog.tables.arrow import arrow_type, is_text, is_wide, type_of
from tidelog.tables.columns import column_of, scalar_column
from tidelog.tables.natives import check, number
from tidelog.tables.nesting import fit_nested
from tidelog.tables.transposing import transposed

__all__ = ["DAYS", "MOMENTS", "Misfit", "distinct", "fit_arrow", "fit_values", "rescale", "within"]

DAYS: Final = tuple((d - date(1970, 1, 1)).days for d in (date.min, date.max))
MOMENTS: Final = (DAYS[0] * 86_400_000_000, (DAYS[1] + 1) * 86_400_000_000 - 1)


class Misfit(Exception):
    """The first value of a column that does not fit."""

    def __init__(self, row: int, value: object, problem: str) -> None:
        super().__init__(problem)
        self.row = row
        self.value = value
        self.problem = problem


# -- Python values

_CLASSES: Final[dict[type, frozenset[type]]] = {
    types.Bool: frozenset({bool}),
    types.Float: frozenset({float}),
    types.Double: frozenset({float, int}),
    types.Decimal: frozenset({decimal.Decimal}),
    types.String: frozenset({str}),
    types.Bytes: frozenset({bytes}),
    types.Date: frozenset({date}),
    types.Timestamp: frozenset({datetime}),
    types.Duration: frozenset({timedelta}),
}
_WHOLE: Final = frozenset({int})
_COUNT: Final = pa.decimal128(20, 0)  # holds every 64-bit integer
_ROOM: Final = 76  # the precision of Arrow's widest decimal


def fit_values(type_: Type, values: Sequence[object]) -> Any:
    """An Arrow column of the type, from Python values. Raises Misfit."""
    if is_structured(present(type_)):
        built = transposed(type_, values, _fast_values)
        return column_of(type_, list(_checked(type_, values))) if built is None else built
    built = _fast_values(type_, values)
    if built is not None:
        return built
    built = _build(type_, list(_checked(type_, values)))
    assert built is not None, "canonical values fit their type"
    return built


def _fast_values(type_: Type, values: Sequence[Any]) -> Any:
    """The column of scalars of the usual class, or None."""
    classes = frozenset(map(type, values)) - {type(None)}
    return _build(type_, values) if classes <= _CLASSES.get(type(present(type_)), _WHOLE) else None


def _build(type_: Type, values: Sequence[Any]) -> Any:
    """The column of scalars, or None if Arrow or the type's bounds reject a value."""
    item = present(type_)
    assert not isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named)
    try:
        if is_wide(item):
            column = scalar_column(item, values)
            fits = _in_bounds(item, (v for v in values if v is not None))
        elif isinstance(item, types.Float):
            column = _single(pa.array(values, pa.float64()))
            fits = True
        else:
            column = scalar_column(item, values)
            fits = _shallow(values) if isinstance(item, types.Decimal) else within(type_, column)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None
    if column is None or not fits or (column.null_count and not isinstance(type_, types.Option)):
        return None
    return _one_zero(column) if types.is_float(item) else column


def _shallow(values: Iterable[decimal.Decimal | None]) -> bool:
    """Whether Arrow converts these decimals exactly. It does not if it has to drop more than 38 digits."""
    exponents = (v.as_tuple().exponent for v in values if v is not None)
    return all(isinstance(e, int) and e >= -types.MAX_DIGITS for e in exponents)


def _in_bounds(item: types.Item, values: Iterable[int]) -> bool:
    bounds = types.int_range(item)
    return bounds is None or all(bounds[0] <= v <= bounds[1] for v in values)


def _checked(type_: Type, values: Iterable[object]) -> Iterator[Value]:
    for row, value in enumerate(values):
        try:
            yield check(type_, value)
        except BadValue as bad:
            remedy = "" if bad.path else _remedy(type_, value)
            raise Misfit(row, value, f"{_short(str(bad))}{remedy}") from None


# -- messages


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:200]}… ({len(text)} characters)"


def _remedy(type_: Type, value: object) -> str:
    """The remedy for a value that does not fit. The message for a missing value already has one."""
    item = present(type_)
    wanted = traits(item).given
    match item, value:
        case (_, None):
            return ""
        case (_, float()) if value != value:
            return f"; give {wanted}, or None in an option column if it is missing"
        case (types.Decimal(), decimal.Decimal()) if not value.is_finite():
            return "; give a number, or None in an option column if it is missing"
        case (types.Int() | types.Bit() | types.Signed(), int()) if not isinstance(value, bool):
            return "; declare the column with a wider type, such as bigint"
        case (types.Float() | types.Double(), int()):
            return "; declare the column bigint or decimal"
        case (types.Decimal(), decimal.Decimal()):
            return "; round it, or declare the column with more digits"
        case (types.Date(), datetime()):
            return "; give value.date() (in pandas: column.dt.date), or declare the column timestamp"
        case _:
            return f"; give {wanted}, or declare the column with the type of the data"


# -- Arrow columns


def fit_arrow(type_: Type, column: Any) -> Any:
    """An Arrow column of the type, from a column of any Arrow type. Raises Misfit."""
    fitted = _fast(type_, column)
    return fit_values(type_, _values(type_, column)) if fitted is None else fitted


def _fast(type_: Type, column: Any) -> Any:
    """The column converted by kernels, or None if one of them declines."""
    item = present(type_)
    if isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        return _fast_nested(type_, column)
    if column.null_count and not isinstance(type_, types.Option):
        return None
    try:
        plain = _plain(column)
        converted = _convert(item, plain)
        if converted is None or not within(type_, converted):
            return None
        if is_text(converted.type) and not is_wide(item):
            converted.validate(full=True)  # other writers may have stored invalid UTF-8
    except (pa.ArrowException, BadValue):
        return None
    return _one_zero(converted) if types.is_float(item) else converted


def _fast_nested(type_: Type, column: Any) -> Any:
    try:
        fitted = [fit_nested(type_, chunk, _fast_array) for chunk in column.chunks]
    except pa.ArrowException:
        return None
    return None if any(f is None for f in fitted) else pa.chunked_array(fitted, arrow_type(type_))


def _fast_array(type_: Type, array: Any) -> Any:
    fitted = _fast(type_, pa.chunked_array([array]))
    return fitted.combine_chunks() if isinstance(fitted, pa.ChunkedArray) else fitted


def _plain(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if pa.types.is_run_end_encoded(column.type):
        return pc.run_end_decode(column)
    return column


def _convert(item: Scalar, column: Any) -> Any:
    """The column cast to the type's Arrow type without changing values; None if that is not certain."""
    source, target = column.type, arrow_type(item)
    if source == target and not is_wide(item):
        return column
    if pa.types.is_null(source):
        return column.cast(target)
    match item:
        case types.Int() | types.BigInt() | types.Bit() | types.Signed():
            return _whole(item, column)
        case types.Float():
            return _single(column) if pa.types.is_floating(source) else _from_whole(column, target)
        case types.Double():
            return column.cast(target) if pa.types.is_floating(source) else _from_whole(column, target)
        case types.Decimal():
            return rescale(column if pa.types.is_decimal(source) else _from_whole(column, _COUNT), target)
        case types.Bool() | types.String() | types.Bytes():
            return column.cast(target) if type_of(source) == item else None
        case types.Date() | types.Timestamp() | types.Duration():
            return column.cast(target) if type_of(source) == item else None
        case _:
            assert_never(item)


def _whole(item: types.Item, column: Any) -> Any:
    """Integers. DuckDB and Spark represent those beyond 64 bits as decimals with scale 0."""
    source = column.type
    if not is_wide(item):
        return column.cast(arrow_type(item)) if _is_whole(source) else None
    if pa.types.is_integer(source) and not isinstance(item, types.Bit):
        return column.cast(pa.string())
    if _is_whole(source) or is_text(source):
        return distinct(column.cast(pa.string()), lambda text: _digits(item, text), pa.string())
    return None


def _is_whole(source: Any) -> bool:
    return bool(pa.types.is_integer(source) or (pa.types.is_decimal(source) and source.scale == 0))


def _digits(item: types.Item, text: str) -> str:
    value = from_text(item, text)
    if to_text(item, value) != text:
        raise BadValue(f"{shown(text)} is not how {shown(value)} is written")
    return text


def _from_whole(column: Any, target: Any) -> Any:
    return column.cast(target) if pa.types.is_integer(column.type) else None


def rescale(column: Any, target: Any) -> Any:
    """Decimals with another precision and scale, converted exactly; None if no Arrow decimal is wide enough.

    Arrow detects a value that exceeds the precision, but not one that overflows the type's bits while its
    scale grows. So the intermediate digits must fit, in this type or in a wider one.
    """
    if column is None:
        return None
    digits = column.type.precision - column.type.scale + target.scale
    if digits <= types.MAX_DIGITS:
        return column.cast(target)
    return column.cast(pa.decimal256(_ROOM, target.scale)).cast(target) if digits <= _ROOM else None


def _single(column: Any) -> Any:
    """The column rounded to single precision; None if a finite number becomes infinite."""
    wide = column.cast(pa.float64())
    rounded = wide.cast(pa.float32())
    lost = pc.and_(pc.is_inf(rounded), pc.is_finite(wide))
    return None if pc.any(lost).as_py() else rounded


def _one_zero(column: Any) -> Any:
    """The column with -0.0 replaced by 0.0 and every NaN by the same NaN."""
    positive = pc.add(column, pa.scalar(0.0, column.type))
    odd = pc.is_nan(positive)
    if not pc.any(odd).as_py():
        return positive
    return pc.if_else(odd, pa.scalar(float("nan"), column.type), positive)


def within(type_: Type, column: Any) -> bool:
    """Whether the values of a column of the type's Arrow type are within the type's bounds."""
    item = present(type_)
    match item:
        case types.Date():
            bounds, numbers = DAYS, column.cast(pa.int32())
        case types.Timestamp():
            bounds, numbers = MOMENTS, column.cast(pa.int64())
        case types.Bit(width) | types.Signed(width) if width not in (8, 16, 32, 64) and width < 64:
            bounds, numbers = types.int_range(item) or (0, 0), column
        case types.Duration():
            bounds, numbers = (LEAST + 1, -LEAST - 1), column.cast(pa.int64())
        case types.Int() | types.Signed(64) if isinstance(type_, types.Option):  # LEAST encodes none
            bounds, numbers = (LEAST + 1, -LEAST - 1), column
        case (
            types.Bool()
            | types.Int()
            | types.BigInt()
            | types.Bit()
            | types.Signed()
            | types.Float()
            | types.Double()
            | types.Decimal()
            | types.String()
            | types.Bytes()
        ):
            return True
        case types.Tuple() | types.Vec() | types.Set() | types.Map() | types.Named():
            return True  # its parts are checked where they are converted
        case _:
            assert_never(item)
    extremes = pc.min_max(numbers)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    return low is None or bool(bounds[0] <= low and high <= bounds[1])


def distinct(column: Any, convert: Any, target: Any) -> Any:
    """A column of `convert(value)`, called once per distinct value."""
    known = column.unique()
    converted = pa.array([None if v is None else convert(v) for v in known.to_pylist()], target)
    return converted.take(pc.index_in(column, known)) if len(known) else converted


def _values(type_: Type, column: Any) -> list[object]:
    """The Python values. What Python cannot represent stays an Arrow scalar, which fits no type."""
    values = [v for chunk in column.chunks for v in _chunk_values(chunk)]
    encoded = pa.types.is_dictionary(column.type) or pa.types.is_run_end_encoded(column.type)
    kind = column.type.value_type if encoded else column.type
    if is_wide(type_) and is_text(kind):
        return [number(v) for v in values]
    if types.is_integer(present(type_)) and _is_whole(kind):
        return [int(v) if isinstance(v, decimal.Decimal) else v for v in values]
    return values


def _chunk_values(chunk: Any) -> list[object]:
    try:
        values: list[object] = chunk.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return [_scalar_value(s) for s in chunk]
    return values


def _scalar_value(wrapped: Any) -> object:
    try:
        value: object = wrapped.as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return wrapped
    return value
