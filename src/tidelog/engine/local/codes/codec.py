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

Any thread may use a dictionary: the writer interns while readers look up and decode, and the codecs of one
session share dictionaries. Existing entries never change, so lookups take no lock. Additions (values, the
order, the column) are made only in this module, under `_ADDING`. One lock serves all dictionaries, because
Python runs such code in one thread at a time anyway. No other lock is taken while it is held. A fork waits
for it.
"""

from __future__ import annotations

import decimal
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from threading import RLock
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from tidelog.data import types
from tidelog.data.traits import traits
from tidelog.data.types import Type, scalar
from tidelog.data.values import EXACT, NAN, BadValue, Value
from tidelog.engine.local.kernels.layout import NONE

__all__ = ["NONE", "Codec", "Codes", "Dictionary", "double_codes", "doubles", "is_direct"]

Codes: TypeAlias = npt.NDArray[np.int64]

_MIRROR: Final = np.int64(2**63 - 1)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_ADDING: Final = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ADDING.acquire, after_in_parent=_ADDING.release, after_in_child=_ADDING.release
    )


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


class Dictionary:
    """The values of one interned type; a code is a position in `values`.

    `column` holds the first values in a form for decoding many codes at once. It is replaced by longer ones
    and never modified.
    """

    __slots__ = ("_codes", "_ordered", "_ranks", "column", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.column: Any = None
        self._codes: dict[Any, int] = {}
        self._ranks: Codes | None = None
        self._ordered: Codes | None = None

    def code(self, value: object) -> int:
        found = self._codes.get(value)
        return self._add(value) if found is None else found

    def _add(self, value: object) -> int:
        with _ADDING:
            found = self._codes.get(value)
            if found is None:
                found = len(self.values)
                self.values.append(value)  # before `_codes`, so that every code found can be decoded
                self._codes[value] = found
            return found

    def find(self, value: object) -> int | None:
        """The code of a value, or None if it is not in the dictionary."""
        return self._codes.get(value)

    def codes(self, values: Iterable[object]) -> Codes:
        return np.array([self.code(v) for v in values], np.int64)

    def intern_many(self, values: Sequence[object]) -> Codes:
        """The codes of many values: known ones are looked up together, new ones are added in order."""
        found = list(map(self._codes.get, values))
        if None in found:
            with _ADDING:
                fresh = dict.fromkeys(v for v in values if v not in self._codes)
                first = len(self.values)
                self.values.extend(fresh)
                self._codes.update(zip(fresh, range(first, len(self.values)), strict=True))
            found = list(map(self._codes.get, values))
        return np.array(found, np.int64)

    def extended(self, make: Callable[[Any, list[Any]], Any]) -> Any:
        """The column with all values; `make` builds it from the existing column, if any, and more values."""
        with _ADDING:
            covered = 0 if self.column is None else len(self.column)
            if covered < len(self.values):
                self.column = make(self.column, self.values[covered:])
            return self.column

    def ranks(self) -> Codes:
        """For each code, the rank of its value in the order of all values."""
        with _ADDING:
            ordered, ranks = self.ordered(), self._ranks
            if ranks is None or len(ranks) != len(ordered):
                ranks = np.empty(len(ordered), np.int64)
                ranks[ordered] = np.arange(len(ordered))
                self._ranks = ranks
            return ranks

    def ordered(self) -> Codes:
        """The codes in the order of their values."""
        with _ADDING:
            ordered, size = self._ordered, len(self.values)
            if ordered is None or len(ordered) != size:
                ordered = np.array(sorted(range(size), key=self.values.__getitem__), np.int64)
                self._ordered = ordered
            return ordered

    def between(self, low: Value | None, high: Value | None) -> Codes:
        """The codes of the values between two bounds, inclusive; None is no bound."""
        ordered = self.ordered()
        order: Callable[[int], Any] = self.values.__getitem__
        first = 0 if low is None else bisect_left(ordered, low, key=order)
        last = len(ordered) if high is None else bisect_right(ordered, high, key=order)
        return ordered[first:last]

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, values: list[Any]) -> Dictionary:
        """The dictionary of these values, in this order; ValueError if a value is repeated."""
        made = cls()
        made.values, made._codes = values, dict(zip(values, range(len(values)), strict=True))
        if len(made._codes) != len(values):
            raise ValueError("duplicate value")
        return made


class Codec:
    """The dictionaries of a session."""

    def __init__(self) -> None:
        self.dictionaries: dict[types.Scalar, Dictionary] = {}

    def dictionary(self, type_: Type) -> Dictionary:
        item = scalar(type_)
        found = self.dictionaries.get(item)
        return self.dictionaries.setdefault(item, Dictionary()) if found is None else found

    def keeping(self, kept: Mapping[types.Scalar, Codes]) -> Codec:
        """A codec with only the given values of some types, in this order, and all values of other types."""
        made = Codec()
        made.dictionaries = dict(self.dictionaries)
        for item, codes in kept.items():
            values = self.dictionaries[item].values
            made.dictionaries[item] = dictionary = Dictionary()
            dictionary.intern_many([values[code] for code in codes.tolist()])
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
            value: Value = self.dictionary(item).values[code]
            return value
        return _direct_value(item, int(code))

    def decode_column(self, type_: Type, codes: Codes) -> list[Value]:
        item = scalar(type_)
        listed = codes.tolist()
        if is_direct(item) and isinstance(item, types.Int | types.Bit | types.Signed):
            decoded: list[Value] = listed
        elif is_direct(item):
            decoded = [_direct_value(item, c) if c != NONE else None for c in listed]
        else:
            known = self.dictionary(item).values
            decoded = [known[c] if c != NONE else None for c in listed]
        if isinstance(type_, types.Option):
            return [None if c == NONE else v for c, v in zip(listed, decoded, strict=True)]
        return decoded


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
