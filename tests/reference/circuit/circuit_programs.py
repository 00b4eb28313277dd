"""Small programs by hand and at random, with streams of edits of their facts and rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tidelog.data.types import BOOL, INT
from tidelog.data.values import Row, Value
from tidelog.data.zset import ZSet
from tidelog.program.typed import (
    Absent,
    Binary,
    Bind,
    Body,
    Constant,
    Expr,
    Head,
    Literal,
    Match,
    Rule,
    Term,
    Test,
    Var,
    Wildcard,
)

ARITY = {"E": 2, "P": 1, "Q": 1, "R": 2, "S": 2}


def term(text: str) -> Term:
    """`_`, a number, or a variable."""
    if text == "_":
        return Wildcard()
    return constant(int(text)) if text.isdigit() else Var(text, INT)


def constant(value: Value) -> Constant:
    return Constant(value, INT)


def atom(text: str) -> Match | Absent:
    """`R x 1 _`, or `!R x 1 _` for a negated one."""
    relation, *terms = text.split()
    if relation.startswith("!"):
        return Absent(relation[1:], tuple(term(t) for t in terms))
    return Match(relation, tuple(term(t) for t in terms))


def head(text: str) -> Head:
    relation, *terms = text.split()
    values = [term(t) for t in terms]
    return Head(relation, tuple(v for v in values if not isinstance(v, Wildcard)))


def rule(identity: str, head_text: str, *body: str | Literal) -> Rule:
    literals = tuple(atom(b) if isinstance(b, str) else b for b in body)
    return Rule(identity, (head(head_text),), (literals,), None, ())


def binary(op: str, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, BOOL if op in ("<", "==", "!=") else INT)


def condition(op: str, left: Expr, right: Expr) -> Literal:
    return Test(binary(op, left, right))


def rows(*elements: Row) -> ZSet[Row]:
    """These rows, each once."""
    return ZSet.of(elements)


@dataclass(frozen=True)
class Edit:
    """The rules from now on, by position in the pool, and the facts that are toggled."""

    rules: frozenset[int]
    toggled: frozenset[tuple[str, Row]]


@dataclass(frozen=True)
class Flavour:
    """What random programs may contain. With `partial`, some expressions fail."""

    values: Sequence[Value] = (0, 1, 2)
    negation: bool = False
    expressions: bool = False
    partial: bool = False


names = st.sampled_from(["x", "y", "z"])
relations = st.sampled_from(sorted(ARITY))


@st.composite
def terms(draw: st.DrawFn, flavour: Flavour, arity: int, bound: Sequence[str] | None) -> tuple[Term, ...]:
    """Terms of an atom: of a positive one if `bound` is None, else of a negated one."""
    variables = names if bound is None else st.sampled_from(list(bound)) if bound else st.nothing()
    one = st.one_of(
        variables.map(lambda name: Var(name, INT)),
        variables.map(lambda name: Var(name, INT)),
        st.sampled_from(list(flavour.values)).map(constant),
        st.just(Wildcard()),
    )
    return tuple(draw(one) for _ in range(arity))


@st.composite
def expressions(draw: st.DrawFn, flavour: Flavour, bound: Sequence[str]) -> Expr:
    """A number from a finite set, so that every program ends; or a quotient, which may fail."""
    left = Var(draw(st.sampled_from(list(bound))), INT)
    number = constant(draw(st.integers(0, 2)))
    if flavour.partial and draw(st.booleans()):
        return binary("/", number, left)
    return binary("%", binary("+", left, number), constant(3))


@st.composite
def assignments(draw: st.DrawFn, flavour: Flavour, matched: Sequence[str]) -> Literal:
    """Of a new variable, or of one that an atom binds too."""
    target = draw(st.sampled_from(["v", "v", *matched]))
    return Bind(Var(target, INT), draw(expressions(flavour, matched)))


@st.composite
def filters(draw: st.DrawFn, flavour: Flavour, bound: Sequence[str]) -> Literal:
    """A negated atom or a condition over bound variables."""
    if flavour.negation and (not (flavour.expressions and bound) or draw(st.booleans())):
        relation = draw(relations)
        return Absent(relation, draw(terms(flavour, ARITY[relation], bound)))
    op = draw(st.sampled_from(["<", "==", "!="]))
    return Test(binary(op, draw(expressions(flavour, bound)), Var(draw(st.sampled_from(list(bound))), INT)))


@st.composite
def bodies(draw: st.DrawFn, flavour: Flavour) -> tuple[Body, list[str]]:
    """A body and the variables that it binds."""
    body: list[Literal] = []
    for relation in draw(st.lists(relations, max_size=3)):
        body.append(Match(relation, draw(terms(flavour, ARITY[relation], None))))
    bound = sorted({t.name for a in body if isinstance(a, Match) for t in a.terms if isinstance(t, Var)})
    if flavour.expressions and bound:
        binds = draw(st.lists(assignments(flavour, bound), max_size=2))
        body += binds
        bound = sorted({*bound, *(b.variable.name for b in binds if isinstance(b, Bind))})
    if flavour.negation or (flavour.expressions and bound):
        body += draw(st.lists(filters(flavour, bound), max_size=2))
    return tuple(draw(st.permutations(body))), bound


@st.composite
def rules(draw: st.DrawFn, flavour: Flavour, identity: int) -> Rule:
    """One or two heads over one or two bodies that bind what the heads read."""
    alternatives = draw(st.lists(bodies(flavour), min_size=1, max_size=2))
    bound = sorted(set.intersection(*(set(variables) for _, variables in alternatives)))
    values: st.SearchStrategy[Expr] = st.sampled_from(list(flavour.values)).map(constant)
    if bound:
        values = st.one_of(values, *[st.sampled_from(bound).map(lambda name: Var(name, INT))] * 3)
    if bound and flavour.expressions:
        values = st.one_of(values, expressions(flavour, bound))
    heads = [
        Head(relation, tuple(draw(values) for _ in range(ARITY[relation])))
        for relation in draw(st.lists(relations, min_size=1, max_size=2))
    ]
    return Rule(str(identity), tuple(heads), tuple(body for body, _ in alternatives), None, ())


@st.composite
def histories(draw: st.DrawFn, flavour: Flavour) -> tuple[list[Rule], list[Edit]]:
    """A pool of rules, and edits that pick from it."""
    size = draw(st.integers(1, 5))
    pool = [draw(rules(flavour, identity)) for identity in range(size)]
    facts = relations.flatmap(
        lambda name: st.tuples(
            st.just(name), st.tuples(*[st.sampled_from(list(flavour.values))] * ARITY[name])
        )
    )
    edits = st.builds(Edit, st.frozensets(st.integers(0, size - 1)), st.frozensets(facts, max_size=4))
    return pool, draw(st.lists(edits, min_size=1, max_size=5))
