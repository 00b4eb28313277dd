"""Scalar values: their representation in Python and their text form.

`canonical_scalar` gives the one representation of a value (see `values`): NaN is one object, -0.0 becomes
0.0, a `float` is rounded to single precision, a decimal has exactly its type's scale, a timestamp is in UTC,
and a duration has 64 bits of microseconds. `scalar_text` is its unique text, which `read_scalar` reads.
"""

from __future__ import annotations

import decimal
import math
import struct
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeAlias, TypeVar, assert_never

from tidelog.data import types
from tidelog.data.durations import duration_text, read_duration
from tidelog.data.types import Scalar, Type
from tidelog.errors import clip, shown

__all__ = [
    "EXACT",
    "LEAST",
    "NAN",
    "BadValue",
    "ScalarValue",
    "canonical_scalar",
    "read_integer",
    "read_scalar",
    "scalar_text",
]

ScalarValue: TypeAlias = bool | int | float | decimal.Decimal | str | bytes | date | datetime | timedelta

V = TypeVar("V")

NAN: Final = float("nan")
LEAST: Final = -(2**63)
_SINGLE_LIMIT: Final = 2.0**128 - 2.0**103  # from here on, rounding to single precision overflows
# All decimal arithmetic uses this context: the thread's context belongs to the host, with its own precision.
EXACT: Final = decimal.Context(
    prec=2 * types.MAX_DIGITS + 2,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=-999_999,
    Emax=999_999,
    capitals=1,
    clamp=0,
    flags=[],
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)


class BadValue(ValueError):
    """A value is not of its type. The message says why and is shown to users.

    It begins with the path of the value inside a structured value, if it is inside one.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path


def canonical_scalar(type_: Scalar, value: object) -> ScalarValue:
    """The canonical form of a Python value of this type; raises BadValue if it is not of the type."""
    match type_:
        case types.Bool():
            return _instance(type_, value, bool)
        case types.Int() | types.BigInt() | types.Bit() | types.Signed():
            return _integer(type_, value)
        case types.Float() | types.Double():
            return _floating(type_, value)
        case types.Decimal():
            return _decimal(type_, value)
        case types.String():
            return _string(value)
        case types.Bytes():
            if isinstance(value, bytearray | memoryview):
                return bytes(value)
            return _instance(type_, value, bytes)
        case types.Date():
            if isinstance(value, datetime):
                raise BadValue(f"{shown(value)} is a timestamp, not a date")
            return _instance(type_, value, date)
        case types.Timestamp():
            return _timestamp(value)
        case types.Duration():
            return _duration(_instance(type_, value, timedelta))
        case _:
            assert_never(type_)


def _instance(type_: Type, value: object, wanted: type[V]) -> V:
    if isinstance(value, wanted):
        return value
    raise BadValue(f"{shown(value)} is not of type {type_}")


def _integer(type_: Type, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadValue(f"{shown(value)} is not of type {type_}")
    bounds = types.int_range(type_)
    if bounds and not bounds[0] <= value <= bounds[1]:
        raise BadValue(f"{shown(value)} does not fit {type_} ({bounds[0]} to {bounds[1]})")
    return int(value)


def _floating(type_: types.Float | types.Double, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValue(f"{shown(value)} is not of type {type_}")
    try:
        number = float(value)
        if isinstance(type_, types.Float) and math.isfinite(number):
            number = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        raise BadValue(f"{shown(value)} does not fit {type_}") from None
    if math.isnan(number):
        return NAN
    return number + 0.0  # turns -0.0 into 0.0


def _decimal(type_: types.Decimal, value: object) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, int | decimal.Decimal):
        raise BadValue(f"{shown(value)} is not of type {type_}")
    number = decimal.Decimal(value)
    if not number.is_finite():
        raise BadValue(f"{_figures(value)} is not of type {type_}")
    unit = EXACT.scaleb(decimal.Decimal(1), -type_.scale)
    try:
        exact = number.quantize(unit, context=EXACT)
    except decimal.InvalidOperation:
        raise BadValue(f"{_figures(value)} does not fit {type_}") from None
    if exact != number:
        raise BadValue(f"{_figures(value)} has more than {type_.scale} digits after the decimal point")
    if len(exact.as_tuple().digits) > type_.precision:
        raise BadValue(f"{_figures(value)} does not fit {type_}")
    return exact if exact else exact.copy_abs()


def _figures(value: object) -> str:
    """A number in the usual notation."""
    return clip(str(value), 200) if isinstance(value, decimal.Decimal) else shown(value)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise BadValue(f"{shown(value)} is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadValue(f"{shown(value)} is not text: it contains a lone surrogate") from None
    return str(value)


def _timestamp(value: object) -> datetime:
    if not isinstance(value, datetime):
        raise BadValue(f"{shown(value)} is not a timestamp")
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC, fold=0)
    try:
        return value.astimezone(UTC).replace(fold=0)
    except OverflowError:
        raise BadValue(f"{shown(value)} is outside the years 1 to 9999 in UTC") from None


def _duration(value: timedelta) -> timedelta:
    plain = timedelta(value.days, value.seconds, value.microseconds)
    if not LEAST < plain // timedelta(microseconds=1) < -LEAST:
        raise BadValue(f"{shown(plain)} does not fit duration (64 bits of microseconds)")
    return plain


# -- text


def scalar_text(type_: Scalar, value: object) -> str:
    """The unique text of a canonical value; `read_scalar` reads it back."""
    match type_:
        case types.Bool():
            return "true" if value else "false"
        case types.Int() | types.BigInt() | types.Bit() | types.Signed():
            assert isinstance(value, int)
            return _integer_text(value)
        case types.Float() | types.Double():
            assert isinstance(value, float)
            return _float_text(type_, value)
        case types.Decimal():
            assert isinstance(value, decimal.Decimal)
            return f"{value:f}"
        case types.String():
            assert isinstance(value, str)
            return value
        case types.Bytes():
            assert isinstance(value, bytes)
            return value.hex()
        case types.Date():
            assert isinstance(value, date)
            return value.isoformat()
        case types.Timestamp():
            assert isinstance(value, datetime)
            return value.replace(tzinfo=None).isoformat() + "Z"
        case types.Duration():
            assert isinstance(value, timedelta)
            return duration_text(value)
        case _:
            assert_never(type_)


def _integer_text(value: int) -> str:
    # Python's int-to-str conversion is limited to 4,300 digits; decimal's is not.
    return str(value) if value.bit_length() < 10_000 else f"{decimal.Decimal(value):f}"


def _float_text(type_: types.Float | types.Double, value: float) -> str:
    if value is NAN:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(type_, types.Double):
        return repr(value)
    # The fewest digits that single precision reads back. Rounding up can exceed its largest value.
    short = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return repr(next(s for s in short if abs(s) < _SINGLE_LIMIT and _floating(type_, s) == value))


_WORDS = {"NaN": NAN, "Infinity": math.inf, "-Infinity": -math.inf}


def read_scalar(type_: Scalar, text: str) -> ScalarValue:
    """The value that a text denotes; raises BadValue. An empty text is the empty string."""
    try:
        return canonical_scalar(type_, _read(type_, text))
    except BadValue:
        raise
    except (ValueError, ArithmeticError):
        raise BadValue(f"{shown(text)} is not of type {type_}") from None


def _read(type_: Scalar, text: str) -> object:
    match type_:
        case types.Bool():
            return {"true": True, "false": False}[text] if text in ("true", "false") else text
        case types.Int() | types.BigInt() | types.Bit() | types.Signed():
            return read_integer(_plain(text))
        case types.Float() | types.Double():
            return _WORDS[text] if text in _WORDS else _read_float(type_, _plain(text))
        case types.Decimal():
            return decimal.Decimal(_plain(text), EXACT)
        case types.Bytes():
            return bytes.fromhex(text) if not text or text.isalnum() else text
        case types.Date():
            return date.fromisoformat(text) if len(text) == 10 and "W" not in text else text
        case types.Timestamp():
            return datetime.fromisoformat(text)
        case types.Duration():
            return read_duration(text)
        case types.String():
            return text
        case _:
            assert_never(type_)


def read_integer(text: str) -> int:
    if len(text) < 4_000:
        return int(text)
    if not text.lstrip("+-").isdigit():
        raise BadValue("this long text is not a number")
    return int(decimal.Decimal(text, EXACT))


def _read_float(type_: Type, text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise BadValue(f"{clip(text, 200)} does not fit {type_}")
    return number


def _plain(text: str) -> str:
    """A number in ASCII digits, without the spaces and underscores that Python would accept."""
    if not text.isascii() or not text.replace("-", "").replace("+", "").replace(".", "").isalnum():
        raise BadValue(f"{shown(text)} is not a number")
    if text[-1:].isalpha():
        raise BadValue(f"{shown(text)} is not a number")
    return text
