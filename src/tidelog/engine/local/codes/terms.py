"""The dictionary of a struct, union or tuple type: a table of terms.

A term is a row: the number of its constructor, if there are several, and the codes of its fields. Rows are as
long as those of the constructor with the most fields, and the rest is 0. So a field of many terms is one
gather.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tidelog.data import types
from tidelog.data.structs import struct_class
from tidelog.data.types import Type
from tidelog.data.values import Value
from tidelog.engine.local.codes.interning import Codes
from tidelog.engine.local.codes.order import keys
from tidelog.engine.local.codes.packing import constructors_of
from tidelog.engine.local.codes.parts import Part
from tidelog.engine.local.codes.structures import Rows, Structures

__all__ = ["Terms"]


class Terms(Structures):
    """The terms of a type. `constructors` are their names and parts; a tuple has one without a name."""

    __slots__ = ("_classes", "_numbers", "_tagged", "_widths", "constructors")

    def __init__(self, type_: types.Tuple | types.Named) -> None:
        named = constructors_of(type_)
        self._tagged = len(named) > 1
        self._numbers = {constructor.name: number for number, constructor in enumerate(named)}
        self._classes = [struct_class(type_, c.name) for c in named] if isinstance(type_, types.Named) else []
        self._widths = [len(c.fields) for c in named]
        self.constructors: list[tuple[Part, ...]] = []
        super().__init__(type_, max(1, self._tagged + max(self._widths)))

    def bind(self, parts: Sequence[Part]) -> None:
        at = 0
        for width in self._widths:
            self.constructors.append(tuple(parts[at : at + width]))
            at += width

    # -- columns

    @property
    def is_union(self) -> bool:
        """Whether there are several constructors."""
        return self._tagged

    def number(self, constructor: str) -> int:
        """The number of a constructor."""
        return self._numbers[constructor]

    def types(self, number: int) -> list[Type]:
        """The types of the fields of a constructor."""
        return [part.type for part in self.constructors[number]]

    def make(self, constructor: str, fields: Sequence[Codes], count: int) -> Codes:
        """The codes of terms with these fields, of which a column may have a single entry for all."""
        return self.intern(Rows(self._rows(constructor, fields, count).reshape(-1), None), count)

    def make_mixed(self, tags: Codes, fields: Callable[[int, Codes], Sequence[Codes]]) -> Codes:
        """The codes of terms with constructors of these numbers.

        `fields` returns the columns of a constructor's fields for some of the rows.
        """
        rows = np.empty((len(tags), self.each), np.int64)
        for number in np.unique(tags).tolist():
            chosen = np.flatnonzero(tags == number)
            rows[chosen] = self._rows(self.name(number), fields(number, chosen), len(chosen))
        return self.intern(Rows(rows.reshape(-1), None), len(tags))

    def _rows(self, constructor: str, fields: Sequence[Codes], count: int) -> Codes:
        rows = np.empty((count, self.each), np.int64)
        first = int(self._tagged)
        rows[:, :first] = self._numbers[constructor]
        for place, codes in enumerate(fields, first):
            rows[:, place] = codes
        rows[:, first + len(fields) :] = 0
        return rows

    def table(self) -> Codes:
        """All terms, a row each, and rows without meaning behind them."""
        return self._content.reshape(-1, self.each)

    def tag(self, codes: Codes) -> Codes:
        """The numbers of the constructors of terms."""
        return self._content[codes * self.each] if self._tagged else np.zeros(len(codes), np.int64)

    def field(self, number: int, codes: Codes, index: int) -> Codes:
        """A field of terms that have the constructor of this number; without meaning for others."""
        return self._content[codes * self.each + (self._tagged + index)]

    # -- values

    def intern_flat(self, values: Sequence[Any]) -> Codes:
        if not self._tagged:
            return self.make(self.name(0), self._columns(0, values), len(values))
        tags = np.array([self._numbers[value._tag] for value in values], np.int64)
        return self.make_mixed(tags, lambda n, rows: self._columns(n, [values[i] for i in rows.tolist()]))

    def name(self, number: int) -> str:
        """The name of a constructor."""
        return next(name for name, found in self._numbers.items() if found == number)

    def _columns(self, number: int, values: Sequence[Any]) -> list[Codes]:
        """The codes of the fields of values, which all have this constructor."""
        columns = zip(*(self._taken_apart(value) for value in values), strict=True)
        return [
            part.encode_many(list(column))
            for part, column in zip(self.constructors[number], columns, strict=bool(values))
        ]

    def _taken_apart(self, value: Any) -> Sequence[Value]:
        fields: tuple[Value, ...] = value if isinstance(self.type, types.Tuple) else value._values
        return fields

    def take_apart(self, value: Any) -> list[tuple[Part, Any]]:
        number = self._numbers[value._tag] if self._tagged else 0
        return list(zip(self.constructors[number], self._taken_apart(value), strict=True))

    def row_of(self, value: Any, codes: Sequence[int]) -> Sequence[int]:
        tag = [self._numbers[value._tag]] if self._tagged else []
        return [*tag, *codes, *[0] * (self.each - len(tag) - len(codes))]

    def build(self, codes: Codes) -> list[Any]:
        rows, tags = self.table()[codes], self.tag(codes)
        if not self._tagged:
            return self._built(0, rows)
        made: list[Any] = [None] * len(codes)
        for number in np.unique(tags).tolist():
            chosen = np.flatnonzero(tags == number)
            for i, value in zip(chosen.tolist(), self._built(number, rows[chosen, 1:]), strict=True):
                made[i] = value
        return made

    def _built(self, number: int, rows: Codes) -> list[Any]:
        """The values of rows of fields."""
        parts = self.constructors[number]
        columns = [part.decode_many(rows[:, i].tolist()) for i, part in enumerate(parts)]
        if isinstance(self.type, types.Tuple):
            return list(zip(*columns, strict=True))
        make = self._classes[number]._make
        return list(map(make, zip(*columns, strict=True))) if columns else [make(())] * len(rows)

    def inside(self, code: int) -> list[tuple[Part | None, int]]:
        row = self._content[code * self.each : (code + 1) * self.each].tolist()
        tag = [(None, row[0])] if self._tagged else []
        parts = self.constructors[row[0] if self._tagged else 0]
        return [*tag, *zip(parts, row[self._tagged :], strict=False)]

    def assemble(self, code: int, parts: Sequence[Value]) -> Value:
        number = int(self._content[code * self.each]) if self._tagged else 0
        made: Value = (
            tuple(parts) if isinstance(self.type, types.Tuple) else self._classes[number]._make(tuple(parts))
        )
        return made

    # -- order

    def arrange_flat(self, codes: Codes) -> Codes:
        rows, tags = self.table()[codes], self.tag(codes)
        columns = np.zeros((self.each, len(codes)), np.int64)
        columns[0] = tags
        for number in np.unique(tags).tolist():
            chosen = tags == number
            for place, part in enumerate(self.constructors[number], int(self._tagged)):
                (ranks,), _ = keys(part.dictionary, [rows[chosen, place]])
                columns[place, chosen] = ranks
        return np.lexsort(columns[::-1])

    # -- rows

    def rows(self, codes: Codes) -> Rows:
        return Rows(np.ascontiguousarray(self.table()[codes]).reshape(-1), None)

    def split(self, rows: Rows) -> list[tuple[Part, Any]]:
        table = rows.content.reshape(-1, self.each)
        tags = table[:, 0] if self._tagged else np.zeros(len(table), np.int64)
        found: list[tuple[Part, Any]] = []
        for number, parts in enumerate(self.constructors):
            starts = np.flatnonzero(tags == number) * self.each
            found += [(part, starts + place) for place, part in enumerate(parts, int(self._tagged))]
        return found

    def is_sound(self, rows: Rows) -> bool:
        """Whether rows have known constructors, and 0 where their constructors have no field."""
        table, first = rows.content.reshape(-1, self.each), int(self._tagged)
        tags = table[:, 0] if self._tagged else np.zeros(len(table), np.int64)
        if len(tags) and not 0 <= int(tags.min()) <= int(tags.max()) < len(self.constructors):
            return False
        rests = ((number, first + len(parts)) for number, parts in enumerate(self.constructors))
        return not any(table[tags == number, rest:].any() for number, rest in rests)
