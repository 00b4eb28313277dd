"""The rows of a session as proofs read them: all relations as of one commit.

Relations in this process are looked up in place. Those in frames are collected once, if they are small, and
filtered by Spark otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tidelog.data.values import BadValue, Row, Value
from tidelog.errors import DataError
from tidelog.program.model import Program
from tidelog.program.typed import Relation
from tidelog.proofs.absence import Pattern
from tidelog.proofs.model import Fact
from tidelog.session.facts import Facts, WholeFacts
from tidelog.tables.natives import check

__all__ = ["SessionState", "fact_of", "pattern_of"]

_COLLECTED: Final = 500_000  # rows up to which a relation in frames is collected


class SessionState:
    def __init__(self, program: Program, views: Mapping[str, WholeFacts]) -> None:
        self._program = program
        self._views = views
        self._sizes: dict[str, int] = {}
        self._given: dict[str, Facts] = {}
        self._found: dict[tuple[object, ...], Sequence[Row]] = {}
        self._indexes: dict[tuple[str, bool, tuple[int, ...]], dict[Row, list[Row]]] = {}

    @property
    def program(self) -> Program:
        return self._program

    def size(self, relation: str) -> int:
        size = self._sizes.get(relation)
        if size is None:
            size = self._sizes[relation] = len(self._views[relation])
        return size

    def rows(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        return self._lookup(self._views[relation], relation, bound, asserted=False)

    def some(self, relation: str, bound: Mapping[int, Value], count: int) -> Sequence[Row]:
        view = self._views[relation]
        names = {view.relation.columns[i].name: v for i, v in bound.items()}
        return tuple((view.where(**names) if names else view).first(count))

    def asserted(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        given = self._given.get(relation)
        if given is None:
            given = self._given[relation] = self._views[relation].given
        return self._lookup(given, relation, bound, asserted=True)

    def is_asserted(self, fact: Fact) -> bool:
        known = self._views[fact.relation].is_given(fact.row)
        return bool(self.asserted(fact.relation, dict(enumerate(fact.row)))) if known is None else known

    def was_asserted(self, fact: Fact) -> bool:
        return False

    def rank(self, fact: Fact) -> int | None:
        return self._views[fact.relation].rank(fact.row)

    # -- lookups

    def _lookup(
        self, facts: Facts, relation: str, bound: Mapping[int, Value], *, asserted: bool
    ) -> Sequence[Row]:
        columns = tuple(bound)
        key = tuple(bound.values())
        view = self._views[relation]
        if view.is_near or len(facts) > _COLLECTED:
            which = relation, asserted, columns, key
            found = self._found.get(which)
            if found is None:
                names = {view.relation.columns[i].name: v for i, v in bound.items()}
                found = self._found[which] = tuple(facts.where(**names) if names else facts)
            return found
        index = self._indexes.get((relation, asserted, columns))
        if index is None:
            index = self._indexes[relation, asserted, columns] = {}
            for row in facts:
                index.setdefault(tuple(row[i] for i in columns), []).append(row)
        return index.get(key, ())


def fact_of(relation: Relation, row: object) -> Fact:
    """A user's row as a fact; DataError if it does not match the columns."""
    names = [c.name for c in relation.columns]
    if isinstance(row, Mapping) and not row.keys() >= set(names):
        raise DataError(relation.name, f"a row needs values for exactly {', '.join(names)}")
    bound = pattern_of(relation, row).bound
    if len(bound) < len(names):
        raise DataError(relation.name, f"a row needs values for exactly {', '.join(names)}")
    return Fact(relation.name, tuple(bound.values()))


def pattern_of(relation: Relation, row: object) -> Pattern:
    """A user's row as a pattern: a tuple with `...` for any value, or a dict of some columns."""
    names = [c.name for c in relation.columns]
    if isinstance(row, Mapping):
        unknown = [n for n in row if n not in names]
        if unknown:
            raise DataError(
                relation.name, f"unknown column `{unknown[0]}`; the columns are {', '.join(names)}"
            )
        row = [row.get(n, ...) for n in names]
    if not isinstance(row, tuple | list) or len(row) != len(names):
        raise DataError(relation.name, f"give a row of {len(names)} values, as a tuple: {', '.join(names)}")
    bound: dict[int, Value] = {}
    for place, (column, value) in enumerate(zip(relation.columns, row, strict=True)):
        if value is ...:
            continue
        try:
            bound[place] = check(column.type, value)
        except BadValue as bad:
            raise DataError(relation.name, str(bad), column=column.name, value=value) from None
    return Pattern(relation.name, bound)
