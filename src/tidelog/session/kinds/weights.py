"""The changes of a transaction to the asserted facts of a multiset or stream.

Inserting a row adds one to its weight, deleting takes one, and deleting a row of weight 0 changes nothing.
The weight before the commit is not known while changes are collected. After any sequence of them it is
`max(low, weight + change)`, so these two numbers per row are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.errors import DataError
from tidelog.program.declared import Relation
from tidelog.tables.columns import column_of, values_of
from tidelog.tables.given import make_table, to_table, unit_table

__all__ = ["WeightedStaging", "rows_of", "table_of"]

Row = tuple[Any, ...]


class WeightedStaging:
    """`is_cleared` says that all rows were deleted before the changes that are collected."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.is_cleared = False
        self._changes: dict[Row, tuple[int, int]] = {}  # the least weight, and the change

    def insert(self, data: object) -> None:
        for row in rows_of(self.relation, to_table(self.relation, data)):
            low, change = self._changes.get(row, (0, 0))
            self._changes[row] = low + 1, change + 1

    def delete(self, data: object) -> None:
        for row in rows_of(self.relation, to_table(self.relation, data)):
            low, change = self._changes.get(row, (0, 0))
            self._changes[row] = max(low - 1, 0), change - 1

    def delete_all(self) -> None:
        self.is_cleared = True
        self._changes = {}

    def upsert(self, data: object) -> None:
        raise _keyless(self.relation)

    def delete_keys(self, keys: object) -> None:
        raise _keyless(self.relation)

    @property
    def rows(self) -> Iterable[Row]:
        """The rows whose weight may change, apart from those that are cleared."""
        return self._changes.keys()

    def weights(self, before: Mapping[Row, int]) -> dict[Row, int]:
        """The weights of the changed rows after the changes; 0 for rows that are no longer there."""
        known: Mapping[Row, int] = {} if self.is_cleared else before
        made = dict.fromkeys(before, 0) if self.is_cleared else {}
        for row, (low, change) in self._changes.items():
            made[row] = max(low, known.get(row, 0) + change)
        return made


def _keyless(relation: Relation) -> DataError:
    return DataError(relation.name, "the relation has no primary key; use insert and delete")


def rows_of(relation: Relation, table: Any) -> list[Row]:
    """The rows of a table of the relation, as tuples of canonical values."""
    if not relation.columns:
        return [()] * table.num_rows
    columns = (values_of(c.type, table.column(i)) for i, c in enumerate(relation.columns))
    return list(zip(*columns, strict=True))


def table_of(relation: Relation, rows: Iterable[Row]) -> Any:
    """The table of rows of canonical values."""
    listed = list(rows)
    if not relation.columns:
        return unit_table(len(listed))
    columns = [column_of(c.type, [row[i] for row in listed]) for i, c in enumerate(relation.columns)]
    return make_table(relation, columns)
