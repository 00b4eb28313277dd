"""Ground facts by relation, and the lookup of the facts that unify with an atom.

The substitution-based method has two algorithms. `Facts` tries to unify every fact of the relation.
`IndexedFacts` tries only the facts that agree with the atom's bound columns. It finds them in an index over
exactly these columns, which is built on first use, shared by all rules and maintained as facts are added.
Both find the same facts: an index only skips facts that would not unify.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import TypeAlias

from tidelog.data.values import Row, Value, joins
from tidelog.program.typed import Absent, Constant, Match, Term, Wildcard
from tidelog.reference.evaluate import Failure

__all__ = ["Facts", "IndexedFacts", "Substitution", "stored"]

Substitution: TypeAlias = Mapping[str, Value | Failure]


def stored(atom: Match | Absent) -> str:
    """The name under which the rows are stored that an atom reads."""
    return f"{atom.relation}{f'-{atom.delay}' if atom.delay else ''}{chr(39) * atom.is_prime}"


class Facts:
    def __init__(self, facts: Mapping[str, Iterable[Row]] | None = None) -> None:
        self.rows: defaultdict[str, set[Row]] = defaultdict(set)
        self.weights: Counter[tuple[str, Row]] = Counter()  # of rows of multisets and streams
        for relation, rows in (facts or {}).items():
            for row in rows:
                self.add(relation, row)

    def add(self, relation: str, row: Row) -> bool:
        """Add a fact; returns whether it is new."""
        if row in self.rows[relation]:
            return False
        self.rows[relation].add(row)
        return True

    def add_copy(self, relation: str, row: Row, copies: int = 1) -> None:
        """Add copies of a row of a multiset or stream, which is also a row of its prime."""
        self.add(relation, row)
        self.add(f"{relation}'", row)
        self.weights[relation, row] += copies

    def discard(self, relation: str, row: Row) -> None:
        self.rows[relation].discard(row)

    def unifying(self, relation: str, terms: tuple[Term, ...], known: Substitution) -> Iterator[Substitution]:
        """The extensions of a substitution that turn the terms into a fact, one per fact and copy."""
        for row in self._candidates(relation, terms, known):
            extended = _unify(terms, row, known)
            if extended is not None:
                yield from repeat(extended, self.weights.get((relation, row), 1))

    def _candidates(self, relation: str, terms: tuple[Term, ...], known: Substitution) -> Iterable[Row]:
        return tuple(self.rows[relation])

    def contents(self) -> dict[str, frozenset[Row]]:
        return {relation: frozenset(rows) for relation, rows in self.rows.items() if rows}


class IndexedFacts(Facts):
    def __init__(self, facts: Mapping[str, Iterable[Row]] | None = None) -> None:
        self._indexes: dict[str, dict[tuple[int, ...], defaultdict[Row, set[Row]]]] = defaultdict(dict)
        super().__init__(facts)

    def add(self, relation: str, row: Row) -> bool:
        if not super().add(relation, row):
            return False
        for columns, index in self._indexes[relation].items():
            index[tuple(row[i] for i in columns)].add(row)
        return True

    def discard(self, relation: str, row: Row) -> None:
        super().discard(relation, row)
        for columns, index in self._indexes[relation].items():
            index[tuple(row[i] for i in columns)].discard(row)

    def _candidates(self, relation: str, terms: tuple[Term, ...], known: Substitution) -> Iterable[Row]:
        bound = {
            i: term.value if isinstance(term, Constant) else known[term.name]
            for i, term in enumerate(terms)
            if isinstance(term, Constant) or (not isinstance(term, Wildcard) and term.name in known)
        }
        columns = tuple(i for i, value in bound.items() if not isinstance(value, Failure))
        index = self._indexes[relation].get(columns)
        if index is None:
            index = self._indexes[relation][columns] = defaultdict(set)
            for row in self.rows[relation]:
                index[tuple(row[i] for i in columns)].add(row)
        key: Row = tuple(value for value in bound.values() if not isinstance(value, Failure))
        return tuple(index.get(key, ()))


def _unify(terms: tuple[Term, ...], row: Row, known: Substitution) -> Substitution | None:
    """The substitution extended so that the terms become the row; None if they do not unify.

    A variable whose value failed unifies with anything: whether the failure is an error is decided later.
    """
    extended = dict(known)
    for term, value in zip(terms, row, strict=True):
        if isinstance(term, Wildcard):
            continue
        if isinstance(term, Constant):
            if not joins(term.value, value):
                return None
        elif term.name not in extended:
            extended[term.name] = value
        else:
            before = extended[term.name]
            if not isinstance(before, Failure) and not joins(before, value):
                return None
    return extended
