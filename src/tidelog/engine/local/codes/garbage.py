"""Garbage collection of dictionaries: drops unused values once they are the majority.

A value inside of a structured value that is in use is in use, too. If values of a type are dropped, so are
all unused values of the types that contain it, since those may refer to them.

A collection makes a new codec and gives the rows new codes. Holders of old codes (views of earlier commits,
change sets) decode them with the old codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.data import types
from tidelog.data.types import Type, present
from tidelog.engine.local.codes.codec import NONE, Codec, Codes, containing
from tidelog.engine.local.codes.interning import Dictionary
from tidelog.engine.local.codes.pools import Pool
from tidelog.engine.local.codes.structures import Structures
from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.storage.table import Table

__all__ = ["Collector"]

Marks: TypeAlias = npt.NDArray[np.bool_]

SMALLEST: Final = 100_000  # dictionaries with fewer values, items of collections included, are kept


def _size(dictionary: Dictionary, codes: Codes | None = None) -> int:
    """The number of values, and of items of collections: of all of them, or of those with these codes."""
    count = len(dictionary) if codes is None else len(codes)
    if not isinstance(dictionary, Pool):
        return count
    return count + (dictionary.total if codes is None else int(dictionary.lengths(codes).sum()))


class Collector:
    """Finds and drops unused values. `tables`, `bits` and `kinds` are those of an engine, by relation."""

    def __init__(
        self,
        tables: Mapping[str, Table],
        bits: Mapping[str, BitRelation],
        kinds: Mapping[str, tuple[Type, ...]],
    ) -> None:
        self._tables = tables
        self._bits = bits
        self._kinds = kinds
        self._enough: dict[types.Item, int] = {}
        self._rows = 0  # the largest number of rows since it last halved

    def unused(self, codec: Codec) -> dict[types.Item, Codes]:
        """The codes in use, for each type most of whose values are unused.

        A type is examined when it has twice as many values as were in use at its last examination, or when
        the number of rows has more than halved. Items of collections count, too.
        """
        found: dict[types.Item, Codes] = {}
        if all(_size(dictionary) < SMALLEST for dictionary in list(codec.dictionaries.values())):
            return found
        rows = sum(table.live for table in self._tables.values())
        fewer = 2 * rows < self._rows
        self._rows = rows if fewer else max(rows, self._rows)
        held = list(codec.dictionaries.items())  # readers may add a type meanwhile
        marks: dict[types.Item, Marks] | None = None
        for item, dictionary in held:
            size = _size(dictionary)
            if size < SMALLEST or (size < self._enough.get(item, SMALLEST) and not fewer):
                continue
            if marks is None and any(isinstance(d, Structures) for _, d in held):
                marks = self.in_use(codec)
            used = self._used(item, len(dictionary)) if marks is None else np.flatnonzero(marks[item])
            left = _size(dictionary, used)
            self._enough[item] = max(SMALLEST, 2 * left)
            if 2 * left < size:
                found[item] = used
        if marks is not None and found:
            found |= {item: np.flatnonzero(marks[item]) for item in containing(marks, found)}
        return found

    def in_use(self, codec: Codec) -> dict[types.Item, Marks]:
        """Which values are in use, in rows or inside of structured values that are."""
        known = dict(codec.dictionaries)
        marks = {item: np.zeros(len(dictionary), np.bool_) for item, dictionary in known.items()}
        self._mark_rows(marks)
        waiting = [(d, np.flatnonzero(marks[i])) for i, d in known.items() if isinstance(d, Structures)]
        while waiting:
            dictionary, codes = waiting.pop()
            rows = dictionary.rows(codes)
            for part, places in dictionary.split(rows):
                if part.dictionary is None:
                    continue
                inside, mark = rows.content[places], marks[present(part.type)]
                inside = inside[inside != NONE]
                fresh = np.unique(inside[~mark[inside]])
                mark[fresh] = True
                if isinstance(part.dictionary, Structures) and len(fresh):
                    waiting.append((part.dictionary, fresh))
        return marks

    def _used(self, item: types.Item, size: int) -> Codes:
        mark = np.zeros(size, np.bool_)
        self._mark_rows({item: mark})
        return np.flatnonzero(mark)

    def _mark_rows(self, marks: Mapping[types.Item, Marks]) -> None:
        """Mark the values of some types that are in rows."""
        for name, kinds in self._kinds.items():
            held = [
                (i, mark) for i, kind in enumerate(kinds) if (mark := marks.get(present(kind))) is not None
            ]
            if not held:
                continue
            table = self._tables[name]
            data = table.codes(table.useful())
            columns = [(data[:, i], mark) for i, mark in held]
            if name in self._bits and held[0][0] == 0:
                columns.append((self._bits[name].names.column(0), held[0][1]))
            for codes, mark in columns:
                mark[codes[codes != NONE]] = True

    def renew(self, codec: Codec, kept: Mapping[types.Item, Codes]) -> Codec:
        """Make a codec with only the given values of some types, and re-encode all rows with it."""
        renewed = codec.keeping(kept)
        codes = {item: np.full(len(codec.dictionaries[item]), NONE) for item in kept}
        for item, used in kept.items():
            codes[item][used] = np.arange(len(used))
        for name, kinds in self._kinds.items():
            changed = {i: codes[s] for i, kind in enumerate(kinds) if (s := present(kind)) in codes}
            if changed:
                self._tables[name].compact(changed)
            if name in self._bits and present(kinds[0]) in codes:
                self._bits[name].rename(codes[present(kinds[0])])
        return renewed
