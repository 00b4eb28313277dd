"""The estimated cost of join orders, and the cheapest one.

The cost of an order is the number of lookups and of rows that they match, for one row of the first literal.
Each atom multiplies the rows so far by its *fan-out*, the number of rows that it matches per lookup;
conditions and negations keep a share of them. Estimates are rough, but bad orders cost many times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, assert_never

from tidelog.program.typed import (
    Absent,
    Binary,
    Bind,
    Constant,
    Expr,
    Literal,
    Match,
    Term,
    Test,
    Var,
    variables,
)

__all__ = ["Bound", "SizesOnly", "Statistics", "bounds_of", "cheapest", "is_bound", "key_of", "knows"]

_MOST: Final = 8  # atoms whose orders are all compared
_MEMBER: Final = 0.5  # the share of lookups of whole tuples that find one
_KEPT: Final = {"==": 0.1, "is": 0.1, "!=": 0.9}  # the share of rows that a condition keeps
_KEPT_BY_OTHERS: Final = 0.4
_KEPT_BY_NEGATION: Final = 0.7
_WITHIN: Final = (1.0, 0.35, 0.1)  # the share of rows between no, one and two bounds
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Statistics(Protocol):
    """What is known about the relations of a rule."""

    def size(self, relation: str) -> int:
        """The number of rows."""
        ...

    def alike(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """How many rows share a row's values in some columns, on average over rows; None if unknown."""
        ...


class SizesOnly:
    """Statistics that consist of sizes alone."""

    def __init__(self, size: Callable[[str], int]) -> None:
        self._size = size

    def size(self, relation: str) -> int:
        return self._size(relation)

    def alike(self, relation: str, columns: tuple[int, ...]) -> float | None:
        return None


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
    terms: tuple[Term, ...], bound: Collection[str], literals: Iterable[Literal]
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


def _comparisons(literals: Iterable[Literal]) -> Iterator[tuple[Var | Constant, str, Var | Constant]]:
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
    others: Mapping[int, Literal],
    bound: Collection[str],
    statistics: Statistics,
) -> tuple[int, ...]:
    """The positions of atoms in their cheapest order, given the variables bound so far."""
    if len(atoms) < 2:
        return tuple(atoms)
    search = _Search(atoms, others, statistics)
    start = search.closed(frozenset(bound))
    return search.compare_all(start) if len(atoms) <= _MOST else search.one_by_one(start)


# the cost so far, the rows, the variables bound, and the positions
_Partial: TypeAlias = tuple[float, float, frozenset[str], tuple[int, ...]]


class _Search:
    def __init__(
        self, atoms: Mapping[int, Match], others: Mapping[int, Literal], statistics: Statistics
    ) -> None:
        self._atoms = atoms
        self._others = others
        self._statistics = statistics
        self._names = {i: {t.name for t in x.terms if isinstance(t, Var)} for i, x in atoms.items()}
        self._needed = [(x, _needed(x)) for x in others.values()]
        self._alike: dict[tuple[str, tuple[int, ...]], float] = {}

    def compare_all(self, start: frozenset[str]) -> tuple[int, ...]:
        """The cheapest of all orders; the best one of each set of atoms is extended by each other atom."""
        best: dict[int, _Partial] = {0: (0.0, 1.0, start, ())}
        numbers = {position: 1 << i for i, position in enumerate(self._atoms)}
        for _ in self._atoms:
            longer: dict[int, _Partial] = {}
            for done, (cost, rows, bound, path) in best.items():
                for position, number in numbers.items():
                    if not done & number:
                        more, left, known = self._extended(position, rows, bound)
                        found = (cost + more, left, known, (*path, position))
                        other = longer.get(done | number)
                        if other is None or (found[0], found[1], found[3]) < (other[0], other[1], other[3]):
                            longer[done | number] = found
            best = longer
        ((_, _, _, path),) = best.values()
        return path

    def one_by_one(self, bound: frozenset[str]) -> tuple[int, ...]:
        """The order in which each atom is the one that matches the fewest rows."""
        path: list[int] = []
        rest = list(self._atoms)
        while rest:
            position = min(rest, key=lambda p: (self._extended(p, 1.0, bound)[1], p))
            rest.remove(position)
            path.append(position)
            bound = self._extended(position, 1.0, bound)[2]
        return tuple(path)

    def _extended(
        self, position: int, rows: float, bound: frozenset[str]
    ) -> tuple[float, float, frozenset[str]]:
        """What an atom adds to the cost, the rows after it, and the variables bound then."""
        matched = rows * self._fan_out(position, bound)
        cost = rows + matched
        known = self.closed(bound | self._names[position])
        for literal, names in self._needed:
            if names <= known and not names <= bound:
                matched *= _share(literal)
        return cost, matched, known

    def _fan_out(self, position: int, bound: frozenset[str]) -> float:
        atom = self._atoms[position]
        key, size = key_of(atom.terms, bound), max(self._statistics.size(atom.relation), 1)
        if len(key) == len(atom.terms):
            return _MEMBER
        within = _WITHIN[len(bounds_of(atom.terms, bound, self._others.values()))]
        return within * (self._alike_rows(atom.relation, key, len(atom.terms), size) if key else size)

    def _alike_rows(self, relation: str, key: tuple[int, ...], arity: int, size: int) -> float:
        found = self._alike.get((relation, key))
        if found is None:
            known = self._statistics.alike(relation, key)
            # unknown: as if values were spread evenly over the columns
            found = float(size ** (1 - len(key) / arity)) if known is None else known
            self._alike[relation, key] = found
        return found

    def closed(self, bound: frozenset[str]) -> frozenset[str]:
        """The bound variables, and those that equations bind then."""
        found = set(bound)
        size = -1
        while size != len(found):
            size = len(found)
            for literal in self._others.values():
                match literal:
                    case Bind(Var(name), value) if knows(found, value):
                        found.add(name)
                    case Test(Binary("==", left, right)):
                        for side, value in ((left, right), (right, left)):
                            if isinstance(side, Var) and knows(found, value):
                                found.add(side.name)
                    case _:
                        pass
        return frozenset(found)


def _needed(literal: Literal) -> frozenset[str]:
    """The variables that a literal needs to be evaluated."""
    match literal:
        case Match(_, terms) | Absent(_, terms):
            return frozenset(t.name for t in terms if isinstance(t, Var))
        case Test(condition):
            return frozenset(v.name for v in variables(condition))
        case Bind(variable, value):
            return frozenset({variable.name, *(v.name for v in variables(value))})
        case _:
            assert_never(literal)


def _share(literal: Literal) -> float:
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
        case _:
            assert_never(literal)
