"""Direct types: values that are numbers of up to 64 bits, which are their own codes.

Integers, dates (days), timestamps and durations (microseconds), decimals of up to 18 digits (in units of the
last digit), floats (their bits, mirrored so that the order of the integers is the order of the numbers), and
small structured types (`packing`).
"""

from __future__ import annotations

import decimal
from datetime import UTC, date, datetime, timedelta
from typing import Final, assert_never

import numpy as np
import numpy.typing as npt

from tidelog.data import types
from tidelog.data.structs import Struct
from tidelog.data.traits import traits
from tidelog.data.types import Type
from tidelog.data.values import EXACT, NAN, Value
from tidelog.engine.local.codes.interning import Codes
from tidelog.engine.local.codes.packing import packing

__all__ = ["direct_code", "direct_value", "double_codes", "doubles", "is_direct"]

_MIRROR: Final = np.int64(2**63 - 1)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def is_direct(type_: Type) -> bool:
    """Whether the codes of a type are numbers in the order of the values."""
    return traits(type_).is_direct or packing(types.present(type_)) is not None


def double_codes(values: npt.NDArray[np.float64]) -> Codes:
    """The codes of floating-point numbers: -0.0 becomes 0.0, and there is one NaN, the largest value."""
    canonical = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = canonical.view(np.int64)
    return np.where(bits < 0, bits ^ _MIRROR, bits)


def doubles(codes: Codes) -> npt.NDArray[np.float64]:
    """The numbers that `double_codes` encoded."""
    return np.where(codes < 0, codes ^ _MIRROR, codes).view(np.float64)


def direct_code(type_: types.Item, value: Value) -> int:
    match value:
        case bool() | int():
            return int(value)
        case float():
            return int(double_codes(np.array([value]))[0])
        case decimal.Decimal():
            assert isinstance(type_, types.Decimal)
            return int(EXACT.scaleb(value, type_.scale))
        case datetime():
            return (value - _EPOCH) // _MICROSECOND
        case date():
            return value.toordinal() - _EPOCH_DAY
        case timedelta():
            return value // _MICROSECOND
        case Struct() | tuple():
            packed = packing(type_)
            assert packed is not None
            return packed.code(value)
        case _:
            raise AssertionError(f"{value!r} has no direct code")


def direct_value(type_: types.Item, code: int) -> Value:
    match type_:
        case types.Bool():
            return bool(code)
        case types.Float() | types.Double():
            number = float(doubles(np.array([code]))[0])
            return NAN if number != number else number
        case types.Decimal(_, scale):
            return EXACT.scaleb(decimal.Decimal(code), -scale)
        case types.Date():
            return date.fromordinal(code + _EPOCH_DAY)
        case types.Timestamp():
            return _EPOCH + code * _MICROSECOND
        case types.Duration():
            return code * _MICROSECOND
        case types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.String() | types.Bytes():
            return code
        case types.Tuple() | types.Named():
            packed = packing(type_)
            assert packed is not None
            return packed.values(np.array([code]))[0]  # type: ignore[no-any-return]
        case types.Vec() | types.Set() | types.Map():
            raise AssertionError(f"{type_} is interned")
        case _:
            assert_never(type_)
