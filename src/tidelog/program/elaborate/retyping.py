"""Changing expressions from the leaves up: their types, and the expressions themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, assert_never

from tidelog.data.types import Type
from tidelog.program.steps import with_parts
from tidelog.program.traversal import subexpressions
from tidelog.program.typed import (
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Expr,
    Get,
    If,
    Is,
    Lambda,
    Let,
    Listing,
    Make,
    Over,
    Unary,
    Var,
)

__all__ = ["MAX_TYPED_DEPTH", "depth", "retyped", "rewritten"]

MAX_TYPED_DEPTH: Final = 200  # what walks typed expressions recurses, with up to four calls a level


def depth(expr: Expr) -> int:
    """The levels of an expression."""
    deepest, level = 0, [expr]
    while level:
        deepest += 1
        level = [part for x in level for part in subexpressions(x)]
    return deepest


def retyped(expr: Expr, change: Callable[[Type], Type]) -> Expr:
    """The expression with other types."""

    def own(made: Expr) -> Expr:
        type_ = change(made.type)
        return made if type_ is made.type else replace(made, type=type_)

    def parameter(var: Var) -> Var:
        return Var(var.name, change(var.type))

    return rewritten(expr, own, parameter)


def rewritten(
    expr: Expr, change: Callable[[Expr], Expr], parameter: Callable[[Var], Var] = lambda var: var
) -> Expr:
    """The expression in which each part was changed, after the parts inside it."""

    def go(part: Expr) -> Expr:
        return rewritten(part, change, parameter)

    match expr:
        case Constant() | Var():
            return change(expr)
        case Unary() | Cast() | Get() | Is():
            return change(replace(expr, operand=go(expr.operand)))
        case Binary():
            return change(replace(expr, left=go(expr.left), right=go(expr.right)))
        case If(condition, then, otherwise):
            return change(replace(expr, condition=go(condition), then=go(then), otherwise=go(otherwise)))
        case Let(value=value, body=body):
            return change(replace(expr, value=go(value), body=go(body)))
        case Call(args=args, closures=closures):
            made = tuple(Lambda(tuple(map(parameter, c.parameters)), go(c.body)) for c in closures)
            return change(replace(expr, args=tuple(map(go, args)), closures=made))
        case Make(fields=fields):
            return change(replace(expr, fields=tuple(map(go, fields))))
        case Listing(items=items):
            return change(replace(expr, items=tuple(map(go, items))))
        case Block(steps):
            return change(replace(expr, steps=with_parts(steps, go, parameter)))
        case Over():
            raise AssertionError("functions have no aggregates over bodies")
        case _:
            assert_never(expr)
