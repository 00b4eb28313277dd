"""Values that no row has any more are forgotten, once they are most of those that a session knows.

Whoever still holds old codes (views of earlier commits, change sets) decodes them by the codec of that time:
a collection makes a new one, and gives the rows new codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import NONE, Codec, Codes, scalar
from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.storage.table import Table

__all__ = ["Collector"]

SMALLEST: Final = 100_000  # values of a type that are never worth a look


class Collector:
    """Asks now and then what is used; `tables`, `bits` and `kinds` are those of an engine, by relation."""

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
        self._rows = 0  # the most there were since the last look

    def unused(self, codec: Codec) -> dict[types.Scalar, Codes]:
        """The codes in use, for each type most of whose values are not.

        A type is looked at when it has twice the values that were found in use at the last look, or when
        there are less than half as many rows as there have been since.
        """
        found: dict[types.Scalar, Codes] = {}
        rows = sum(table.live for table in self._tables.values())
        fewer = 2 * rows < self._rows
        self._rows = rows if fewer else max(rows, self._rows)
        for item, dictionary in list(codec.dictionaries.items()):  # a reader may ask for another type
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
            data = table.data[table.useful()]
            columns = [data[:, i] for i, kind in enumerate(kinds) if scalar(kind) == item]
            if name in self._bits and scalar(kinds[0]) == item:
                names = self._bits[name].names
                columns.append(names.data[: names.rows, 0])
            for codes in columns:
                mark[codes[codes != NONE]] = True
        return np.flatnonzero(mark)

    def renew(self, codec: Codec, kept: Mapping[types.Scalar, Codes]) -> Codec:
        """A codec that knows only these of the values of some types; all rows get its codes."""
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
