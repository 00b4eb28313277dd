"""Dictionaries of structured types: a value is interned as a row of the codes of its parts.

So values are built, compared and taken apart as columns of codes, by kernels and by gathering from arrays. A
value becomes an object of Python only when it is asked for. Existing rows never change, and an array that is
full is replaced by a longer one, so readers need no lock. See `terms` for structs, unions and tuples, and
`pools` for collections.

The rows of a type may contain codes of the type itself. Every value was interned after its parts, so
following the parts always ends.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any, Final, NamedTuple

import numpy as np

from tidelog.data import types
from tidelog.data.values import Value, order_key
from tidelog.engine.local.codes.interning import ADDING, Codes, Dictionary
from tidelog.engine.local.codes.parts import Part
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.kernels.layout import NONE
from tidelog.engine.local.native.calls import address, enlarge, intern_terms
from tidelog.engine.local.storage.growing import longer

__all__ = ["Rows", "Structures"]

_START: Final = 64  # values, and codes


class Rows(NamedTuple):
    """Rows of codes, one after another. `starts` has one entry more than there are rows.

    It is None if all rows have the same length.
    """

    content: Codes
    starts: Codes | None


class Structures(Dictionary):
    """The values of a structured type. `each` is the number of codes of a value, or 0 if that differs."""

    __slots__ = ("_at", "_content", "_slots", "_starts", "_view", "_words", "each", "is_recursive", "type")

    def __init__(self, type_: types.Structured, each: int) -> None:
        super().__init__()
        self.type = type_
        self.each = each
        self.is_recursive = types.is_recursive(type_)
        self._content = np.zeros(_START * max(each, 1), np.int64)
        self._starts = np.zeros(1 if each else _START, np.int64)
        self._slots = np.zeros(2 * _START, np.int64)
        self._words = np.zeros(layout.TERMS_WIDTH, np.int64)
        self._words[layout.ITEMS_EACH] = each
        self._view = self._words.data
        self._at = address(self._words)
        self._describe()

    def _describe(self) -> None:
        words = self._words
        words[layout.ITEMS_AT], words[layout.ITEMS_CAP] = address(self._content), len(self._content)
        words[layout.TERM_STARTS_AT], words[layout.TERM_STARTS_CAP] = address(self._starts), len(self._starts)
        words[layout.TERM_SLOTS_AT], words[layout.TERM_SLOTS] = address(self._slots), len(self._slots)

    def __len__(self) -> int:
        count: int = self._view[layout.TERMS]
        return count

    # -- the parts of the type

    @abstractmethod
    def bind(self, parts: Sequence[Part]) -> None:
        """Use these dictionaries for the parts, in the order of `types.parts`."""

    @abstractmethod
    def split(self, rows: Rows) -> list[tuple[Part, Any]]:
        """Where in the content of rows the codes of each part are."""

    @abstractmethod
    def intern_flat(self, values: Sequence[Any]) -> Codes:
        """The codes of values of a type that is not recursive, encoded as columns."""

    @abstractmethod
    def take_apart(self, value: Any) -> list[tuple[Part, Any]]:
        """The parts of a value."""

    @abstractmethod
    def row_of(self, value: Any, codes: Sequence[int]) -> Sequence[int]:
        """The row of a value, from the codes of its parts."""

    @abstractmethod
    def inside(self, code: int) -> list[tuple[Part | None, int]]:
        """The parts of one value in order, with their codes; a tag has no part."""

    @abstractmethod
    def assemble(self, code: int, parts: Sequence[Value]) -> Value:
        """The value with this code, from its parts."""

    # -- rows to codes

    def intern(self, rows: Rows, count: int) -> Codes:
        """The codes of many rows; unknown ones are added."""
        codes = np.empty(count, np.int64)
        with ADDING:
            done = intern_terms(self._at, rows.starts, rows.content, 0, True, codes)
            while done < count:
                self._make_room(self._length(rows, done))
                done = intern_terms(self._at, rows.starts, rows.content, done, True, codes)
        return codes

    def intern_row(self, row: Sequence[int], *, adds: bool) -> int | None:
        """The code of one row; None if it has none and is not to be added."""
        starts = None if self.each else np.array([0, len(row)], np.int64)
        rows, codes = Rows(np.array(row or [0], np.int64), starts), np.empty(1, np.int64)
        if adds:
            return int(self.intern(rows, 1)[0])
        with ADDING:
            intern_terms(self._at, rows.starts, rows.content, 0, False, codes)
        return None if codes[0] < 0 else int(codes[0])

    def _length(self, rows: Rows, row: int) -> int:
        return self.each if rows.starts is None else int(rows.starts[row + 1] - rows.starts[row])

    def _make_room(self, size: int) -> None:
        """Make room for one more value of this size at least."""
        words = self._words
        try:
            if not self.each and words[layout.TERMS] + 2 > len(self._starts):
                self._starts = longer(self._starts, 2 * len(self._starts))
            needed = int(words[layout.ITEMS]) + size
            if needed > len(self._content):
                self._content = longer(self._content, max(needed, 2 * len(self._content)))
        finally:  # also if memory runs out halfway
            self._describe()
        if 4 * (words[layout.TERMS] + 1) > 3 * len(self._slots):
            smaller, self._slots = self._slots, np.zeros(2 * len(self._slots), np.int64)
            self._describe()
            enlarge(self._slots, smaller)

    # -- values

    @property
    def values(self) -> list[Any]:
        return self.decode(range(len(self)))

    def code(self, value: Any) -> int:
        code = self._encode(value, adds=True)
        assert code is not None
        return code

    def find(self, value: Any) -> int | None:
        return self._encode(value, adds=False)

    def _encode(self, top: Any, *, adds: bool) -> int | None:
        """The code of a value, without recursion, since values may be deep; None if it has none."""
        known: dict[tuple[int, int], int] = {}
        waiting: list[tuple[Structures, Any]] = [(self, top)]
        while waiting:
            owner, value = waiting[-1]
            parts = owner.take_apart(value)
            inner = [
                (part.dictionary, v)
                for part, v in parts
                if isinstance(part.dictionary, Structures) and v is not None
            ]
            missing = [(d, v) for d, v in inner if (id(d), id(v)) not in known]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            codes = [known.get((id(p.dictionary), id(v))) for p, v in parts]
            for i, (part, v) in enumerate(parts):
                if codes[i] is None:
                    codes[i] = part.encode(v) if adds else part.find(v)
            row = [code for code in codes if code is not None]
            if len(row) < len(codes):
                return None
            code = owner.intern_row(owner.row_of(value, row), adds=adds)
            if code is None:
                return None
            known[id(owner), id(value)] = code
        return known[id(self), id(top)]

    def intern_many(self, values: Sequence[Any]) -> Codes:
        if self.is_recursive:
            return np.fromiter(map(self.code, values), np.int64, len(values))
        return self.intern_flat(values)

    def value(self, code: int) -> Any:
        return self.decode([int(code)])[0]

    def decode(self, codes: Sequence[int]) -> list[Any]:
        wanted = np.array(codes, np.int64)
        distinct, places = np.unique(wanted, return_inverse=True)
        first = int(len(distinct) > 0 and distinct[0] == NONE)
        there = distinct[first:]
        found = self._deep(there.tolist()) if self.is_recursive else self.build(there)
        known = [None] * first + found
        return [known[place] for place in places.tolist()]

    @abstractmethod
    def build(self, codes: Codes) -> list[Any]:
        """The values of codes, none of which is `none`, for a type that is not recursive."""

    def _deep(self, codes: list[int]) -> list[Any]:
        """The values of a recursive type, without recursion, since values may be deep."""
        known: dict[tuple[int, int], Value] = {}
        waiting: list[tuple[Structures, int]] = [(self, code) for code in codes]
        while waiting:
            owner, code = waiting[-1]
            parts = [(part, inner) for part, inner in owner.inside(code) if part is not None]
            missing = [
                (part.dictionary, inner)
                for part, inner in parts
                if isinstance(part.dictionary, Structures)
                and inner != NONE
                and (id(part.dictionary), inner) not in known
            ]
            if missing:
                waiting += missing
                continue
            values = [
                known[key] if (key := (id(p.dictionary), c)) in known else p.decode(c) for p, c in parts
            ]
            known[id(owner), code] = owner.assemble(code, values)
            waiting.pop()
        return [known[id(self), code] for code in codes]

    # -- order

    def _sort(self) -> Codes:
        return self.arrange(np.arange(len(self)))

    def arrange(self, codes: Codes) -> Codes:
        if not self.is_recursive:
            return self.arrange_flat(codes)
        listed = codes.tolist()
        order = sorted(range(len(listed)), key=cmp_to_key(lambda i, j: _compare(self, listed[i], listed[j])))
        return np.array(order, np.int64)

    @abstractmethod
    def arrange_flat(self, codes: Codes) -> Codes:
        """The order of distinct codes by their values, for a type that is not recursive."""

    def between(self, low: Any, high: Any) -> Codes:
        ordered = self.ordered()
        first = 0 if low is None else bisect_left(ordered, self._key(low), key=self._key_of)
        last = len(ordered) if high is None else bisect_right(ordered, self._key(high), key=self._key_of)
        return ordered[first:last]

    def _key(self, value: Any) -> Any:
        return order_key(self.type, value)

    def _key_of(self, code: int) -> Any:
        return order_key(self.type, self.value(code))

    # -- contents

    def contents(self) -> Rows:
        """All values."""
        with ADDING:
            count, size = len(self), int(self._words[layout.ITEMS])
            return Rows(self._content[:size], None if self.each else self._starts[: count + 1])

    @abstractmethod
    def rows(self, codes: Codes) -> Rows:
        """The rows of some codes."""

    def fill(self, rows: Rows, count: int) -> None:
        """Add rows to an empty dictionary; ValueError if one is repeated."""
        self.intern(rows, count)
        if len(self) != count:
            raise ValueError("duplicate value")


def _compare(owner: Structures, one: int, other: int) -> int:
    """Compare two values of a type: the first of their parts with different codes decide."""
    while one != other:
        left, right = owner.inside(one), owner.inside(other)
        pairs = ((a, b) for a, b in zip(left, right, strict=False) if a[1] != b[1])
        differing = next(pairs, None)
        if differing is None:
            return len(left) - len(right)
        (part, one), (_, other) = differing
        known = None if part is None else part.dictionary
        if known is None or NONE in (one, other):
            return -1 if one < other else 1
        if not isinstance(known, Structures):
            return -1 if known.value(one) < known.value(other) else 1
        owner = known
    return 0
