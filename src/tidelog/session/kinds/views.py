"""What users see of multisets and streams: rows with weights, and changes of weights.

A relation with weights is read with its weight as the last column. A change has each row once, with the
change of its weight; of a stream, these are the rows of the commit, since its earlier rows do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

from tidelog.data.values import order_key
from tidelog.program.declared import Relation
from tidelog.session.changes import RelationChanges
from tidelog.session.facts import Fact, Facts, WholeFacts, position
from tidelog.session.kinds.weights import table_of
from tidelog.session.rendering import SHOWN, cells, counted

__all__ = ["ListedFacts", "WeightedChanges", "WeightedView"]


class ListedFacts(Facts):
    """Rows that are computed on demand; `publisher` makes DataFrames in a session on Spark."""

    def __init__(self, relation: Relation, rows: Callable[[], list[Fact]], publisher: Facts) -> None:
        super().__init__(relation)
        self._make = rows
        self._publisher = publisher

    @cached_property
    def _rows(self) -> list[Fact]:
        return self._make()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._rows)

    def __contains__(self, row: object) -> bool:
        return isinstance(row, tuple | list) and tuple(row) in self._rows

    def where(self, **values: object) -> Facts:
        wanted = [(position(self.relation, name), value) for name, value in values.items()]
        return self._part([r for r in self._rows if all(r[i] == value for i, value in wanted)])

    def between(self, column: str, low: object = None, high: object = None) -> Facts:
        place = position(self.relation, column)
        type_ = self.relation.columns[place].type
        bounds = [None if bound is None else order_key(type_, bound) for bound in (low, high)]

        def holds(row: Fact) -> bool:
            key = order_key(type_, row[place])
            return (bounds[0] is None or key >= bounds[0]) and (bounds[1] is None or key <= bounds[1])

        return self._part([row for row in self._rows if row[place] is not None and holds(row)])

    def _sliced(self, rows: slice) -> Facts:
        return self._part(self._rows[rows])

    def _part(self, rows: list[Fact]) -> Facts:
        return ListedFacts(self.relation, lambda: rows, self._publisher)

    def to_arrow(self) -> Any:
        return table_of(self.relation, self._rows)

    def published(self, table: Any) -> Any:
        return self._publisher.published(table)

    def first(self, count: int) -> Iterator[Fact]:
        return islice(iter(self._rows), count)


class WeightedView(WholeFacts):
    """A multiset or stream, as of one commit; `asserted` are the weights of asserted facts."""

    def __init__(self, whole: WholeFacts, asserted: Callable[[], list[Fact]]) -> None:
        super().__init__(whole.relation)
        self._whole = whole
        self._asserted = asserted

    def __len__(self) -> int:
        return len(self._whole)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._whole)

    def __contains__(self, row: object) -> bool:
        return row in self._whole

    def where(self, **values: object) -> Facts:
        return self._whole.where(**values)

    def between(self, column: str, low: object = None, high: object = None) -> Facts:
        return self._whole.between(column, low, high)

    def _sliced(self, rows: slice) -> Facts:
        return self._whole[rows]

    def to_arrow(self) -> Any:
        return self._whole.to_arrow()

    def to_spark(self) -> Any:
        return self._whole.to_spark()

    def published(self, table: Any) -> Any:
        return self._whole.published(table)

    def first(self, count: int) -> Any:
        return self._whole.first(count)

    @property
    def given(self) -> Facts:
        return ListedFacts(self.relation, self._asserted, self._whole)

    @property
    def derived(self) -> Facts:
        """The rows with the weights that rules give them."""

        def rows() -> list[Fact]:
            given = {row[:-1]: row[-1] for row in self._asserted()}
            left = ((*row[:-1], row[-1] - given.get(row[:-1], 0)) for row in self._whole)
            return [row for row in left if row[-1]]

        return ListedFacts(self.relation, rows, self._whole)


class WeightedChanges(RelationChanges):
    """The changes of the weights of a relation: iterates as (row, change), additions first.

    `relation` is as declared, and `weighted` has the weights as its last column.
    """

    def __init__(
        self,
        relation: Relation,
        weighted: Relation,
        publisher: Facts,
        changes: Callable[[], list[tuple[Fact, int]]],
    ) -> None:
        super().__init__(relation, publisher, publisher)
        self._weighted = weighted
        self._make = changes

    @cached_property
    def _weights(self) -> list[tuple[Fact, int]]:
        return sorted(self._make(), key=lambda change: change[1] < 0)

    def __len__(self) -> int:
        return len(self._weights)

    def __iter__(self) -> Iterator[tuple[Fact, int]]:
        return iter(self._weights)

    def _part(self, places: range) -> list[tuple[Fact, int]]:
        return [self._weights[place] for place in places]

    @property
    def inserted(self) -> list[Fact]:
        """The rows that were added, each as often as its weight grew."""
        return [row for row, weight in self._weights for _ in range(weight)]

    @property
    def deleted(self) -> list[Fact]:
        """The rows that were removed, each as often as its weight fell."""
        return [row for row, weight in self._weights for _ in range(-weight)]

    def to_arrow(self) -> Any:
        """The relation's columns and a last one, `weight`, with the changes of the weights."""
        return table_of(self._weighted, [(*row, weight) for row, weight in self._weights])

    def _names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self._weighted.columns)

    def _tuples(self) -> Iterator[Fact]:
        return ((*row, weight) for row, weight in self._weights)

    def to_spark(self) -> Any:
        return self._inserted.published(self.to_arrow())

    def summary(self) -> str:
        added = counted(sum(w for _, w in self._weights if w > 0), "row")
        removed = sum(-w for _, w in self._weights if w < 0)
        return f"{self.relation.name}: {added} added, {removed:,} removed"

    def _shown(self) -> list[list[str]]:
        return [[f"{weight:+,}", *cells(self.relation, row)] for row, weight in self._weights[:SHOWN]]
