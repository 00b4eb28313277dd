"""The codec: values as 64-bit integer codes, and back.

Every column of the local engine is int64, so rows are rows of integers regardless of their types. A type is
*direct* if its values are numbers that fit into 64 bits: integers, dates (days), timestamps (microseconds),
decimals of up to 18 digits (in units of the last digit), floats (their bits, mirrored so that the order of
the integers is the order of the numbers). All other types are *interned*: a code is the value's position in
the dictionary of its type, which only grows while anything may refer to it.

Invariants:

- Codes are equal if and only if the values are equal.
- For direct types, the order of the codes is the order of the values.
- `NONE` is the code of `none` and of no other value.

Dictionaries are in `interning` and `texts`.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, assert_never

import numpy as np
import numpy.typing as npt

from tidelog.data import types
from tidelog.data.traits import traits
from tidelog.data.types import Type, scalar
from tidelog.data.values import EXACT, NAN, BadValue, Value
from tidelog.engine.local.codes.interning import Codes, Dictionary
from tidelog.engine.local.codes.texts import Texts
from tidelog.engine.local.kernels.layout import NONE

__all__ = ["NONE", "Codec", "Codes", "Dictionary", "double_codes", "doubles", "is_direct"]

_MIRROR: Final = np.int64(2**63 - 1)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def is_direct(type_: Type) -> bool:
    """Whether the codes of a type are numbers in the order of the values."""
    return traits(type_).is_direct


def double_codes(values: npt.NDArray[np.float64]) -> Codes:
    """The codes of floating-point numbers: -0.0 becomes 0.0, and there is one NaN, the largest value."""
    canonical = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = canonical.view(np.int64)
    return np.where(bits < 0, bits ^ _MIRROR, bits)


def doubles(codes: Codes) -> npt.NDArray[np.float64]:
    """The numbers that `double_codes` encoded."""
    return np.where(codes < 0, codes ^ _MIRROR, codes).view(np.float64)


class Codec:
    """The dictionaries of a session."""

    def __init__(self) -> None:
        self.dictionaries: dict[types.Scalar, Dictionary] = {}

    def dictionary(self, type_: Type) -> Dictionary:
        item = scalar(type_)
        found = self.dictionaries.get(item)
        return self.dictionaries.setdefault(item, _dictionary(item)) if found is None else found

    def keeping(self, kept: Mapping[types.Scalar, Codes]) -> Codec:
        """A codec with only the given values of some types, in this order, and all values of other types."""
        made = Codec()
        made.dictionaries = dict(self.dictionaries)
        for item, codes in kept.items():
            made.dictionaries[item] = self.dictionaries[item].part(codes)
        return made

    def encode(self, type_: Type, value: Value) -> int:
        """The code of one canonical value."""
        if value is None:
            return NONE
        item = scalar(type_)
        if not is_direct(item):
            return self.dictionary(item).code(value)
        code = _direct_code(item, value)
        if code == NONE and isinstance(type_, types.Option):
            raise BadValue(f"{value!r} cannot be stored in a column of {type_}: its code stands for none")
        return code

    def encode_column(self, type_: Type, values: Sequence[Value]) -> Codes:
        return np.array([self.encode(type_, v) for v in values], np.int64)

    def find(self, type_: Type, value: Value) -> int | None:
        """The code of a canonical value, or None if it has none, so that no row can contain it."""
        if value is not None and not is_direct(type_):
            return self.dictionary(type_).find(value)
        return self.encode(type_, value)

    def decode(self, type_: Type, code: int) -> Value:
        if isinstance(type_, types.Option) and code == NONE:
            return None
        item = scalar(type_)
        if not is_direct(item):
            value: Value = self.dictionary(item).value(code)
            return value
        return _direct_value(item, int(code))

    def decode_column(self, type_: Type, codes: Codes) -> list[Value]:
        return self.decode_listed(type_, codes.tolist())

    def decode_listed(self, type_: Type, listed: list[Any]) -> list[Value]:
        item = scalar(type_)
        if is_direct(item) and isinstance(item, types.Int | types.Bit | types.Signed):
            decoded: list[Value] = listed
        elif is_direct(item):
            decoded = [_direct_value(item, c) if c != NONE else None for c in listed]
        else:
            return self.dictionary(item).decode(listed)
        if isinstance(type_, types.Option):
            return [None if c == NONE else v for c, v in zip(listed, decoded, strict=True)]
        return decoded


def _dictionary(item: types.Scalar) -> Dictionary:
    return (
        Texts(isinstance(item, types.String))
        if isinstance(item, types.String | types.Bytes)
        else Dictionary()
    )


def _direct_code(type_: types.Scalar, value: Value) -> int:
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
        case _:
            raise AssertionError(f"{value!r} has no direct code")


def _direct_value(type_: types.Scalar, code: int) -> Value:
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
        case types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.String() | types.Bytes():
            return code
        case _:
            assert_never(type_)
