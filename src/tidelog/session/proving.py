"""The rows of a session as proofs read them: all relations as of one commit, or as of the one before it.

Relations in this process are looked up in place. Those in frames are collected once, if they are small, and
filtered by Spark otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tidelog.data.values import BadValue, Row, Value
from tidelog.errors import DataError
from tidelog.program.declared import Relation
from tidelog.program.model import Program
from tidelog.program.weighting import is_weighted, weighted_relation
from tidelog.proofs.absence import Pattern
from tidelog.proofs.model import Fact
from tidelog.session.changes import Changes
from tidelog.session.facts import Facts, WholeFacts
from tidelog.tables.natives import check

__all__ = ["SessionState", "Undone", "fact_of", "pattern_of"]

_ROWS: Final = 16  # rows that are indexed in Python in the time of a lookup in this process
_COLLECTED: Final = 500_000  # rows up to which a relation in frames is collected


class _Lookup:
    """Looks up rows of one collection of facts by the values of some columns."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._size = len(facts)
        self._is_near = facts.is_near or self._size > _COLLECTED
        self._found: dict[tuple[object, ...], Sequence[Row]] = {}
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}
        self._lookups: dict[tuple[int, ...], int] = {}  # by columns

    def rows(self, bound: Mapping[int, Value]) -> Sequence[Row]:
        columns, key = tuple(bound), tuple(bound.values())
        if self._is_near and columns not in self._indexes:
            found = self._found.get((columns, key))
            if found is None:
                found = self._found[columns, key] = self._matching(bound)
                self._note(columns)
            return found
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = self._indexed(columns)
        return index.get(key, ())

    def _indexed(self, columns: tuple[int, ...]) -> dict[Row, list[Row]]:
        index: dict[Row, list[Row]] = {}
        for row in self._facts:
            index.setdefault(tuple(row[i] for i in columns), []).append(row)
        return index

    def _note(self, columns: tuple[int, ...]) -> None:
        """Index a relation by some columns once the lookups have taken as long as that does."""
        many = self._lookups[columns] = self._lookups.get(columns, 0) + 1
        if many * _ROWS > self._size and self._size <= _COLLECTED:
            self._indexes[columns] = self._indexed(columns)

    def _matching(self, bound: Mapping[int, Value]) -> Sequence[Row]:
        whole = self._facts
        return whole.matching(bound) if isinstance(whole, WholeFacts) else tuple(self._where(bound))

    def some(self, bound: Mapping[int, Value], count: int) -> Sequence[Row]:
        """At most so many rows."""
        return tuple(self._where(bound).first(count)) if self._is_near else self.rows(bound)[:count]

    def _where(self, bound: Mapping[int, Value]) -> Facts:
        names = {self._facts.relation.columns[i].name: v for i, v in bound.items()}
        return self._facts.where(**names) if names else self._facts


class SessionState:
    def __init__(self, program: Program, commit: int, views: Mapping[str, WholeFacts]) -> None:
        self._program = program
        self._views = views
        self.commit = commit
        self._sizes: dict[str, int] = {}
        self._ranks: dict[Fact, int | None] = {}
        self._known: dict[Fact, bool] = {}  # whether facts are asserted
        self._present: dict[str, _Lookup] = {}
        self._given: dict[str, _Lookup] = {}

    @property
    def program(self) -> Program:
        return self._program

    def size(self, relation: str) -> int:
        size = self._sizes.get(relation)
        if size is None:
            size = self._sizes[relation] = len(self._views[relation]) if relation in self._views else 0
        return size

    def rows(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        return self._of(relation).rows(bound) if relation in self._views else ()

    def some(self, relation: str, bound: Mapping[int, Value], count: int) -> Sequence[Row]:
        return self._of(relation).some(bound, count) if relation in self._views else ()

    def _of(self, relation: str) -> _Lookup:
        found = self._present.get(relation)
        if found is None:
            found = self._present[relation] = _Lookup(self._views[relation])
        return found

    def asserted(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        if relation not in self._views:
            return ()
        given = self._given.get(relation)
        if given is None:
            given = self._given[relation] = _Lookup(self._views[relation].given)
        return given.rows(bound)

    def is_asserted(self, fact: Fact) -> bool:
        known = self._known.get(fact)
        if known is None:
            view = self._views.get(fact.relation)
            known = False if view is None else view.is_given(fact.row)
            if known is None:
                known = bool(self.asserted(fact.relation, dict(enumerate(fact.row))))
            self._known[fact] = known
        return known

    def was_asserted(self, fact: Fact) -> bool:
        return False

    def rank(self, fact: Fact) -> int | None:
        if fact not in self._ranks:
            self._ranks[fact] = self._views[fact.relation].rank(fact.row)
        return self._ranks[fact]

    def weight(self, fact: Fact) -> int:
        return 1

    def asserted_weight(self, fact: Fact) -> int:
        return int(self.is_asserted(fact))


class Undone:
    """The state before a commit, as a difference from the one after it."""

    def __init__(self, changes: Changes, before: Program) -> None:
        """`before` is the program before the commit, as the backend had it."""
        self._changes = changes
        self._derived = {head.relation for rule in before.rules.values() for head in rule.heads}
        self._lookups: dict[tuple[str, int], _Lookup] = {}
        self._assertions: dict[tuple[str, int], _Lookup] = {}

    def added(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        return self._rows(relation, 1, bound)

    def is_removed(self, fact: Fact) -> bool:
        return bool(self._rows(fact.relation, 0, dict(enumerate(fact.row))))

    def is_asserted(self, fact: Fact) -> bool | None:
        for which, was_asserted in enumerate((False, True)):
            if fact.relation in self._changes.asserted:
                lookup = self._assertions.get((fact.relation, which))
                if lookup is None:
                    facts = self._changes.asserted[fact.relation][which]
                    lookup = self._assertions[fact.relation, which] = _Lookup(facts)
                if lookup.rows(dict(enumerate(fact.row))):
                    return was_asserted
        if self.is_removed(fact):
            return False
        is_added = bool(self.added(fact.relation, dict(enumerate(fact.row))))
        return fact.relation not in self._derived if is_added else None

    def _rows(self, relation: str, which: int, bound: Mapping[int, Value]) -> Sequence[Row]:
        """The inserted (0) or deleted (1) rows with these values."""
        if relation not in self._changes:
            return ()
        lookup = self._lookups.get((relation, which))
        if lookup is None:
            lookup = self._lookups[relation, which] = _Lookup(self._changes[relation].parts()[which])
        return lookup.rows(bound)


def fact_of(relation: Relation, row: object) -> tuple[Fact, int | None]:
    """A user's row as a fact, and the weight that it says, as rows of multisets and streams may.

    DataError if the row does not match the columns.
    """
    names = [c.name for c in relation.columns]
    if is_weighted(relation):
        row, weight = _without_weight(relation, row)
    else:
        weight = None
    if isinstance(row, Mapping) and not row.keys() >= set(names):
        raise DataError(relation.name, f"a row needs values for exactly {', '.join(names)}")
    bound = pattern_of(relation, row).bound
    if len(bound) < len(names):
        raise DataError(relation.name, f"a row needs values for exactly {', '.join(names)}")
    return Fact(relation.name, tuple(bound.values())), weight


def _without_weight(relation: Relation, row: object) -> tuple[object, int | None]:
    """A row as a user reads it, with its weight as the last column, or as it is inserted, without."""
    size, name = len(relation.columns), weighted_relation(relation).columns[-1].name
    weight: object = None
    if isinstance(row, tuple | list) and len(row) == size + 1:
        *row, weight = row
    elif isinstance(row, Mapping) and name in row:
        weight = row[name]
        row = {column: value for column, value in row.items() if column != name}
    if weight is not None and type(weight) is not int:
        raise DataError(relation.name, "a weight is a whole number", column=name, value=weight)
    return row, weight


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
