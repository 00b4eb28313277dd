"""Join orders: the order in which the literals of a rule are evaluated, given the first one.

- After the first atom, the next is the one with the largest share of bound columns. Ties are broken by how
  many rows have equal values in these columns, if known, then by the size of the relation; smaller is better.
- An atom without bound columns comes last, unless comparisons bound one of its columns.
- A condition or a negation is evaluated as soon as its variables are bound.
- An equation, `var v = e` or `v == e`, *unifies* as soon as `e` has a value. If `v` is unbound, it is bound
  to that value, and atoms with `v` are looked up by it. Otherwise the two values are compared. Even a
  variable of `var` may already be bound, by a negated atom that is the first literal.

The order never changes the result. Nor does it change which rows fail: a variable that no atom binds is bound
only by its `var`, since another equation might exclude a row before that value is found to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tidelog.data.types import BOOL
from tidelog.plan.flat import FlatRule
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
    Wildcard,
    variables,
)

__all__ = ["Alike", "Bound", "Compute", "Filter", "Join", "Order", "Refute", "Step", "order", "values_first"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison of a column with a bound term; the column is the left operand of `op`."""

    column: int
    op: str
    term: Var | Constant


@dataclass(frozen=True, slots=True)
class Join:
    """Join the rows of the atom at `position` that match on the columns `key`; the first has no key.

    `bounds`, at most two and on one column, are comparisons that are also tested later.
    """

    position: int
    relation: str
    terms: tuple[Term, ...]
    key: tuple[int, ...]
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Refute:
    """Keep the rows that the negated atom at `position` does not contradict."""

    position: int
    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    variable: Var
    value: Expr
    position: int


@dataclass(frozen=True, slots=True)
class Filter:
    condition: Expr
    position: int


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

Step: TypeAlias = Join | Refute | Compute | Filter
Order: TypeAlias = tuple[Step, ...]


# estimates how many rows of a relation share a row's values in some columns; 0 if unknown
Alike: TypeAlias = Callable[[str, tuple[int, ...]], float]


def order(
    rule: FlatRule,
    first: int | None,
    size: Callable[[str], int],
    given: tuple[str, ...] = (),
    alike: Alike = lambda relation, columns: 0.0,
) -> Order:
    """The steps of a rule's body, starting with the atom at position `first`, negated or not.

    `given` are variables that are bound before the first atom.
    """
    return tuple(_Ordering(rule, size, given, alike).run(first))


def values_first(literals: Iterable[tuple[int, Literal]]) -> list[tuple[int, Literal]]:
    """Literals with their positions, with those that bind variables before all others."""
    return sorted(literals, key=lambda found: not isinstance(found[1], Bind))


class _Ordering:
    def __init__(
        self, rule: FlatRule, size: Callable[[str], int], given: tuple[str, ...], alike: Alike
    ) -> None:
        self.size = size
        self.alike = alike
        self.bound = set(given)
        self.atoms = {i: x for i, x in enumerate(rule.body) if isinstance(x, Match)}
        self.others = {i: x for i, x in enumerate(rule.body) if not isinstance(x, Match)}
        self.matched = {t.name for x in self.atoms.values() for t in x.terms if isinstance(t, Var)}

    def run(self, first: int | None) -> Iterator[Step]:
        if first is not None:
            literal = self.atoms.pop(first, None) or self.others.pop(first)
            assert isinstance(literal, Match | Absent)
            yield self._join(first, literal.relation, literal.terms)
        yield from self._ready()
        while self.atoms:
            position = min(self.atoms, key=self._cost)
            atom = self.atoms.pop(position)
            yield self._join(position, atom.relation, atom.terms)
            yield from self._ready()

    def _join(self, position: int, relation: str, terms: tuple[Term, ...]) -> Join:
        key = tuple(i for i, t in enumerate(terms) if self._is_bound(t))
        bounds = self._bounds(terms)
        self.bound |= {t.name for t in terms if isinstance(t, Var)}
        return Join(position, relation, terms, key, bounds)

    def _bounds(self, terms: tuple[Term, ...]) -> tuple[Bound, ...]:
        """Comparisons of one new column with bound terms; the column that has most of them."""
        columns = {t.name: i for i, t in enumerate(terms) if isinstance(t, Var) and not self._is_bound(t)}
        found: dict[int, dict[bool, Bound]] = {}
        for left, op, right in _comparisons(self.others.values()):
            for x, how, y in ((left, op, right), (right, _TURNED[op], left)):
                if isinstance(x, Var) and x.name in columns and self._is_bound(y):
                    bound = Bound(columns[x.name], how, y)
                    found.setdefault(bound.column, {}).setdefault(how in (">", ">="), bound)
        varying = [b for b in found.values() if any(isinstance(x.term, Var) for x in b.values())]
        return tuple(max(varying, key=len).values()) if varying else ()

    def _is_bound(self, term: Term) -> bool:
        return isinstance(term, Constant) or (isinstance(term, Var) and term.name in self.bound)

    def _cost(self, position: int) -> tuple[float, float, int, int]:
        atom = self.atoms[position]
        key = tuple(i for i, t in enumerate(atom.terms) if self._is_bound(t))
        useful = sum(not isinstance(t, Wildcard) for t in atom.terms) or 1
        if not key:
            return (1.5 if self._bounds(atom.terms) else 2.0, 0.0, self.size(atom.relation), position)
        is_open = len(key) < useful and len(self.atoms) > 1
        alike = self.alike(atom.relation, key) if is_open else 0.0
        return (1.0 - len(key) / useful, alike, self.size(atom.relation), position)

    def _ready(self) -> Iterator[Step]:
        """The steps of literals other than positive atoms that can be evaluated now."""
        progress = True
        while progress:
            progress = False
            for position, literal in list(self.others.items()):
                step = self._step(position, literal)
                if step is not None:
                    del self.others[position]
                    progress = True
                    yield step

    def _step(self, position: int, literal: Literal) -> Step | None:
        match literal:
            case Absent(relation, terms):
                ready = all(self._is_bound(t) for t in terms)
                return Refute(position, relation, terms) if ready else None
            case Bind(variable, value):
                return self._unify(position, variable, value)
            case Test(condition) if self._knows(condition):
                return Filter(condition, position)
            case Test(Binary("==", left, right)):
                return self._look_up(position, left, right) or self._look_up(position, right, left)
            case Test() | Match():
                return None
            case _ as never:
                assert_never(never)

    def _look_up(self, position: int, side: Expr, value: Expr) -> Step | None:
        """Unify a variable of an atom with a value, so that the atom is looked up by it."""
        is_held = isinstance(side, Var) and side.name in self.matched
        return self._unify(position, side, value) if is_held else None

    def _unify(self, position: int, side: Expr, value: Expr) -> Step | None:
        """Bind a variable to a value if it is unbound; otherwise compare the two.

        The comparison is `==`, so `none` equals nothing.
        """
        if not isinstance(side, Var) or not self._knows(value):
            return None
        if side.name in self.bound:
            return Filter(Binary("==", side, value, BOOL), position)
        self.bound.add(side.name)
        return Compute(side, value, position)

    def _knows(self, expr: Expr) -> bool:
        return all(v.name in self.bound for v in variables(expr))


def _comparisons(literals: Iterable[Literal]) -> Iterator[tuple[Var | Constant, str, Var | Constant]]:
    """The comparisons of variables and constants among literals."""
    for literal in literals:
        condition = literal.condition if isinstance(literal, Test) else None
        if isinstance(condition, Binary) and condition.op in _TURNED:
            left, right = condition.left, condition.right
            if isinstance(left, Var | Constant) and isinstance(right, Var | Constant):
                yield left, condition.op, right
