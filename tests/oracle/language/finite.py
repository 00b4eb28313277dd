"""Whether the recursions of a program surely end: around a cycle, no rule makes values out of nothing.

A value is *bounded* if it is one that an atom matched, a constant, or made of bounded ones by an operation
with finitely many results. A recursive `min` or `max` may add: it ends, or all reasoners give up alike.
"""

from __future__ import annotations

from tidelog.data import types
from tidelog.program import traversal, typed
from tidelog.program.model import Program
from tidelog.program.typed import Bind, Body, Each, Expr, Literal, Match, Nested, Rule, Var

__all__ = ["ends"]

_SELECTING = frozenset(["min", "max", "some", "unwrap", "unwrap_or", "abs", "sign", "is_none", "is_some"])


def ends(program: Program) -> bool:
    """Whether every recursion without a best value is bounded."""
    return all(
        _is_bounded_rule(rule, stratum.relations)
        for stratum in program.strata
        if stratum.recursive and not stratum.best
        for rule in stratum.rules
    )


def _is_bounded_rule(rule: Rule, relations: frozenset[str]) -> bool:
    values = [v for head in rule.heads if head.relation in relations for v in head.values]
    if rule.group is not None:  # what a group ranges over is below
        return True
    return all(_is_bounded(value, body) for body in rule.bodies for value in values)


def _binds(literal: Literal) -> str | None:
    match literal:
        case Bind(variable) | Each(variable) | Nested(variable):
            return variable.name
        case _:
            return None


def _source(literal: Literal) -> Expr:
    """What a variable is bound to, or a part of."""
    match literal:
        case Bind(value=value) | Each(collection=value):
            return value
        case Nested(result, "any" | "all"):
            return typed.Constant(False, result.type)
        case Nested(result, "count") if not _has_generators(literal):
            return typed.Constant(False, result.type)  # there are finitely many instances below
        case Nested(result, "min" | "max", (Var() as value,)) if _is_matched(literal, value):
            return typed.Constant(False, result.type)  # one of finitely many values below
        case Nested(result, parameters=parameters):
            return (
                typed.Make("", (*parameters, result), result.type)
                if parameters
                else typed.Constant(False, result.type)
            )
        case _:
            raise AssertionError(literal)


def _has_generators(literal: Nested) -> bool:
    """Whether the number of instances may depend on values from outside."""
    inner = [x for body in literal.bodies for x in body]
    return any(isinstance(x, Each) or (isinstance(x, Nested) and _has_generators(x)) for x in inner)


def _is_matched(literal: Nested, value: Var) -> bool:
    return all(any(isinstance(x, Match) and value in x.terms for x in body) for body in literal.bodies)


def _is_bounded(expr: Expr, body: Body) -> bool:
    match expr:
        case typed.Constant():
            return True
        case Var(name):
            matched = {t for x in body if isinstance(x, Match) for t in x.terms if isinstance(t, Var)}
            given = [_source(x) for x in body if _binds(x) == name]
            return expr in matched or (bool(given) and _is_bounded(given[0], body))
        case typed.Get(operand):
            return _is_bounded(operand, body)
        case typed.Binary("%", _, typed.Constant()):
            return True
        case typed.If(_, then, otherwise):
            return _is_bounded(then, body) and _is_bounded(otherwise, body)
        case typed.Call(function, args) if function in _SELECTING:
            return all(_is_bounded(a, body) for a in args)
        case _:
            return isinstance(expr.type, types.Bool) or not any(True for _ in traversal.variables(expr))
