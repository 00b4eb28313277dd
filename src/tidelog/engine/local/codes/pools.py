"""The dictionary of a vec, set or map type: a pool of sequences of codes.

A set has each element once, in the order of values, and a map its keys in their order, each followed by its
value. So equal collections have equal codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from tidelog.data import types
from tidelog.data.structs import FrozenMap
from tidelog.data.values import Value
from tidelog.engine.local.codes.interning import Codes
from tidelog.engine.local.codes.order import arrange_sequences, keys
from tidelog.engine.local.codes.parts import Part
from tidelog.engine.local.codes.structures import Rows, Structures
from tidelog.engine.local.kernels import layout

__all__ = ["Pool", "flat_places", "lengths_to_starts"]


def lengths_to_starts(lengths: Codes) -> Codes:
    """Where sequences of these lengths begin, one after another, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def flat_places(starts: Codes, lengths: Codes) -> Codes:
    """The places of all items of sequences that begin at these places."""
    made = lengths_to_starts(lengths)
    return np.repeat(starts - made[:-1], lengths) + np.arange(made[-1])


class Pool(Structures):
    """The collections of a type. `parts` is the part of the items, or those of keys and values."""

    __slots__ = ("parts",)

    def __init__(self, type_: types.Vec | types.Set | types.Map) -> None:
        super().__init__(type_, 0)
        self.parts: tuple[Part, ...] = ()

    def bind(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)

    # -- columns

    @property
    def step(self) -> int:
        """The number of codes of an item: 2 in a map."""
        return len(self.parts)

    @property
    def total(self) -> int:
        """How many items all collections have together."""
        count: int = self._view[layout.ITEMS] // self.step
        return count

    def lengths(self, codes: Codes) -> Codes:
        """How many items collections have."""
        starts = self._starts
        return (starts[codes + 1] - starts[codes]) // self.step

    def items(self, codes: Codes) -> Rows:
        """The items of collections; in a map, keys and values take turns."""
        return self.rows(codes)

    def rows(self, codes: Codes) -> Rows:
        starts, content = self._starts[codes], self._content
        ends = self._starts[codes + 1]
        made = lengths_to_starts(ends - starts)
        if len(codes) and np.array_equal(starts[1:], ends[:-1]):  # side by side, as they were given
            return Rows(content[starts[0] : ends[-1]], made)
        return Rows(content[flat_places(starts, ends - starts)], made)

    def from_items(self, rows: Rows) -> Codes:
        """The codes of collections of these items, in any order.

        Of several values for a key, the last one counts.
        """
        assert rows.starts is not None
        if not isinstance(self.type, types.Vec):
            rows = self._in_order(rows.content, np.diff(rows.starts) // self.step)
        assert rows.starts is not None
        content = rows.content if len(rows.content) else np.zeros(1, np.int64)
        return self.intern(Rows(np.ascontiguousarray(content), rows.starts), len(rows.starts) - 1)

    def _in_order(self, content: Codes, lengths: Codes) -> Rows:
        """The items of each collection in the order of values, and each element or key once."""
        table = content.reshape(-1, self.step)
        owners = np.repeat(np.arange(len(lengths)), lengths)
        (ranks,), _ = keys(self.parts[0].dictionary, [np.ascontiguousarray(table[:, 0])])
        order = np.lexsort((ranks, owners))
        table, owners, ranks = table[order], owners[order], ranks[order]
        is_last = np.ones(len(owners), np.bool_)
        is_last[:-1] = (owners[1:] != owners[:-1]) | (ranks[1:] != ranks[:-1])
        counts = np.bincount(owners[is_last], minlength=len(lengths)).astype(np.int64)
        return Rows(table[is_last].reshape(-1), lengths_to_starts(self.step * counts))

    def is_in_order(self) -> bool:
        """Whether every set and map has its elements in order, each once."""
        if isinstance(self.type, types.Vec):
            return True
        rows = self.contents()
        assert rows.starts is not None
        ordered = self._in_order(rows.content, np.diff(rows.starts) // self.step)
        return np.array_equal(ordered.content, rows.content)

    # -- values

    def intern_flat(self, values: Sequence[Any]) -> Codes:
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        columns = self._columns(values)
        codes = [part.encode_many(list(c)) for part, c in zip(self.parts, columns, strict=True)]
        content = np.stack(codes, axis=1).reshape(-1)
        return self.from_items(Rows(content, lengths_to_starts(lengths * self.step)))

    def _columns(self, values: Iterable[Any]) -> list[Iterable[Value]]:
        if isinstance(self.type, types.Map):
            listed = list(values)
            keys_ = chain.from_iterable(listed)
            return [keys_, chain.from_iterable(value.values() for value in listed)]
        return [chain.from_iterable(values)]

    def take_apart(self, value: Any) -> list[tuple[Part, Any]]:
        entries = chain.from_iterable(value.items()) if isinstance(self.type, types.Map) else value
        return [(self.parts[i % self.step], item) for i, item in enumerate(entries)]

    def row_of(self, value: Any, codes: Sequence[int]) -> Sequence[int]:
        if isinstance(self.type, types.Vec):
            return codes
        ordered = self._in_order(np.array(codes, np.int64), np.array([len(value)]))
        row: list[int] = ordered.content.tolist()
        return row

    def build(self, codes: Codes) -> list[Any]:
        rows = self.items(codes)
        assert rows.starts is not None
        table = rows.content.reshape(-1, self.step)
        columns = [part.decode_many(table[:, i].tolist()) for i, part in enumerate(self.parts)]
        bounds = pairwise((rows.starts // self.step).tolist())
        return [self._made([column[start:end] for column in columns]) for start, end in bounds]

    def _made(self, columns: Sequence[Sequence[Value]]) -> Any:
        match self.type:
            case types.Vec():
                return tuple(columns[0])
            case types.Set():
                return frozenset(columns[0])
            case _:
                return FrozenMap(dict(zip(*columns, strict=True)))

    def inside(self, code: int) -> list[tuple[Part | None, int]]:
        start, end = self._starts[code : code + 2].tolist()
        content = self._content[start:end].tolist()
        return [(self.parts[i % self.step], inner) for i, inner in enumerate(content)]

    def assemble(self, code: int, parts: Sequence[Value]) -> Value:
        made: Value = self._made([parts[i :: self.step] for i in range(self.step)])
        return made

    # -- order

    def arrange_flat(self, codes: Codes) -> Codes:
        rows = self.items(codes)
        assert rows.starts is not None
        ranks = np.empty(len(rows.content), np.int64)
        for i, part in enumerate(self.parts):
            (ranks[i :: self.step],), _ = keys(
                part.dictionary, [np.ascontiguousarray(rows.content[i :: self.step])]
            )
        return arrange_sequences(rows.starts[:-1], np.diff(rows.starts), ranks)

    # -- rows

    def split(self, rows: Rows) -> list[tuple[Part, Any]]:
        return [(part, slice(i, None, self.step)) for i, part in enumerate(self.parts)]
