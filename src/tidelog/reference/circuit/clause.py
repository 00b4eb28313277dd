"""Clauses: rules in normal form.

Idea: each head of a rule with each of its alternative bodies is one clause. The literals of a body are put in
evaluation order, and variables are numbered by first occurrence. So bodies that start alike up to variable
names start with equal literals.

Invariants:

- a condition, assignment or negated atom is placed as soon as everything it reads is bound; an atom that
  shares a variable with earlier literals, or has a constant, precedes one that does not;
- an assignment to, or a generator of, a variable that a positive atom also binds follows that atom, as a
  check: so a failed expression is never looked up in a relation;
- the n-th bound variable is named `#n`, which is not a valid name in a program text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from tidelog.errors import EngineError
from tidelog.program import steps
from tidelog.program.traversal import expressions, variables
from tidelog.program.typed import (
    Absent,
    Binary,
    Bind,
    Block,
    Body,
    Call,
    Cast,
    Constant,
    Each,
    Expr,
    Get,
    Head,
    If,
    Is,
    Lambda,
    Let,
    Listing,
    Literal,
    Make,
    Match,
    Nested,
    Over,
    Rule,
    Stage,
    Term,
    Test,
    Unary,
    Var,
    Wildcard,
    Without,
)

__all__ = ["Clause", "binds", "clauses", "name", "slot"]


@dataclass(frozen=True, slots=True)
class Clause:
    """`rule` is the id of the original rule, for messages."""

    rule: str
    head: Head
    body: Body


def clauses(rules: Iterable[Rule]) -> frozenset[Clause]:
    """The clauses of these rules. Raises EngineError for a rule that the circuit does not support."""
    return frozenset(
        _clause(rule, head, body) for rule in rules for body in _bodies(rule) for head in rule.heads
    )


def name(slot: int) -> str:
    """The name of the variable with number `slot`."""
    return f"#{slot}"


def slot(variable: Var) -> int:
    """The number of a variable of a clause."""
    return int(variable.name[1:])


def binds(literal: Literal) -> list[str]:
    """The variables that a literal binds, in order, without duplicates."""
    match literal:
        case Match(terms=terms):
            return list(dict.fromkeys(t.name for t in terms if isinstance(t, Var)))
        case Bind(variable=variable) | Each(variable=variable) | Nested(result=variable):
            return [variable.name]
        case Stage(group):
            return [v.name for v in group.columns]
        case Absent() | Test() | Without():
            return []
        case _:
            assert_never(literal)


def _bodies(rule: Rule) -> tuple[Body, ...]:
    if rule.group is not None:
        raise EngineError(f"rule {rule.id}: the circuit does not support aggregates")
    if any(isinstance(literal, Nested | Without | Stage) for body in rule.bodies for literal in body):
        raise EngineError(f"rule {rule.id}: the circuit does not support nested bodies")
    return rule.bodies


def _clause(rule: Rule, head: Head, body: Body) -> Clause:
    names: dict[str, str] = {}
    renamed: list[Literal] = []
    for literal in _ordered(rule, body):
        for variable in binds(literal):
            names.setdefault(variable, name(len(names)))
        renamed.append(_rename_literal(literal, names))
    unbound = {v.name for value in head.values for v in variables(value)} - names.keys()
    if unbound:
        raise EngineError(f"rule {rule.id}: unbound variables {', '.join(sorted(unbound))}")
    values = tuple(_rename(value, names) for value in head.values)
    return Clause(rule.id, Head(head.relation, values), tuple(renamed))


def _ordered(rule: Rule, body: Body) -> list[Literal]:
    matched = {v for literal in body if isinstance(literal, Match) for v in binds(literal)}
    pending, ordered = list(body), list[Literal]()
    bound: set[str] = set()
    while pending:
        literal = _next(pending, bound, matched)
        if literal is None:
            raise EngineError(f"rule {rule.id}: unbound variable in {pending[0]}")
        pending.remove(literal)
        ordered.append(literal)
        bound.update(binds(literal))
    return ordered


def _next(pending: list[Literal], bound: set[str], matched: set[str]) -> Literal | None:
    for literal in pending:
        if not isinstance(literal, Match) and _ready(literal, bound, matched):
            return literal
    atoms = [literal for literal in pending if isinstance(literal, Match)]
    return min(atoms, key=lambda atom: not _anchored(atom, bound), default=None)


def _ready(literal: Literal, bound: set[str], matched: set[str]) -> bool:
    reads = {v.name for expr in expressions(literal) for v in variables(expr)}
    waits = set(binds(literal)) & matched
    return reads | waits <= bound


def _anchored(atom: Match, bound: set[str]) -> bool:
    return any(isinstance(t, Constant) or (isinstance(t, Var) and t.name in bound) for t in atom.terms)


def _rename_literal(literal: Literal, names: Mapping[str, str]) -> Literal:
    match literal:
        case Match(relation, terms):
            return Match(relation, tuple(_rename_term(t, names) for t in terms))
        case Absent(relation, terms):
            return Absent(relation, tuple(_rename_term(t, names) for t in terms))
        case Test(condition):
            return Test(_rename(condition, names))
        case Bind(variable, value):
            return Bind(Var(names[variable.name], variable.type), _rename(value, names))
        case Each(variable, collection):
            return Each(Var(names[variable.name], variable.type), _rename(collection, names))
        case Nested() | Without() | Stage():
            raise AssertionError("a clause has no nested bodies")
        case _:
            assert_never(literal)


def _rename_term(term: Term, names: Mapping[str, str]) -> Term:
    match term:
        case Var(name=old, type=type_):
            return Var(names[old], type_)
        case Constant() | Wildcard():
            return term
        case _:
            assert_never(term)


def _rename(expr: Expr, names: Mapping[str, str]) -> Expr:
    match expr:
        case Constant():
            return expr
        case Var(name=old):
            return replace(expr, name=names.get(old, old))  # a name bound by `let` is not renamed
        case Unary(operand=operand) | Cast(operand=operand):
            return replace(expr, operand=_rename(operand, names))
        case Binary(left=left, right=right):
            return replace(expr, left=_rename(left, names), right=_rename(right, names))
        case If(condition, then, otherwise, type_):
            return If(_rename(condition, names), _rename(then, names), _rename(otherwise, names), type_)
        case Let(local, value, body, type_):
            inside = {old: new for old, new in names.items() if old != local}
            return Let(local, _rename(value, names), _rename(body, inside), type_)
        case Call(args=args, closures=closures):
            inner = tuple(_rename_closure(closure, names) for closure in closures)
            return replace(expr, args=tuple(_rename(arg, names) for arg in args), closures=inner)
        case Make(fields=fields):
            return replace(expr, fields=tuple(_rename(field, names) for field in fields))
        case Listing(items=items):
            return replace(expr, items=tuple(_rename(item, names) for item in items))
        case Get(operand=operand) | Is(operand=operand):
            return replace(expr, operand=_rename(operand, names))
        case Block(inside):
            own = {v.name for v in steps.assigned(inside)}
            others = {old: new for old, new in names.items() if old not in own}
            return replace(expr, steps=steps.with_parts(inside, lambda part: _rename(part, others)))
        case Over():
            raise AssertionError("a clause has no nested bodies")
        case _:
            assert_never(expr)


def _rename_closure(closure: Lambda, names: Mapping[str, str]) -> Lambda:
    own = {p.name for p in closure.parameters}
    return replace(
        closure, body=_rename(closure.body, {old: new for old, new in names.items() if old not in own})
    )
