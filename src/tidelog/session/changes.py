"""What a commit changed: for each relation, the rows that came and the rows that went.

Kept as codes that nobody else changes; values are decoded when somebody reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.engine.local.bits import Difference
from tidelog.engine.local.codec import Codes
from tidelog.program.typed import Relation
from tidelog.session.decoding import Decoder, Fact, to_pandas, to_polars
from tidelog.session.layout import SHOWN, cells, counted, html_table, text_table
from tidelog.session.names import unknown_relation

__all__ = ["Changes", "RelationChanges"]


class RelationChanges:
    """The change of one relation: iterates as (row, sign), first what came (+1), then what went (-1)."""

    def __init__(
        self, relation: Relation, decoder: Decoder, came: Codes | Difference, went: Codes | Difference
    ) -> None:
        self.relation = relation
        self._decoder = decoder
        self._given = came, went
        self._sizes = len(came), len(went)

    def __len__(self) -> int:
        return sum(self._sizes)

    @cached_property
    def _came(self) -> Codes:
        return _codes(self._given[0])

    @cached_property
    def _went(self) -> Codes:
        return _codes(self._given[1])

    def __iter__(self) -> Iterator[tuple[Fact, int]]:
        for codes, sign in ((self._came, 1), (self._went, -1)):
            for row in self._decoder.rows(self.relation, codes):
                yield row, sign

    @property
    def inserted(self) -> list[Fact]:
        return list(self._decoder.rows(self.relation, self._came))

    @property
    def deleted(self) -> list[Fact]:
        return list(self._decoder.rows(self.relation, self._went))

    def to_arrow(self) -> Any:
        """The relation's columns and a last one, `sign` (`sign_` if the relation has a `sign`): 1 or -1."""
        codes = np.concatenate([self._came, self._went])
        signs = np.repeat(np.array([1, -1], np.int8), [len(self._came), len(self._went)])
        table = self._decoder.table(self.relation, codes)
        name = "sign_" if "sign" in table.column_names else "sign"
        return table.append_column(pa.field(name, pa.int8(), nullable=False), pa.array(signs))

    def to_pandas(self) -> Any:
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        return to_polars(self.to_arrow())

    def to_spark(self) -> Any:
        """A DataFrame with the columns of `to_arrow`, in a session on Spark."""
        return self._decoder.to_spark(self.to_arrow())

    # -- shown

    def __repr__(self) -> str:
        if not len(self):
            return f"{self.relation.name}: no changes"
        headers = ["", *(c.name for c in self.relation.columns)]
        more = [f"  … and {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []
        return "\n".join([self.summary(), text_table(headers, self._shown()), *more])

    def _repr_html_(self) -> str:
        headers = ["", *(c.name for c in self.relation.columns)]
        return html_table(self.summary(), headers, self._shown())

    def summary(self) -> str:
        came, went = self._sizes
        return f"{self.relation.name}: {counted(came, 'row')} came, {went:,} went"

    def _shown(self) -> list[list[str]]:
        came, went = self._came[:SHOWN], self._went[: max(SHOWN - len(self._came), 0)]
        return [
            [sign, *cells(self.relation, row)]
            for sign, codes in (("+", came), ("-", went))
            for row in self._decoder.rows(self.relation, codes)
        ]


def _codes(given: Codes | Difference) -> Codes:
    return given.codes() if isinstance(given, Difference) else given


class Changes(Mapping[str, RelationChanges]):
    """The changes of a commit, by relation: iterates over those that changed.

    A relation that did not change has an empty change; `commit` is None for a preview.
    """

    def __init__(
        self,
        commit: int | None,
        changed: Mapping[str, RelationChanges],
        relations: Mapping[str, Relation],
        decoder: Decoder,
    ) -> None:
        self.commit = commit
        self._changed = changed
        self._relations = relations
        self._decoder = decoder

    def __getitem__(self, name: str) -> RelationChanges:
        found = self._changed.get(name)
        if found is not None:
            return found
        if name not in self._relations:
            raise unknown_relation(name, self._relations)
        relation = self._relations[name]
        nothing = np.empty((0, len(relation.columns)), np.int64)
        return RelationChanges(relation, self._decoder, nothing, nothing)

    def __iter__(self) -> Iterator[str]:
        return iter(self._changed)

    def __len__(self) -> int:
        return len(self._changed)

    def __contains__(self, name: object) -> bool:
        return name in self._changed

    def __repr__(self) -> str:
        if not self._changed:
            return "no changes"
        return "\n".join(change.summary() for change in self._changed.values())

    def _repr_html_(self) -> str:
        if not self._changed:
            return "<p>no changes</p>"
        return "".join(change._repr_html_() for change in self._changed.values())
