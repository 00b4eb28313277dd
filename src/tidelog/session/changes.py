"""What a commit changed: for each relation, the rows that it inserted and the rows that it deleted.

Values are decoded when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from tidelog.errors import SessionError, shown
from tidelog.program.declared import Relation
from tidelog.proofs.change import Arrival, Departure
from tidelog.session.facts import Fact, Facts
from tidelog.session.names import free_name, unknown_relation
from tidelog.session.rendering import SHOWN, counted, html_table, text_table
from tidelog.session.tabular import Tabular

__all__ = ["Changes", "RelationChanges"]

_RELATIONS: Final = 20  # on a page


class RelationChanges(Tabular):
    """The change of one relation: iterates as (row, sign), inserted rows (1) before deleted ones (-1)."""

    is_frame = False  # whether the rows are in DataFrames, which `to_spark` unites

    def __init__(self, relation: Relation, inserted: Facts, deleted: Facts) -> None:
        self.relation = relation
        self._inserted = inserted
        self._deleted = deleted

    def __len__(self) -> int:
        return len(self._inserted) + len(self._deleted)

    def __iter__(self) -> Iterator[tuple[Fact, int]]:
        for facts, sign in ((self._inserted, 1), (self._deleted, -1)):
            for row in facts:
                yield row, sign

    def __getitem__(self, index: int | slice) -> tuple[Fact, int] | list[tuple[Fact, int]]:
        """A row with its sign by its number, or those of a slice, as iteration gives them."""
        if isinstance(index, slice):
            return self._part(range(len(self))[index])
        if not isinstance(index, int):
            raise SessionError(f"rows have numbers; {shown(index)} is neither one nor a slice")
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} of {counted(len(self), 'row')}")
        place = index % len(self)
        return self._part(range(place, place + 1))[0]

    def head(self, count: int = 10) -> list[tuple[Fact, int]]:
        """The first rows with their signs."""
        if type(count) is not int or count < 0:
            raise SessionError(f"`head` takes a number of rows, not {shown(count)}")
        return self._part(range(min(count, len(self))))

    def _part(self, places: range) -> list[tuple[Fact, int]]:
        """The rows at some places; no others are read."""
        size = len(self._inserted)
        if places.step < 0:
            return self._part(places[::-1])[::-1]
        first = [place for place in places if place < size]
        rows = [(self._inserted, 1, first), (self._deleted, -1, [p - size for p in places[len(first) :]])]
        return [
            (row, sign)
            for facts, sign, found in rows
            if found
            for row in facts[found[0] : found[-1] + 1 : places.step]
        ]

    def parts(self) -> tuple[Facts, Facts]:
        """The inserted rows and the deleted rows, without reading them."""
        return self._inserted, self._deleted

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows were inserted, and how many deleted; nothing is decoded."""
        return len(self._inserted), len(self._deleted)

    @property
    def inserted(self) -> list[Fact]:
        return list(self._inserted)

    @property
    def deleted(self) -> list[Fact]:
        return list(self._deleted)

    def to_arrow(self) -> Any:
        """The relation's columns and a last one, `sign` (`sign_` if that is taken, and so on): 1 or -1."""
        signs = np.repeat(np.array([1, -1], np.int8), [len(self._inserted), len(self._deleted)])
        table = pa.concat_tables([self._inserted.to_arrow(), self._deleted.to_arrow()])
        name = free_name("sign", table.column_names)
        return table.append_column(pa.field(name, pa.int8(), nullable=False), pa.array(signs))

    def _names(self) -> tuple[str, ...]:
        names = self._inserted._names()
        return (*names, free_name("sign", names))

    def _tuples(self) -> Iterator[Fact]:
        unit = () if self.relation.columns else (True,)
        return ((*row, *unit, sign) for row, sign in self)

    def to_spark(self) -> Any:
        """A DataFrame with the columns of `to_arrow`, in a session on Spark."""
        return self._inserted.published(self.to_arrow())

    # -- shown

    def __repr__(self) -> str:
        if not len(self):
            return f"{self.relation.name}: no changes"
        headers = ["", *(c.name for c in self.relation.columns)]
        more = [f"  … and {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []
        return "\n".join([self.summary(), text_table(headers, self._shown()), *more])

    def _repr_html_(self) -> str:
        headers = ["", *(c.name for c in self.relation.columns)]
        return html_table(self.summary(), headers, self._shown(), max(len(self) - SHOWN, 0))

    def summary(self) -> str:
        added = counted(len(self._inserted), "row")
        return f"{self.relation.name}: {added} added, {len(self._deleted):,} removed"

    def _shown(self) -> list[list[str]]:
        inserted = [["+", *row] for row in self._inserted.shown(SHOWN)]
        return inserted + [["-", *row] for row in self._deleted.shown(max(SHOWN - len(inserted), 0))]


Explain: TypeAlias = "Callable[[Changes, str, object, int | None], Arrival | Departure]"


class Changes(Mapping[str, RelationChanges]):
    """The changes of a commit, by relation: iterates over those that changed.

    A relation that did not change has an empty change, which `nothing` makes; `commit` is None for a preview.
    `asserted` are the rows that became asserted, and those that ceased to be, of relations that have rules.
    `stored` are the changes of the backend, if relations with weights or delays make them others.
    """

    def __init__(
        self,
        commit: int | None,
        changed: Mapping[str, RelationChanges],
        relations: Mapping[str, Relation],
        nothing: Callable[[Relation], RelationChanges],
        asserted: Mapping[str, tuple[Facts, Facts]] | None = None,
        stored: Changes | None = None,
    ) -> None:
        self.commit = commit
        self._changed = changed
        self._relations = relations
        self._nothing = nothing
        self.asserted = asserted or {}
        self.stored = stored
        self._explain: Explain | None = None

    def why(self, relation: str, row: object, *, limit: int | None = 10_000_000) -> Arrival | Departure:
        """Why the commit inserted or deleted a row; only of the last commit, before the next.

        SessionError if it did not change the row, or if the search reads more than `limit` rows.
        """
        if self._explain is None:
            raise SessionError("a preview cannot be explained; commit, and ask for the changes of the commit")
        return self._explain(self, relation, row, limit)

    def explained_by(self, explain: Explain) -> None:
        """Answer `why` by a function of these changes, the relation, the row and the limit."""
        self._explain = explain

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
        shown = "".join(change._repr_html_() for change in islice(self._changed.values(), _RELATIONS))
        more = len(self._changed) - _RELATIONS
        return f"{shown}<p>… and {more:,} more relations</p>" if more > 0 else shown
