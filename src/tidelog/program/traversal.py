"""The parts of expressions and literals of a typed program, and the variables in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidelog.program import steps
from tidelog.program.typed import (
    Absent,
    Binary,
    Bind,
    Block,
    Call,
    Cast,
    Constant,
    Each,
    Expr,
    Get,
    If,
    Is,
    Let,
    Listing,
    Literal,
    Make,
    Match,
    Nested,
    Over,
    Source,
    Stage,
    Test,
    Unary,
    Var,
    Wildcard,
    Without,
)

__all__ = ["expressions", "subexpressions", "variables"]


def subexpressions(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly below this one."""
    match expr:
        case Constant() | Var():
            return ()
        case Unary(operand=operand) | Cast(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case If(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Let(value=value, body=body):
            return (value, body)
        case Call(args=args, closures=closures):
            return (*args, *(c.body for c in closures))
        case Make(fields=items) | Listing(items=items):
            return items
        case Get(operand=operand) | Is(operand=operand):
            return (operand,)
        case Block(inside):
            return tuple(steps.parts(inside))
        case Over(parameters=parameters, sources=sources, nothing=nothing):
            inner = (part for source in sources for part in _parts(source))
            return (*parameters, *inner, *(() if nothing is None else (nothing,)))
        case _:
            assert_never(expr)


def variables(expr: Expr) -> Iterator[Var]:
    """The free variables of an expression, in order, with duplicates."""
    match expr:
        case Var():
            yield expr
        case Let(name, value, body):
            yield from variables(value)
            yield from (v for v in variables(body) if v.name != name)
        case Call(args=args, closures=closures):
            for arg in args:
                yield from variables(arg)
            for closure in closures:
                own = {p.name for p in closure.parameters}
                yield from (v for v in variables(closure.body) if v.name not in own)
        case Block(inside):
            own = {v.name for v in steps.assigned(inside)}
            for part in steps.parts(inside):
                yield from (v for v in variables(part) if v.name not in own)
        case Over(parameters=parameters, sources=sources):
            yield from parameters
            for source in sources:
                own = {v.name for v in source.columns}
                own.update(x.variable.name for x in source.body if isinstance(x, Bind | Each))
                yield from (v for part in _parts(source) for v in variables(part) if v.name not in own)
        case Constant() | Unary() | Binary() | If() | Cast() | Make() | Get() | Is() | Listing():
            for sub in subexpressions(expr):
                yield from variables(sub)
        case _:
            assert_never(expr)


def _parts(source: Source) -> tuple[Expr, ...]:
    """The expressions of a source."""
    return (source.rows, *(e for literal in source.body for e in expressions(literal)), *source.args)


def expressions(literal: Literal) -> tuple[Expr, ...]:
    """The expressions a literal reads, without the variable that a binding defines."""
    match literal:
        case Match(terms=terms) | Absent(terms=terms):
            return tuple(t for t in terms if not isinstance(t, Wildcard))
        case Test(condition):
            return (condition,)
        case Bind(value=value):
            return (value,)
        case Each(collection=collection):
            return (collection,)
        case Nested(parameters=parameters) | Without(parameters=parameters):
            return parameters
        case Stage():
            return literal.columns
        case _:
            assert_never(literal)
