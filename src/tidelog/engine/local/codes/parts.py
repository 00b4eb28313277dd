"""Values of one type, given its dictionary: their codes, and back.

This is what `Codec` does for a type of a column, and what a structured type does for the types inside it. A
part holds the dictionary itself, so that terms stay valid when a codec with other dictionaries is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type, present
from tidelog.data.values import NAN, BadValue, Value
from tidelog.engine.local.codes.direct import direct_code, direct_value, double_codes, doubles
from tidelog.engine.local.codes.interning import Codes, Dictionary
from tidelog.engine.local.codes.packing import packing
from tidelog.engine.local.kernels.layout import NONE

__all__ = ["Part"]


class Part(NamedTuple):
    """A type, and its dictionary unless it is direct."""

    type: Type
    dictionary: Dictionary | None

    @property
    def is_option(self) -> bool:
        return isinstance(self.type, types.Option)

    def encode(self, value: Value) -> int:
        """The code of one canonical value."""
        if value is None:
            return NONE
        if self.dictionary is not None:
            return self.dictionary.code(value)
        code = direct_code(present(self.type), value)
        if code == NONE and self.is_option:
            raise BadValue(f"{value!r} cannot be stored in a column of {self.type}: its code stands for none")
        return code

    def encode_many(self, values: Sequence[Any]) -> Codes:
        if self.dictionary is None and types.is_float(present(self.type)):
            codes = double_codes(np.array([0.0 if v is None else v for v in values], np.float64))
        elif self.dictionary is None:
            return np.fromiter(map(self.encode, values), np.int64, len(values))
        elif None not in values:
            return self.dictionary.intern_many(values)
        else:
            codes = np.empty(len(values), np.int64)
            there = [i for i, v in enumerate(values) if v is not None]
            codes[there] = self.dictionary.intern_many([values[i] for i in there])
        codes[[v is None for v in values]] = NONE
        return codes

    def find(self, value: Value) -> int | None:
        """The code of a canonical value, or None if it has none, so that no row can contain it."""
        if value is not None and self.dictionary is not None:
            return self.dictionary.find(value)
        return self.encode(value)

    def decode(self, code: int) -> Value:
        if self.is_option and code == NONE:
            return None
        if self.dictionary is not None:
            value: Value = self.dictionary.value(code)
            return value
        return direct_value(present(self.type), int(code))

    def decode_many(self, listed: list[Any]) -> list[Value]:
        item = present(self.type)
        if self.dictionary is not None:
            return self.dictionary.decode(listed)
        if isinstance(item, types.Int | types.Bit | types.Signed):
            decoded: list[Value] = listed
        elif types.is_float(item):
            decoded = [NAN if x != x else x for x in doubles(np.array(listed, np.int64)).tolist()]
        elif (packed := packing(item)) is not None:
            return packed.decode(np.array(listed, np.int64))
        else:
            decoded = [direct_value(item, c) if c != NONE else None for c in listed]
        if self.is_option:
            return [None if c == NONE else v for c, v in zip(listed, decoded, strict=True)]
        return decoded
