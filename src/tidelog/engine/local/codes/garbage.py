"""Garbage collection of dictionaries: drops unused values once they are the majority.

A collection makes a new codec and gives the rows new codes. Holders of old codes (views of earlier commits,
change sets) decode them with the old codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type, scalar
from tidelog.engine.local.codes.codec import NONE, Codec, Codes
from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.storage.table import Table

__all__ = ["Collector"]

SMALLEST: Final = 100_000  # dictionaries with fewer values are never collected


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
        self._enough: dict[types.Scalar, int] = {}
        self._rows = 0  # the largest number of rows since it last halved

    def unused(self, codec: Codec) -> dict[types.Scalar, Codes]:
        """The codes in use, for each type most of whose values are unused.

        A type is examined when it has twice as many values as were in use at its last examination, or when
        the number of rows has more than halved.
        """
        found: dict[types.Scalar, Codes] = {}
        if all(len(dictionary) < SMALLEST for dictionary in list(codec.dictionaries.values())):
            return found
        rows = sum(table.live for table in self._tables.values())
        fewer = 2 * rows < self._rows
        self._rows = rows if fewer else max(rows, self._rows)
        for item, dictionary in list(codec.dictionaries.items()):  # readers may add a type meanwhile
            size = len(dictionary)
            if size < SMALLEST or (size < self._enough.get(item, SMALLEST) and not fewer):
                continue
            used = self._used(item, size)
            self._enough[item] = max(SMALLEST, 2 * len(used))
            if 2 * len(used) < size:
                found[item] = used
        return found

    def _used(self, item: types.Scalar, size: int) -> Codes:
        mark = np.zeros(size, np.bool_)
        for name, kinds in self._kinds.items():
            table = self._tables[name]
            data = table.codes(table.useful())
            columns = [data[:, i] for i, kind in enumerate(kinds) if scalar(kind) == item]
            if name in self._bits and scalar(kinds[0]) == item:
                names = self._bits[name].names
                columns.append(names.column(0))
            for codes in columns:
                mark[codes[codes != NONE]] = True
        return np.flatnonzero(mark)

    def renew(self, codec: Codec, kept: Mapping[types.Scalar, Codes]) -> Codec:
        """Make a codec with only the given values of some types, and re-encode all rows with it."""
        renewed = codec.keeping(kept)
        codes = {item: np.full(len(codec.dictionaries[item]), NONE) for item in kept}
        for item, used in kept.items():
            codes[item][used] = np.arange(len(used))
        for name, kinds in self._kinds.items():
            changed = {i: codes[s] for i, kind in enumerate(kinds) if (s := scalar(kind)) in codes}
            if changed:
                self._tables[name].compact(changed)
            if name in self._bits and scalar(kinds[0]) in codes:
                self._bits[name].rename(codes[scalar(kinds[0])])
        return renewed
