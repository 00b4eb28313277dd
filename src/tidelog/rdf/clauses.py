"""Translates axioms to clauses: rules with one relation for each class and each property.

The expression on the left of an axiom is a condition on an individual and becomes a rule body. The expression
on the right is a consequence and becomes rule heads. Some axioms are *beyond* rules: they need unnamed
individuals, disjunctions, all individuals, equality or contradictions. OWL 2 RL is the part of OWL that
leaves out most of these. Here every statement is checked, and what is beyond rules is reported.

A union or a list of individuals inside a condition gets its own relation, a *part*: expanding the
alternatives would multiply the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count, pairwise
from typing import Final, TypeAlias, assert_never

from tidelog.rdf.ontology import (
    CONTRADICTION,
    EQUALITY,
    THING,
    All,
    Axiom,
    Complement,
    Datatype,
    Expression,
    HasValue,
    Included,
    Intersection,
    LeftOut,
    Named,
    OneOf,
    Other,
    Path,
    Role,
    Some,
    Union,
    describe,
)
from tidelog.rdf.terms import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE
from tidelog.syntax import tree

__all__ = ["Clause", "Predicate", "Use", "to_clauses"]

_UNNAMED: Final = "rules cannot create unnamed individuals"
_OPEN: Final = "rules cannot derive a disjunction"
_EVERYTHING: Final = "it would apply to every individual"
_UNKNOWN: Final = "a fact that is not known may still hold"
_LITERALS: Final = "the datatypes of literals are not checked"
_ABOUT_ITSELF: Final = "it is about the RDFS vocabulary itself, which only the rules over triples support"
_WORDS: Final = (TYPE, SUBCLASS, SUBPROPERTY, DOMAIN, RANGE)


@dataclass(frozen=True, slots=True)
class Predicate:
    """`kind` is class, property or part."""

    kind: str
    term: str


@dataclass(frozen=True, slots=True)
class Use:
    predicate: Predicate
    args: tuple[tree.Expr, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """A fact if the body is empty."""

    head: Use
    body: tuple[Use, ...] = ()


_Heads: TypeAlias = list[tuple[Use, tuple[Use, ...]]]


class _Beyond(Exception):
    """No rule can express this."""


def to_clauses(axioms: Iterable[Axiom]) -> tuple[list[Clause], list[LeftOut]]:
    """The distinct clauses of axioms, in order, and the statements that they leave out."""
    writer = _Writer()
    for axiom in axioms:
        writer.take(axiom)
    return list(writer.clauses), list(dict.fromkeys(writer.left_out))


class _Writer:
    def __init__(self) -> None:
        self.clauses: dict[Clause, None] = {}
        self.left_out: list[LeftOut] = []
        self._parts: dict[Expression, Predicate] = {}
        self._said = ""

    def take(self, axiom: Axiom) -> None:
        self._said = axiom.said
        for piece in _pieces(axiom):
            try:
                self._add(_path(piece) if isinstance(piece, Path) else self._inclusion(piece))
            except _Beyond as beyond:
                self.left_out.append(LeftOut(axiom.said, str(beyond)))

    def _add(self, found: Iterable[Clause]) -> None:
        self.clauses.update((clause, None) for clause in found if clause.head not in clause.body)

    def _inclusion(self, axiom: Included) -> list[Clause]:
        fresh = _variables()
        x = next(fresh)
        try:
            body = self._body(axiom.left, x, fresh)
            if not body:
                raise _Beyond(_EVERYTHING)
            return [Clause(head, (*body, *more)) for head, more in _heads(axiom.right, x, fresh)]
        except _Beyond as beyond:
            left, right = describe(axiom.left), describe(axiom.right)
            raise _Beyond(f"no rule derives {right} from {left}: {beyond}") from None

    def _body(self, condition: Expression, x: tree.Variable, fresh: Iterator[tree.Variable]) -> list[Use]:
        """The body that holds if `x` satisfies the condition."""
        match condition:
            case Named(term):
                return [Use(Predicate("class", term), (x,))]
            case Intersection(parts):
                return list(dict.fromkeys(use for part in parts for use in self._body(part, x, fresh)))
            case Some(role, of) if of == THING:
                return [_along(role, x, tree.Wildcard())]
            case Some(role, of):
                y = next(fresh)
                return [_along(role, x, y), *self._body(of, y, fresh)]
            case HasValue(role, value):
                return [_along(role, x, tree.StringLiteral(value))]
            case Union() | OneOf():
                return [Use(self._part(condition), (x,))]
            case All() | Complement():
                raise _Beyond(_UNKNOWN)
            case Datatype():
                raise _Beyond(_LITERALS)
            case Other(problem):
                raise _Beyond(problem)
            case _:
                assert_never(condition)

    def _part(self, condition: Union | OneOf) -> Predicate:
        """The relation that represents a union or a list of individuals."""
        if condition in self._parts:
            return self._parts[condition]
        ways = self._ways(condition.parts) if isinstance(condition, Union) else []
        part = Predicate("part", f"{type(condition).__name__}{len(self._parts) + 1}")
        self._parts[condition] = part
        self._add(Clause(Use(part, (x,)), tuple(body)) for x, body in ways)
        if isinstance(condition, OneOf):
            self._add(Clause(Use(part, (tree.StringLiteral(term),))) for term in condition.terms)
        return part

    def _ways(self, alternatives: Iterable[Expression]) -> list[tuple[tree.Variable, list[Use]]]:
        """The bodies of alternatives, each with its variable; alternatives beyond rules are reported."""
        ways = []
        for alternative in alternatives:
            fresh = _variables()
            x = next(fresh)
            try:
                body = self._body(alternative, x, fresh)
            except _Beyond as beyond:
                problem = f"no rule can test for {describe(alternative)}: {beyond}"
                self.left_out.append(LeftOut(self._said, problem))
                continue
            if not body:
                raise _Beyond(_EVERYTHING)
            ways.append((x, body))
        return ways


def _heads(consequence: Expression, x: tree.Variable, fresh: Iterator[tree.Variable]) -> _Heads:
    """The heads that assert the consequence for `x`, each with its additional conditions."""
    match consequence:
        case Named(term):
            return [(Use(Predicate("class", term), (x,)), ())]
        case Intersection(parts):
            return [head for part in parts for head in _heads(part, x, fresh)]
        case All(role, of):
            y = next(fresh)
            return [(head, (_along(role, x, y), *more)) for head, more in _heads(of, y, fresh)]
        case HasValue(role, value):
            return [(_along(role, x, tree.StringLiteral(value)), ())]
        case Some():
            raise _Beyond(_UNNAMED)
        case Union(parts):
            raise _Beyond(_OPEN if parts else CONTRADICTION)
        case OneOf():
            raise _Beyond(EQUALITY)
        case Complement():
            raise _Beyond(CONTRADICTION)
        case Datatype():
            raise _Beyond(_LITERALS)
        case Other(problem):
            raise _Beyond(problem)
        case _:
            assert_never(consequence)


def _path(axiom: Path) -> list[Clause]:
    fresh = _variables()
    places = [next(fresh) for _ in range(len(axiom.left) + 1)]
    body = [_along(role, *ends) for role, ends in zip(axiom.left, pairwise(places), strict=True)]
    return [Clause(_along(axiom.right, places[0], places[-1]), tuple(body))]


def _along(role: Role, x: tree.Expr, y: tree.Expr) -> Use:
    if role.term in _WORDS:
        raise _Beyond(_ABOUT_ITSELF)
    return Use(Predicate("property", role.term), (y, x) if role.inverse else (x, y))


def _variables() -> Iterator[tree.Variable]:
    names = chain("xyzuvw", (f"x{n}" for n in count(1)))
    return (tree.Variable(name) for name in names)


# -- splitting axioms, so that a piece beyond rules does not affect the other pieces


def _pieces(axiom: Axiom) -> Iterator[Axiom]:
    match axiom:
        case Path():
            yield axiom
        case Included(left, right, said):
            for condition in _alternatives(left):
                for consequence in _conjuncts(right):
                    yield Included(condition, consequence, said)
        case _:
            assert_never(axiom)


def _alternatives(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Union):
        for part in condition.parts:
            yield from _alternatives(part)
    else:
        yield condition


def _conjuncts(consequence: Expression) -> Iterator[Expression]:
    match consequence:
        case Intersection(parts):
            for part in parts:
                yield from _conjuncts(part)
        case All(role, of):
            yield from (All(role, part) for part in _conjuncts(of))
        case Named() | Union() | OneOf() | Some() | HasValue() | Complement() | Datatype() | Other():
            yield consequence
        case _:
            assert_never(consequence)
