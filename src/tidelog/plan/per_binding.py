"""Nested bodies that test values from the recursion around them, as expressions.

Such a body cannot be a hidden relation: its rows would follow from the recursion, and must be complete before
it. But what it reads is below. So the part of the body that needs nothing from outside is collected below, as
a vec for each key, and the rest is evaluated for each binding of the rule around it:

    R(x, n) :- R(y, m), E(y, x), var n = count { Limit(y, k), k < m }.

    R(x, n) :- R(y, m), E(y, x), var v = collect_vec((k, 0)) { Limit(y, k) },
               var n = count { var (k, _) in v, k < m }.        // one expression (`typed.Over`)

Both are literals that any strategy maintains. If what the body reads changes, so does the vec of its key: the
old value leaves, and the new one enters.

The collected part never fails. What may fail is evaluated for each binding: an instance that fails is an
error only if its other literals hold, in rows that satisfy the rest of the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import count
from typing import Final, assert_never

from tidelog.data.types import BOOL, INT, Tuple, Type, Vec
from tidelog.program import traversal
from tidelog.program.analysis.failing import may_fail
from tidelog.program.analysis.nesting import sources
from tidelog.program.folds import shown_aggregate
from tidelog.program.library.catalog import NONE_OF
from tidelog.program.library.nothing import over_nothing
from tidelog.program.typed import (
    Absent,
    Binary,
    Bind,
    Body,
    Constant,
    Each,
    Expr,
    Listing,
    Literal,
    Make,
    Match,
    Nested,
    Over,
    Source,
    Stratum,
    Term,
    Test,
    Var,
    Wildcard,
    Without,
)

__all__ = ["Rewritten", "cycles_of", "without_cycles"]

_NOTHING: Final = Constant(0, INT)


def cycles_of(strata: Iterable[Stratum]) -> dict[str, set[str]]:
    """The relations of the recursion of each rule with a nested body that tests values from it."""
    found: dict[str, set[str]] = {}
    for stratum in strata:
        for rule_id in stratum.per_binding:
            found.setdefault(rule_id, set()).update(stratum.relations)
    return found


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A body without nested bodies that test values from the recursion, and the places of these bodies.

    `shown` is what rows are collected for, by the name of the variable that has them.
    """

    body: Body
    places: str
    shown: dict[str, str]


def without_cycles(body: Body, cycle: Set[str]) -> Rewritten:
    """The body without nested bodies that test values from these relations."""
    made: list[Literal] = []
    places: list[str] = []
    shown: dict[str, str] = {}
    for number, literal in enumerate(body):
        if isinstance(literal, Nested | Without) and not cycle.isdisjoint(sources(literal, body)):
            rewriting = _Rewriting(f"${number}", shown)
            made += rewriting.rewritten(literal, {p.name for p in literal.parameters})
            places.append(str(number))
        else:
            made.append(literal)
    return Rewritten(tuple(made), " ".join(places), shown)


@dataclass
class _Split:
    """A body: what is collected, what each binding evaluates, and the variables that the former binds."""

    collected: list[Literal] = field(default_factory=list)
    evaluated: list[Literal] = field(default_factory=list)
    bound: dict[str, Var] = field(default_factory=dict)


class _Rewriting:
    """Makes expressions of a nested body and of those inside it; new variables begin with `name`."""

    def __init__(self, name: str, shown: dict[str, str]) -> None:
        self._name = name
        self._shown = shown
        self._numbers = count()

    def rewritten(self, literal: Nested | Without, known: Set[str]) -> Body:
        """What stands for a literal; only `known` parameters can be keys of what is collected."""
        args = literal.args if isinstance(literal, Nested) else ()
        made: list[Literal] = []
        ranges: list[Source] = []
        for body in literal.bodies:
            below, source = self._source(literal, body, args, known)
            for collecting in below:
                self._shown[collecting.result.name] = _shown(literal)
            made += below
            ranges.append(source)
        return (*made, _value(literal, tuple(ranges)))

    def _fresh(self, name: str, type_: Type) -> Var:
        return Var(f"{self._name}.{next(self._numbers)} {name}", type_)

    def _source(
        self, literal: Nested | Without, body: Body, args: tuple[Expr, ...], known: Set[str]
    ) -> tuple[tuple[Nested, ...], Source]:
        """The literal that collects the rows of a body, if it needs one, and the instances made of them."""
        split = self._split(body)
        parameters = {p.name: p for p in literal.parameters}
        keys = tuple(p for p in literal.parameters if p.name in split.bound and p.name in known)
        evaluated = self._evaluated(split, parameters)
        needed = {v for x in evaluated for v in _read(x)} | {
            v.name for a in args for v in traversal.variables(a)
        }
        others = [v for v in split.bound.values() if v not in keys and v.name in needed | parameters.keys()]
        columns = tuple(self._fresh(v.name, v.type) if v.name in parameters else v for v in others)
        same = [
            Test(Binary("==", parameters[v.name], column, BOOL))
            for v, column in zip(others, columns, strict=True)
            if v.name in parameters
        ]
        rows, collected = self._rows(others, keys, tuple(split.collected))
        ordered = _in_order([*same, *evaluated], {*parameters, *(c.name for c in columns)})
        return collected, Source(rows, columns, ordered, args)

    def _rows(
        self, columns: Sequence[Var], keys: tuple[Var, ...], body: Body
    ) -> tuple[Expr, tuple[Nested, ...]]:
        """The collected rows, and what collects them; a body without literals has one instance."""
        fields: tuple[Expr, ...] = (*columns, *([_NOTHING] * (2 - len(columns))))  # of a tuple
        item = Make("", fields, Tuple(tuple(f.type for f in fields)))
        if not body:
            return Listing((item,), Vec(item.type)), ()
        rows = self._fresh("rows", Vec(item.type))
        return rows, (Nested(rows, "collect_vec", (item,), False, keys, (body,)),)

    # -- which literals are collected

    def _split(self, body: Body) -> _Split:
        split = _Split()
        for literal in body:
            if isinstance(literal, Match):
                split.collected.append(literal)
                split.bound.update((t.name, t) for t in literal.terms if isinstance(t, Var))
        waiting = [x for x in body if not isinstance(x, Match)]
        while ready := [x for x in waiting if self._is_below(x, split)]:
            for literal in ready:
                split.collected.append(literal)
                if isinstance(literal, Bind | Each):
                    split.bound[literal.variable.name] = literal.variable
            waiting = [x for x in waiting if x not in ready]
        for literal in waiting:
            split.evaluated += self._deeper(literal, split)
        return split

    def _is_below(self, literal: Literal, split: _Split) -> bool:
        """Whether a literal reads only what is bound below, and never fails."""
        if isinstance(literal, Nested | Without) or not _read(literal) <= split.bound.keys():
            return False
        if isinstance(literal, Bind | Each) and literal.variable.name in split.bound:
            return False
        return not any(map(may_fail, traversal.expressions(literal)))

    def _deeper(self, literal: Literal, split: _Split) -> list[Literal]:
        """The literal without nested bodies; what these collect joins what is collected."""
        if isinstance(literal, Absent):
            literal = self._as_body(literal)
        if not isinstance(literal, Nested | Without):
            return [literal]
        *below, value = self.rewritten(literal, split.bound.keys())
        for collecting in below:
            assert isinstance(collecting, Nested)
            split.collected.append(collecting)
            split.bound[collecting.result.name] = collecting.result
        return [value]

    def _as_body(self, literal: Absent) -> Without:
        """A negated atom as the negation of a body with the atom."""
        terms: list[Term] = []
        tests: list[Literal] = []
        for term in literal.terms:
            if isinstance(term, Wildcard):
                terms.append(term)
            else:
                terms.append(column := self._fresh("column", term.type))
                tests.append(Test(Binary("==", term, column, BOOL)))
        parameters = dict.fromkeys(t for t in literal.terms if isinstance(t, Var))
        atom = Match(literal.relation, tuple(terms), literal.delay, literal.is_prime)
        return Without(tuple(parameters), ((atom, *tests),))

    def _evaluated(self, split: _Split, parameters: dict[str, Var]) -> list[Literal]:
        """What each binding evaluates; a variable that is defined again is compared."""
        made: list[Literal] = []
        known = {*split.bound, *parameters}
        for literal in split.evaluated:
            if not isinstance(literal, Bind | Each):
                made.append(literal)
                continue
            variable = literal.variable
            if variable.name in known:
                again = self._fresh(variable.name, variable.type)
                made += [_defining(literal, again), Test(Binary("==", variable, again, BOOL))]
            else:
                known.add(variable.name)
                made.append(literal)
        return made


def _shown(literal: Nested | Without) -> str:
    return f"{shown_aggregate(literal.function)} {{ … }}" if isinstance(literal, Nested) else "not (…)"


def _defining(literal: Bind | Each, variable: Var) -> Bind | Each:
    if isinstance(literal, Bind):
        return Bind(variable, literal.value)
    return Each(variable, literal.collection)


def _in_order(literals: Sequence[Literal], known: Iterable[str]) -> tuple[Test | Bind | Each, ...]:
    """The literals, each as soon as what it reads is known, conditions first."""
    known = set(known)
    defined = {x.variable.name for x in literals if isinstance(x, Bind | Each)}
    waiting = [x for x in literals if isinstance(x, Test | Bind | Each)]
    assert len(waiting) == len(literals)
    made: list[Test | Bind | Each] = []
    while waiting:
        ready = [x for x in waiting if _read(x) & defined <= known]
        chosen = next((x for x in ready if isinstance(x, Test)), ready[0])
        waiting.remove(chosen)
        made.append(chosen)
        if isinstance(chosen, Bind | Each):
            known.add(chosen.variable.name)
    return tuple(made)


def _value(literal: Nested | Without, ranges: tuple[Source, ...]) -> Literal:
    """The literal that evaluates the instances of all bodies."""
    match literal:
        case Without(parameters):
            return Test(Over(NONE_OF, False, parameters, ranges, None, BOOL))
        case Nested(result, function, _, distinct, parameters):
            nothing = over_nothing(function, result.type)
            type_ = result.type if nothing is not None else Vec(result.type)
            over = Over(function, distinct, parameters, ranges, nothing, type_)
            return Bind(result, over) if nothing is not None else Each(result, over)
        case _:
            assert_never(literal)


def _read(literal: Literal) -> set[str]:
    return {v.name for e in traversal.expressions(literal) for v in traversal.variables(e)}
