"""Join orders: the order in which the literals of a rule are evaluated, given the first one.

- The order of atoms is the cheapest one by an estimate: how many lookups there are, and how many rows they
  match. `Statistics` tell how many rows of a relation share a row's values in some columns; the average is
  over rows, so that frequent values count for what they cost. All orders of up to eight atoms are compared;
  of more atoms, the one that matches the fewest rows comes next (`cost`).
- A condition or a negation is evaluated as soon as its variables are bound.
- A generator is expanded as soon as its collection is known, after what can be tested before that.
- An equation, `var v = e` or `v == e`, *unifies* as soon as `e` has a value. If `v` is unbound, it is bound
  to that value, and atoms with `v` are looked up by it. Otherwise the two values are compared. Even a
  variable of `var` may already be bound, by a negated atom that is the first literal.

The order never changes the result. Nor does it change which rows fail: a variable that no atom binds is bound
only by its `var`, since another equation might exclude a row before that value is found to fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tidelog.data.types import BOOL
from tidelog.plan.cost import (
    Bound,
    Statistics,
    bounds_of,
    cheapest,
    expected_after_each,
    is_bound,
    key_of,
    knows,
)
from tidelog.plan.flat import FlatLiteral, FlatRule
from tidelog.program.elaborate.ordering import in_order_of_need
from tidelog.program.traversal import expressions, variables
from tidelog.program.typed import Absent, Binary, Bind, Each, Expr, Match, Term, Test, Var

__all__ = [
    "Compute",
    "Expand",
    "Filter",
    "Join",
    "Order",
    "Refute",
    "Step",
    "order",
    "rows_after_each",
    "rows_expected",
    "values_first",
]


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


@dataclass(frozen=True, slots=True)
class Expand:
    """Bind a variable to each item of a collection in turn."""

    variable: Var
    collection: Expr
    position: int


Step: TypeAlias = Join | Refute | Compute | Filter | Expand
Order: TypeAlias = tuple[Step, ...]


def order(
    rule: FlatRule,
    first: int | None,
    statistics: Statistics,
    given: tuple[str, ...] = (),
    rows: float = math.inf,
) -> Order:
    """The steps of a rule's body, starting with the atom at position `first`, negated or not.

    `given` are variables that are bound before the first atom; `rows` is how many rows it has.
    """
    return tuple(_Ordering(rule, statistics, given, rows).run(first))


def rows_expected(
    rule: FlatRule, steps: Order, first: int | None, statistics: Statistics, given: tuple[str, ...] = ()
) -> float:
    """How many instances an order is expected to find, for one row of its first literal if there is one."""
    return rows_after_each(rule, steps, first, statistics, given)[-1]


def rows_after_each(
    rule: FlatRule, steps: Order, first: int | None, statistics: Statistics, given: tuple[str, ...] = ()
) -> list[float]:
    """The rows that are expected before the first atom that is looked up and after each one.

    They are those for one row of the first literal if there is one.
    """
    body = dict(enumerate(rule.body))
    start = None if first is None else body.pop(first)
    assert start is None or isinstance(start, Match | Absent)
    bound = {*given, *(t.name for t in (start.terms if start else ()) if isinstance(t, Var))}
    atoms = {i: x for i, x in body.items() if isinstance(x, Match)}
    others = {i: x for i, x in body.items() if not isinstance(x, Match)}
    path = [step.position for step in steps if isinstance(step, Join) and step.position != first]
    return expected_after_each(path, atoms, others, bound, start, statistics)


def values_first(literals: Iterable[tuple[int, FlatLiteral]]) -> list[tuple[int, FlatLiteral]]:
    """Literals with their positions: those that bind variables, each after what it reads, then all others."""
    found = list(literals)
    names = {x.variable.name for _, x in found if isinstance(x, Bind | Each)}
    definers = [
        ((i, x), (x.variable.name,), names & {v.name for e in expressions(x) for v in variables(e)})
        for i, x in found
        if isinstance(x, Bind | Each)
    ]
    others = [(i, x) for i, x in found if not isinstance(x, Bind | Each)]
    return [*in_order_of_need(definers), *others]


class _Ordering:
    def __init__(self, rule: FlatRule, statistics: Statistics, given: tuple[str, ...], rows: float) -> None:
        self.bound = set(given)
        self.atoms = {i: x for i, x in enumerate(rule.body) if isinstance(x, Match)}
        self.others = {i: x for i, x in enumerate(rule.body) if not isinstance(x, Match)}
        self.matched = {t.name for x in self.atoms.values() for t in x.terms if isinstance(t, Var)}
        self.statistics = statistics
        self.rows = rows

    def run(self, first: int | None) -> Iterator[Step]:
        start: Match | Absent | None = None
        if first is not None:
            literal = self.atoms.pop(first, None) or self.others.pop(first)
            assert isinstance(literal, Match | Absent)
            start = literal
            yield self._join(first, literal.relation, literal.terms)
        yield from self._ready()
        for position in cheapest(self.atoms, self.others, self.bound, start, self.statistics, self.rows):
            atom = self.atoms[position]
            yield self._join(position, atom.relation, atom.terms)
            yield from self._ready()

    def _join(self, position: int, relation: str, terms: tuple[Term, ...]) -> Join:
        key = key_of(terms, self.bound)
        bounds = bounds_of(terms, self.bound, self.others.values())
        self.bound |= {t.name for t in terms if isinstance(t, Var)}
        return Join(position, relation, terms, key, bounds)

    def _is_bound(self, term: Term) -> bool:
        return is_bound(term, self.bound)

    def _ready(self) -> Iterator[Step]:
        """The steps of literals other than positive atoms that can be evaluated now."""
        while True:
            yield from self._tests()
            step = next((s for i, x in self.others.items() if (s := self._expansion(i, x)) is not None), None)
            if step is None:
                return
            del self.others[step.position]
            yield step

    def _tests(self) -> Iterator[Step]:
        """The steps that give each row at most one row."""
        progress = True
        while progress:
            progress = False
            for position, literal in list(self.others.items()):
                step = self._step(position, literal)
                if step is not None:
                    del self.others[position]
                    progress = True
                    yield step

    def _step(self, position: int, literal: FlatLiteral) -> Step | None:
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
            case Test() | Match() | Each():
                return None
            case _ as never:
                assert_never(never)

    def _expansion(self, position: int, literal: FlatLiteral) -> Expand | None:
        if not isinstance(literal, Each) or not self._knows(literal.collection):
            return None
        self.bound.add(literal.variable.name)
        return Expand(literal.variable, literal.collection, position)

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
        return knows(self.bound, expr)
