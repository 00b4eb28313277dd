"""The estimated cost of join orders, and the cheapest one.

The cost of an order is the number of lookups and of rows that they match, for one row of the first literal.
Each atom multiplies the rows so far by its *fan-out*, the number of rows that it matches per lookup;
conditions and negations keep a share of them. An index that does not exist yet is charged to the rows of the
first literal: few rows do not pay for it. Estimates are rough, but bad orders cost many times as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias, assert_never

from tidelog.plan.flat import FlatLiteral
from tidelog.program.traversal import variables
from tidelog.program.typed import Absent, Binary, Bind, Constant, Each, Expr, Match, Term, Test, Var

__all__ = [
    "Bound",
    "Fixed",
    "SizesOnly",
    "Statistics",
    "bounds_of",
    "cheapest",
    "expected",
    "expected_after_each",
    "is_bound",
    "key_of",
    "knows",
]

_MOST: Final = 8  # atoms whose orders are all compared
_MEMBER: Final = 0.5  # the share of lookups of whole tuples that find one
_ITEMS: Final = 4.0  # in a collection
_KEPT: Final = {"==": 0.1, "is": 0.1, "!=": 0.9}  # the share of rows that a condition keeps
_KEPT_BY_OTHERS: Final = 0.4
_KEPT_BY_NEGATION: Final = 0.7
_WITHIN: Final = (1.0, 0.35, 0.1)  # the share of rows between no, one and two bounds
_INDEXED: Final = 0.125  # the cost of a row of a new index
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


Fixed: TypeAlias = tuple[tuple[int, Constant], ...]


class Statistics(Protocol):
    """What is known about the rows of a relation, or of those with constants in some columns (`fixed`)."""

    def size(self, relation: str, fixed: Fixed = ()) -> float:
        """The number of rows."""
        ...

    def alike(self, relation: str, columns: tuple[int, ...], fixed: Fixed = ()) -> float | None:
        """How many rows share a row's values in some columns, on average over rows; None if unknown."""
        ...

    def has_index(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Whether rows can be looked up by these columns without making an index first."""
        ...


class SizesOnly:
    """Statistics that consist of sizes alone."""

    def __init__(self, size: Callable[[str], int]) -> None:
        self._size = size

    def size(self, relation: str, fixed: Fixed = ()) -> float:
        return self._size(relation)

    def alike(self, relation: str, columns: tuple[int, ...], fixed: Fixed = ()) -> float | None:
        return None

    def has_index(self, relation: str, columns: tuple[int, ...]) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison of a column with a bound term; the column is the left operand of `op`."""

    column: int
    op: str
    term: Var | Constant


# -- what is bound


def is_bound(term: Term, bound: Collection[str]) -> bool:
    return isinstance(term, Constant) or (isinstance(term, Var) and term.name in bound)


def key_of(terms: tuple[Term, ...], bound: Collection[str]) -> tuple[int, ...]:
    """The columns of an atom that have values."""
    return tuple([i for i, t in enumerate(terms) if is_bound(t, bound)])


def knows(bound: Collection[str], expr: Expr) -> bool:
    return all(v.name in bound for v in variables(expr))


def bounds_of(
    terms: tuple[Term, ...], bound: Collection[str], literals: Iterable[FlatLiteral]
) -> tuple[Bound, ...]:
    """Comparisons of one new column with bound terms; the column that has most of them."""
    columns = {t.name: i for i, t in enumerate(terms) if isinstance(t, Var) and t.name not in bound}
    found: dict[int, dict[bool, Bound]] = {}
    for left, op, right in _comparisons(literals):
        for x, how, y in ((left, op, right), (right, _TURNED[op], left)):
            if isinstance(x, Var) and x.name in columns and is_bound(y, bound):
                made = Bound(columns[x.name], how, y)
                found.setdefault(made.column, {}).setdefault(how in (">", ">="), made)
    varying = [b for b in found.values() if any(isinstance(x.term, Var) for x in b.values())]
    return tuple(max(varying, key=len).values()) if varying else ()


def _comparisons(literals: Iterable[FlatLiteral]) -> Iterator[tuple[Var | Constant, str, Var | Constant]]:
    """The comparisons of variables and constants among literals."""
    for literal in literals:
        condition = literal.condition if isinstance(literal, Test) else None
        if isinstance(condition, Binary) and condition.op in _TURNED:
            left, right = condition.left, condition.right
            if isinstance(left, Var | Constant) and isinstance(right, Var | Constant):
                yield left, condition.op, right


# -- the cheapest order


def cheapest(
    atoms: Mapping[int, Match],
    others: Mapping[int, FlatLiteral],
    bound: Collection[str],
    first: Match | Absent | None,
    statistics: Statistics,
    rows: float = math.inf,
) -> tuple[int, ...]:
    """The positions of atoms in their cheapest order, given the first literal and the bound variables.

    `rows` is how many rows the first literal has.
    """
    if len(atoms) < 2:
        return tuple(atoms)
    search = _Search(atoms, others, statistics, rows)
    start = search.start(frozenset(bound), first)
    return search.compare_all(start) if len(atoms) <= _MOST else search.one_by_one(start)


def expected(
    path: Iterable[int],
    atoms: Mapping[int, Match],
    others: Mapping[int, FlatLiteral],
    bound: Collection[str],
    first: Match | Absent | None,
    statistics: Statistics,
) -> float:
    """How many rows an order of atoms matches, for one row of the first literal."""
    return expected_after_each(path, atoms, others, bound, first, statistics)[-1]


def expected_after_each(
    path: Iterable[int],
    atoms: Mapping[int, Match],
    others: Mapping[int, FlatLiteral],
    bound: Collection[str],
    first: Match | Absent | None,
    statistics: Statistics,
) -> list[float]:
    """The rows before the first atom of an order and after each one, for one row of the first literal."""
    return _Search(atoms, others, statistics).follow(frozenset(bound), first, path)


class _Partial(NamedTuple):
    """The beginning of an order. `varieties` are about how many values bound variables have."""

    cost: float
    rows: float
    path: tuple[int, ...]
    bound: frozenset[str]
    varieties: Mapping[str, float]

    def precedes(self, other: _Partial | None) -> bool:
        return other is None or self[:3] < other[:3]


class _Known:
    """What statistics say about an atom; computed once, since a search looks at it many times."""

    def __init__(self, relation: str, terms: tuple[Term, ...], statistics: Statistics) -> None:
        self.terms = terms
        self._relation = relation
        self._statistics = statistics
        self._fixed: Fixed = tuple([(i, t) for i, t in enumerate(terms) if isinstance(t, Constant)])
        self._alike: dict[tuple[int, ...], float] = {}
        self.names = frozenset(t.name for t in terms if isinstance(t, Var))
        self.size = max(statistics.size(relation, self._fixed), 1)  # of the rows with the atom's constants
        self.varieties: dict[str, float] = {}  # about how many values each variable has
        for column, term in enumerate(terms):
            if isinstance(term, Var):
                here = self.size / self.alike((column,))
                self.varieties[term.name] = min(here, self.varieties.get(term.name, here))

    def alike(self, key: tuple[int, ...]) -> float:
        """How many rows share a row's values in some columns."""
        if len(key) == len(self.terms):
            return 1.0
        found = self._alike.get(key)
        if found is None:
            known = self._statistics.alike(self._relation, key, self._fixed)
            if known is None:  # as if values were spread evenly over the columns
                known = max(self._statistics.size(self._relation), 1) ** (1 - len(key) / len(self.terms))
            found = self._alike[key] = max(known, 1.0)
        return found

    def new_index(self, key: tuple[int, ...]) -> float:
        """The cost of the index that a lookup needs."""
        if not 0 < len(key) < len(self.terms) or self._statistics.has_index(self._relation, key):
            return 0.0
        return _INDEXED * self._statistics.size(self._relation)


class _Search:
    def __init__(
        self,
        atoms: Mapping[int, Match],
        others: Mapping[int, FlatLiteral],
        statistics: Statistics,
        rows: float = math.inf,
    ) -> None:
        self._atoms = {i: _Known(x.relation, x.terms, statistics) for i, x in atoms.items()}
        self._others = others
        self._statistics = statistics
        self._rows = max(rows, 1)
        self._needed = [(x, _needed(x)) for x in others.values()]

    def start(self, bound: frozenset[str], first: Match | Absent | None) -> _Partial:
        known = {} if first is None else _Known(first.relation, first.terms, self._statistics).varieties
        return _Partial(0.0, 1.0, (), self._closed(bound), known)

    def follow(self, bound: frozenset[str], first: Match | Absent | None, path: Iterable[int]) -> list[float]:
        """The rows of one order, before its first atom and after each one."""
        partial = self.start(bound, first)
        tested = math.prod(_share(literal) for literal, names in self._needed if names <= partial.bound)
        rows = [tested]
        for position in path:
            partial = self._extended(partial, position)
            rows.append(partial.rows * tested)
        return rows

    def compare_all(self, start: _Partial) -> tuple[int, ...]:
        """The cheapest of all orders; the best one of each set of atoms is extended by each other atom."""
        best = {frozenset[int](): start}
        for _ in self._atoms:
            longer: dict[frozenset[int], _Partial] = {}
            for done, partial in best.items():
                for position in self._atoms.keys() - done:
                    found = self._extended(partial, position)
                    if found.precedes(longer.get(done | {position})):
                        longer[done | {position}] = found
            best = longer
        (whole,) = best.values()
        return whole.path

    def one_by_one(self, partial: _Partial) -> tuple[int, ...]:
        """The order in which each atom is the one that matches the fewest rows."""
        while rest := self._atoms.keys() - set(partial.path):
            found = [self._extended(partial, position) for position in rest]
            partial = min(found, key=lambda p: (p.rows, p.path))
        return partial.path

    def _extended(self, partial: _Partial, position: int) -> _Partial:
        """An order with one more atom."""
        atom, bound = self._atoms[position], partial.bound
        key = key_of(atom.terms, bound)
        rows = partial.rows * self._fan_out(atom, key, partial)
        cost = partial.cost + partial.rows + rows + atom.new_index(key) / self._rows
        known = self._closed(bound | atom.names)
        for literal, names in self._needed:
            if names <= known and not names <= bound:
                rows *= _share(literal)
        varieties = {**partial.varieties}
        for name, values in atom.varieties.items():  # at most as many as in any column of the variable
            varieties[name] = min(values, varieties.get(name, values))
        return _Partial(cost, rows, (*partial.path, position), known, varieties)

    def _fan_out(self, atom: _Known, key: tuple[int, ...], partial: _Partial) -> float:
        """How many rows an atom matches per lookup."""
        if not key:
            return atom.size * self._within(atom, partial)
        alike = atom.alike(key)
        names = [t.name for i in key if isinstance(t := atom.terms[i], Var)]
        variety = max((partial.varieties.get(name, 1.0) for name in names), default=1.0)
        hit = min(1.0, atom.size / alike / variety)  # the share of keys that exist
        if len(key) == len(atom.terms):
            return hit * _MEMBER
        return hit * alike * self._within(atom, partial)

    def _within(self, atom: _Known, partial: _Partial) -> float:
        if not self._others:
            return 1.0
        return _WITHIN[len(bounds_of(atom.terms, partial.bound, self._others.values()))]

    def _closed(self, bound: frozenset[str]) -> frozenset[str]:
        """The bound variables, and those that equations bind then."""
        if not self._others:
            return bound
        found = set(bound)
        size = -1
        while size != len(found):
            size = len(found)
            for literal in self._others.values():
                match literal:
                    case Bind(Var(name), value) | Each(Var(name), value) if knows(found, value):
                        found.add(name)
                    case Test(Binary("==", left, right)):
                        for side, value in ((left, right), (right, left)):
                            if isinstance(side, Var) and knows(found, value):
                                found.add(side.name)
                    case _:
                        pass
        return frozenset(found)


def _needed(literal: FlatLiteral) -> frozenset[str]:
    """The variables that a literal needs to be evaluated."""
    match literal:
        case Match(_, terms) | Absent(_, terms):
            return frozenset(t.name for t in terms if isinstance(t, Var))
        case Test(condition):
            return frozenset(v.name for v in variables(condition))
        case Bind(variable, value) | Each(variable, value):
            return frozenset({variable.name, *(v.name for v in variables(value))})
        case _:
            assert_never(literal)


def _share(literal: FlatLiteral) -> float:
    """The share of rows that a literal keeps."""
    match literal:
        case Absent():
            return _KEPT_BY_NEGATION
        case Test(Binary(op, _, _)):
            return _KEPT.get(op, _KEPT_BY_OTHERS)
        case Test():
            return _KEPT_BY_OTHERS
        case Bind() | Match():
            return 1.0
        case Each():
            return _ITEMS
        case _:
            assert_never(literal)
