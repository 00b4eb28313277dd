"""What a commit changed: for each relation, the rows that came and the rows that went.

Two collections of facts, that came and that went; values are decoded when somebody reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.program.typed import Relation
from tidelog.session.names import free_name, unknown_relation
from tidelog.session.reading.decoding import Fact, to_pandas, to_polars
from tidelog.session.reading.facts import Facts
from tidelog.session.reading.rendering import SHOWN, counted, html_table, text_table

__all__ = ["Changes", "RelationChanges"]


class RelationChanges:
    """The change of one relation: iterates as (row, sign), first what came (+1), then what went (-1)."""

    def __init__(self, relation: Relation, came: Facts, went: Facts) -> None:
        self.relation = relation
        self._came = came
        self._went = went

    def __len__(self) -> int:
        return len(self._came) + len(self._went)

    def __iter__(self) -> Iterator[tuple[Fact, int]]:
        for facts, sign in ((self._came, 1), (self._went, -1)):
            for row in facts:
                yield row, sign

    @property
    def inserted(self) -> list[Fact]:
        return list(self._came)

    @property
    def deleted(self) -> list[Fact]:
        return list(self._went)

    def to_arrow(self) -> Any:
        """The relation's columns and a last one, `sign` (`sign_` if that is taken, and so on): 1 or -1."""
        signs = np.repeat(np.array([1, -1], np.int8), [len(self._came), len(self._went)])
        table = pa.concat_tables([self._came.to_arrow(), self._went.to_arrow()])
        name = free_name("sign", table.column_names)
        return table.append_column(pa.field(name, pa.int8(), nullable=False), pa.array(signs))

    def to_pandas(self) -> Any:
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        return to_polars(self.to_arrow())

    def to_spark(self) -> Any:
        """A DataFrame with the columns of `to_arrow`, in a session on Spark."""
        return self._came.published(self.to_arrow())

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
        return f"{self.relation.name}: {counted(len(self._came), 'row')} came, {len(self._went):,} went"

    def _shown(self) -> list[list[str]]:
        came = [["+", *row] for row in self._came.shown(SHOWN)]
        return came + [["-", *row] for row in self._went.shown(max(SHOWN - len(came), 0))]


class Changes(Mapping[str, RelationChanges]):
    """The changes of a commit, by relation: iterates over those that changed.

    A relation that did not change has an empty change, which `nothing` makes; `commit` is None for a preview.
    """

    def __init__(
        self,
        commit: int | None,
        changed: Mapping[str, RelationChanges],
        relations: Mapping[str, Relation],
        nothing: Callable[[Relation], RelationChanges],
    ) -> None:
        self.commit = commit
        self._changed = changed
        self._relations = relations
        self._nothing = nothing

    def __getitem__(self, name: str) -> RelationChanges:
        found = self._changed.get(name)
        if found is not None:
            return found
        if name not in self._relations:
            raise unknown_relation(name, self._relations)
        return self._nothing(self._relations[name])

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
