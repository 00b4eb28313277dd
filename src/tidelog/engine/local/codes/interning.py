"""Dictionaries: the values of interned types, by their codes.

Any thread may use a dictionary: the writer interns while readers look up and decode, and the codecs of one
session share dictionaries. Existing entries never change, so most lookups take no lock. Additions (values,
the order, the column) are made under `ADDING`, and so is everything that kernels do with strings. One lock
serves all dictionaries: only one thread interns at a time, and for moments. No other lock is taken while it
is held. A fork waits for it.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels.layout import NONE

__all__ = ["ADDING", "Codes", "Dictionary"]

Codes: TypeAlias = npt.NDArray[np.int64]

ADDING: Final = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=ADDING.acquire, after_in_parent=ADDING.release, after_in_child=ADDING.release)


class Dictionary:
    """The values of one interned type; a code is a position in `values`.

    `column` holds the first values in a form for decoding many codes at once. It is replaced by longer ones
    and never modified.
    """

    __slots__ = ("_codes", "_ordered", "_ranks", "_values", "column")

    def __init__(self) -> None:
        self._values: list[Any] = []
        self.column: Any = None
        self._codes: dict[Any, int] = {}
        self._ranks: Codes | None = None
        self._ordered: Codes | None = None

    @property
    def values(self) -> list[Any]:
        return self._values

    def code(self, value: Any) -> int:
        found = self._codes.get(value)
        return self._add(value) if found is None else found

    def _add(self, value: Any) -> int:
        with ADDING:
            found = self._codes.get(value)
            if found is None:
                found = len(self._values)
                self._values.append(value)  # before `_codes`, so that every code found can be decoded
                self._codes[value] = found
            return found

    def find(self, value: Any) -> int | None:
        """The code of a value, or None if it is not in the dictionary."""
        return self._codes.get(value)

    def intern_many(self, values: Sequence[Any]) -> Codes:
        """The codes of many values: known ones are looked up together, new ones are added in order."""
        found = list(map(self._codes.get, values))
        if None in found:
            with ADDING:
                fresh = dict.fromkeys(v for v in values if v not in self._codes)
                first = len(self._values)
                self._values.extend(fresh)
                self._codes.update(zip(fresh, range(first, len(self._values)), strict=True))
            found = list(map(self._codes.get, values))
        return np.array(found, np.int64)

    def value(self, code: int) -> Any:
        return self._values[code]

    def decode(self, codes: Sequence[int]) -> list[Any]:
        """The values of codes; None for `none`."""
        known = self._values
        return [None if code == NONE else known[code] for code in codes]

    def part(self, codes: Codes) -> Dictionary:
        """A dictionary of the values of these codes, in this order."""
        return self.of(self.decode(codes.tolist()))

    def extended(self, make: Callable[[Any, list[Any]], Any]) -> Any:
        """The column with all values; `make` builds it from the existing column, if any, and more values."""
        with ADDING:
            covered = 0 if self.column is None else len(self.column)
            if covered < len(self._values):
                self.column = make(self.column, self._values[covered:])
            return self.column

    def ranks(self) -> Codes:
        """For each code, the rank of its value in the order of all values."""
        with ADDING:
            ordered, ranks = self.ordered(), self._ranks
            if ranks is None or len(ranks) != len(ordered):
                ranks = np.empty(len(ordered), np.int64)
                ranks[ordered] = np.arange(len(ordered))
                self._ranks = ranks
            return ranks

    def ordered(self) -> Codes:
        """The codes in the order of their values."""
        with ADDING:
            ordered = self._ordered
            if ordered is None or len(ordered) != len(self):
                ordered = self._ordered = self._sort()
            return ordered

    def _sort(self) -> Codes:
        return self.arrange(np.arange(len(self)))

    def arrange(self, codes: Codes) -> Codes:
        """The order of distinct codes by their values, as places in this array."""
        values = self.decode(codes.tolist())
        return np.array(sorted(range(len(values)), key=values.__getitem__), np.int64)

    def between(self, low: Any, high: Any) -> Codes:
        """The codes of the values between two bounds, inclusive; None is no bound."""
        ordered = self.ordered()
        first = 0 if low is None else bisect_left(ordered, low, key=self.value)
        last = len(ordered) if high is None else bisect_right(ordered, high, key=self.value)
        return ordered[first:last]

    def __len__(self) -> int:
        return len(self._values)

    @classmethod
    def of(cls, values: list[Any]) -> Dictionary:
        """The dictionary of these values, in this order; ValueError if a value is repeated."""
        made = Dictionary()
        made._values, made._codes = values, dict(zip(values, range(len(values)), strict=True))
        if len(made._codes) != len(values):
            raise ValueError("duplicate value")
        return made
