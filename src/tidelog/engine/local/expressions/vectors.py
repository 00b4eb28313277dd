"""Vectors: the values of expressions in many rows.

A `Vector` holds the values of one expression. Invariants:

- Its arrays have one entry for each row, or a single entry for all rows. Constants are never expanded, and
  expressions of constants are computed once.
- `codes` and `numbers` represent the same values, and each is computed from the other on demand. So a chain
  of operations on doubles is encoded only at its ends.
- `failures` is None if every row has a value. Otherwise it has 0 for rows with a value, and the number of a
  reason for failed rows, whose codes are undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codes, double_codes, doubles

__all__ = [
    "Failures",
    "Mask",
    "Numbers",
    "Outcome",
    "Reasons",
    "Rows",
    "Vector",
    "bounds",
    "distinct",
    "first_failures",
]

Failures: TypeAlias = npt.NDArray[np.int32]
Mask: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.int64]

_ROOM = 1024  # a table of this size is cheaper than any sort


class Reasons:
    """The reasons of failures: texts, numbered from 1."""

    __slots__ = ("_numbers", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        known = self._numbers.get(text)
        if known is None:
            self._texts.append(text)
            known = self._numbers[text] = len(self._texts)
        return known

    def text(self, number: int) -> str:
        return self._texts[number - 1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an evaluation: one code for each row, or the number of the reason why it failed.

    `failures` is None if nothing failed. `codes` may be one of the input columns; the codes of failed rows
    are undefined.
    """

    codes: Codes
    failures: Failures | None
    reasons: Reasons

    def reason(self, number: int) -> str:
        return self.reasons.text(number)


class Vector:
    __slots__ = ("_codes", "_numbers", "failures")

    def __init__(self, codes: Codes | None, failures: Failures | None = None, numbers: Numbers | None = None):
        assert codes is not None or numbers is not None
        self._codes = codes
        self._numbers = numbers
        self.failures = failures

    @classmethod
    def of_numbers(cls, numbers: Numbers) -> Vector:
        return cls(None, None, numbers)

    @property
    def codes(self) -> Codes:
        if self._codes is None:
            assert self._numbers is not None
            self._codes = double_codes(self._numbers)
        return self._codes

    @property
    def numbers(self) -> Numbers:
        """The values of a float or double."""
        if self._numbers is None:
            assert self._codes is not None
            self._numbers = doubles(self._codes)
        return self._numbers

    @property
    def is_numbers(self) -> bool:
        """Whether the numbers are available without decoding."""
        return self._numbers is not None

    def __len__(self) -> int:
        if self._codes is not None:
            return len(self._codes)
        assert self._numbers is not None
        return len(self._numbers)

    def take(self, rows: Rows) -> Vector:
        """The values in some rows."""
        if len(self) == 1:
            return self
        return Vector(
            None if self._codes is None else self._codes[rows],
            None if self.failures is None else self.failures[rows],
            None if self._numbers is None else self._numbers[rows],
        )

    def outcome(self, size: int, reasons: Reasons) -> Outcome:
        """The outcome, expanded to `size` rows."""
        codes, failures = self.codes, self.failures
        if failures is not None and not failures.any():
            failures = None
        if len(codes) != size:
            codes = np.full(size, codes[0])
            failures = None if failures is None else np.full(size, failures[0])
        return Outcome(codes, failures, reasons)

    def put(self, rows: Rows, part: Vector, size: int) -> Vector:
        """The vector, expanded to `size` rows, with the values of `part` in some rows."""
        codes = np.array(np.broadcast_to(self.codes, size))
        codes[rows] = part.codes
        if self.failures is None and part.failures is None:
            return Vector(codes)
        failures = np.zeros(size, np.int32)
        if self.failures is not None:
            failures[:] = self.failures
        failures[rows] = 0 if part.failures is None else part.failures
        return Vector(codes, failures)


def bounds(codes: Codes) -> tuple[int, int]:
    """The smallest and the largest code of a nonempty array."""
    return int(codes.min()), int(codes.max())


def first_failures(vectors: Sequence[Vector]) -> Failures | None:
    """The failures of a strict operation on these vectors: the leftmost in each row."""
    found: Failures | None = None
    for vector in vectors:
        if vector.failures is None:
            continue
        found = vector.failures if found is None else np.where(found == 0, vector.failures, found)
    return found


def distinct(columns: Sequence[Codes]) -> tuple[Rows, Rows]:
    """One row for each distinct combination of codes, and for each row the number of its combination."""
    rows, places = _distinct(columns[0])
    for column in columns[1:]:
        others, other_places = _distinct(column)
        rows, places = _distinct(places * len(others) + other_places)
    return rows, places


def _distinct(keys: Codes) -> tuple[Rows, Rows]:
    low, high = bounds(keys)
    if high - low >= 2 * len(keys) + _ROOM:
        _, rows, places = np.unique(keys, return_index=True, return_inverse=True)
        return rows, places
    # few possible keys: a table that maps each key first to a row that has it, then to its number
    shifted = keys - low
    table = np.full(high - low + 1, -1, np.int64)
    table[shifted] = np.arange(len(keys))
    present = np.flatnonzero(table >= 0)
    rows = table[present]
    table[present] = np.arange(len(present))
    return rows, table[shifted]
