"""Facts to look at: the rows of a relation, of a part of it, or of an answer, as of one commit.

Immutable, and safe to use from any thread: what a later commit does is not seen here. `Facts` holds its rows
as codes, which become values when somebody asks for them; `View` holds a whole relation of a session and
reads it when asked, from the table's hash and indexes where it can.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.matrix import Difference
from tidelog.engine.local.storage.snapshot import Extent, matching
from tidelog.engine.local.storage.table import Table
from tidelog.program.typed import Relation
from tidelog.session.reading.decoding import Decoder, Fact, position, to_pandas, to_polars
from tidelog.session.reading.readers import Source
from tidelog.session.reading.rendering import SHOWN, cells, counted, html_table, text_table

__all__ = ["Facts", "LazyFacts", "View", "WholeFacts"]

_NOTHING = np.empty((0, 0), np.int64)


class Facts:
    def __init__(self, relation: Relation, decoder: Decoder, codes: Codes) -> None:
        self.relation = relation
        self._decoder = decoder
        self._codes = codes

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.relation.columns)

    # -- as a collection of tuples

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[Fact]:
        return self._decoder.rows(self.relation, self._all())

    def __contains__(self, row: object) -> bool:
        codes = self._decoder.row_codes(self.relation, row)
        return codes is not None and len(self._select(dict(enumerate(codes.tolist())))) > 0

    # -- parts

    def where(self, **values: object) -> Facts:
        """The rows that have these values in these columns; None finds the rows without a value."""
        codes = {
            (place := position(self.relation, name)): self._decoder.code(self.relation, place, value)
            for name, value in values.items()
        }
        wanted = {place: code for place, code in codes.items() if code is not None}
        if len(wanted) < len(codes):  # a value that is nowhere
            return self._part(np.empty((0, len(self.relation.columns)), np.int64))
        return self._part(self._select(wanted))

    def between(self, column: str, low: object = None, high: object = None) -> Facts:
        """The rows whose value in a column is neither below `low` nor above `high`; None sets no bound."""
        place = position(self.relation, column)
        return self._part(self._between(place, self._decoder.extent(self.relation, place, low, high)))

    # -- as frames

    def to_arrow(self) -> Any:
        return self._decoder.table(self.relation, self._all())

    def to_pandas(self) -> Any:
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        return to_polars(self.to_arrow())

    def to_spark(self) -> Any:
        """A DataFrame, in a session on Spark."""
        return self.published(self.to_arrow())

    def published(self, table: Any) -> Any:
        """A table as a DataFrame, in a session on Spark."""
        return self._decoder.to_spark(table)

    # -- shown

    def __repr__(self) -> str:
        title = f"{self._title()}: {counted(len(self), 'row')}"
        if not len(self) or not self.columns:
            return title
        more = [f"  … and {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []
        return "\n".join([title, text_table(self.columns, self._shown()), *more])

    def _repr_html_(self) -> str:
        return html_table(f"{self._title()}: {counted(len(self), 'row')}", self.columns, self._shown())

    def _title(self) -> str:
        listed = ", ".join(f"{c.name}: {c.type}" for c in self.relation.columns)
        return f"{self.relation.name}({listed})"

    def _shown(self) -> list[list[str]]:
        return self.shown(SHOWN)

    def shown(self, count: int) -> list[list[str]]:
        """The first so many rows, as they are shown."""
        rows = self._decoder.rows(self.relation, self._first(count)) if count else ()
        return [cells(self.relation, row) for row in rows]

    # -- codes

    def _all(self) -> Codes:
        return self._codes

    def _first(self, count: int) -> Codes:
        return self._codes[:count]

    def _select(self, wanted: dict[int, int]) -> Codes:
        return self._codes[matching(self._codes, wanted)]

    def _between(self, place: int, wanted: Extent) -> Codes:
        return self._codes[wanted.holds(self._codes[:, place])]

    def _part(self, codes: Codes) -> Facts:
        return Facts(self.relation, self._decoder, codes)


class LazyFacts(Facts):
    """Rows that are not written down as codes yet."""

    def __init__(self, relation: Relation, decoder: Decoder, rows: Difference) -> None:
        super().__init__(relation, decoder, _NOTHING)
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _written(self) -> Codes:
        return self._rows.codes()

    def _all(self) -> Codes:
        return self._written

    def _first(self, count: int) -> Codes:
        return self._written[:count]

    def _select(self, wanted: dict[int, int]) -> Codes:
        return self._written[matching(self._written, wanted)]

    def _between(self, place: int, wanted: Extent) -> Codes:
        return self._written[wanted.holds(self._written[:, place])]


class WholeFacts(Facts, ABC):
    """A whole relation of a session, as of the commit at which it was asked for."""

    @property
    @abstractmethod
    def given(self) -> Facts:
        """The facts that were asserted, derived as well or not."""

    @property
    @abstractmethod
    def derived(self) -> Facts:
        """The facts that are there by rules alone."""


class View(WholeFacts):
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

    def _all(self) -> Codes:
        return self._source.codes()

    def _first(self, count: int) -> Codes:
        return self._source.codes(count)

    def _select(self, wanted: dict[int, int]) -> Codes:
        return self._source.select(wanted)

    def _between(self, place: int, wanted: Extent) -> Codes:
        return self._source.between(place, wanted)
