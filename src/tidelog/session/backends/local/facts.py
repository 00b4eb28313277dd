"""Facts in this process: codes that are decoded when they are read.

`CodedFacts` holds its rows as codes. `View` is a whole relation and reads it on demand, through the hash
table and indexes where possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tidelog.data.values import Value
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.storage.snapshot import Extent, Unread, matching
from tidelog.engine.local.storage.table import Table
from tidelog.program.declared import Relation
from tidelog.session.backends.local.decoding import Decoder
from tidelog.session.backends.local.readers import Source
from tidelog.session.facts import Fact, Facts, WholeFacts, position

__all__ = ["CodedFacts", "LazyFacts", "View"]

_NOTHING = np.empty((0, 0), np.int64)


class CodedFacts(Facts):
    is_near = True

    def __init__(self, relation: Relation, decoder: Decoder, codes: Codes) -> None:
        super().__init__(relation)
        self._decoder = decoder
        self._codes = codes

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[Fact]:
        return self._decoder.rows(self.relation, self._all())

    def __contains__(self, row: object) -> bool:
        codes = self._decoder.row_codes(self.relation, row)
        return codes is not None and len(self._select(dict(enumerate(codes.tolist())))) > 0

    def where(self, **values: object) -> Facts:
        codes = {
            (place := position(self.relation, name)): self._decoder.code(self.relation, place, value)
            for name, value in values.items()
        }
        wanted = {place: code for place, code in codes.items() if code is not None}
        if len(wanted) < len(codes):  # no row has such a value
            return self._part(np.empty((0, len(self.relation.columns)), np.int64))
        return self._part(self._select(wanted))

    def between(self, column: str, low: object = None, high: object = None) -> Facts:
        place = position(self.relation, column)
        return self._part(self._between(place, self._decoder.extent(self.relation, place, low, high)))

    def _sliced(self, rows: slice) -> Facts:
        start, stop, step = rows.indices(len(self))
        known = self._first(stop) if start < stop and step > 0 else self._all()
        return self._part(known[rows.start : rows.stop : rows.step] if step < 0 else known[start:stop:step])

    def to_arrow(self) -> Any:
        return self._decoder.table(self.relation, self._all())

    def published(self, table: Any) -> Any:
        return self._decoder.to_spark(table)

    def first(self, count: int) -> Iterator[Fact]:
        return self._decoder.rows(self.relation, self._first(count))

    # -- codes

    def _all(self) -> Codes:
        return self._codes

    def _first(self, count: int) -> Codes:
        return self._all()[:count]

    def _select(self, wanted: dict[int, int]) -> Codes:
        codes = self._all()
        return codes[matching(codes, wanted)]

    def _between(self, place: int, wanted: Extent) -> Codes:
        codes = self._all()
        return codes[wanted.holds(codes[:, place])]

    def _part(self, codes: Codes) -> Facts:
        return CodedFacts(self.relation, self._decoder, codes)


class LazyFacts(CodedFacts):
    """Rows whose codes are computed on demand."""

    def __init__(self, relation: Relation, decoder: Decoder, rows: Unread) -> None:
        super().__init__(relation, decoder, _NOTHING)
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _written(self) -> Codes:
        return self._rows.codes()

    def _all(self) -> Codes:
        return self._written


class View(CodedFacts, WholeFacts):
    """A relation in tables of this process."""

    def __init__(self, relation: Relation, decoder: Decoder, source: Source) -> None:
        super().__init__(relation, decoder, _NOTHING)
        self._source = source

    def __len__(self) -> int:
        return self._source.size

    @property
    def given(self) -> Facts:
        return self._part(self._source.given())

    @property
    def derived(self) -> Facts:
        given = Table(len(self.relation.columns))
        given.add(self._source.given())
        codes = self._source.codes()
        return self._part(codes[given.find(codes) < 0])

    def matching(self, bound: Mapping[int, Value]) -> Sequence[Fact]:
        wanted = self._decoder.canonical_codes_of(self.relation, bound)
        if wanted is None:
            return ()
        if len(wanted) == len(self.relation.columns):  # the row is known already
            codes = np.array([wanted[i] for i in range(len(wanted))], np.int64)
            return (tuple(bound[i] for i in range(len(wanted))),) if self._source.has(codes) else ()
        return tuple(self._decoder.rows(self.relation, self._select(wanted) if wanted else self._all()))

    def is_given(self, row: Fact) -> bool | None:
        codes = self._decoder.canonical_codes(self.relation, row)
        return False if codes is None else self._source.is_given(codes)

    def rank(self, row: Fact) -> int | None:
        codes = self._decoder.canonical_codes(self.relation, row)
        return None if codes is None else self._source.rank(codes)

    def _all(self) -> Codes:
        return self._source.codes()

    def _first(self, count: int) -> Codes:
        return self._source.codes(count)

    def _select(self, wanted: dict[int, int]) -> Codes:
        return self._source.select(wanted)

    def _between(self, place: int, wanted: Extent) -> Codes:
        return self._source.between(place, wanted)
