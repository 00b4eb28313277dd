"""The variables that an expression or literal reads, in source order, with duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidelog.syntax import tree

__all__ = ["calls", "children", "expression_variables", "expressions", "literal_variables"]


def children(expr: tree.Expr) -> tuple[tree.Expr, ...]:
    """The expressions directly below this one."""
    match expr:
        case tree.Interpolation(parts):
            return tuple(p for p in parts if not isinstance(p, str))
        case tree.Unary(operand=operand) | tree.Cast(operand=operand):
            return (operand,)
        case tree.Binary(left=left, right=right):
            return (left, right)
        case tree.Conditional(condition, then, otherwise):
            return (condition, then, otherwise)
        case tree.Block(bindings, result):
            return (*(b.value for b in bindings), result)
        case tree.Call(args=args):
            return args
        case tree.Aggregate(value, keys, _, args):
            return (value, *keys, *args)
        case (
            tree.BoolLiteral()
            | tree.IntLiteral()
            | tree.FractionLiteral()
            | tree.StringLiteral()
            | tree.BytesLiteral()
            | tree.NoneLiteral()
            | tree.Variable()
            | tree.Wildcard()
        ):
            return ()
        case _:
            assert_never(expr)


def expression_variables(expr: tree.Expr) -> Iterator[tree.Variable]:
    """The free variables of an expression, without those that its blocks bind."""
    waiting = [expr]
    while waiting:
        match waiting.pop():
            case tree.Variable() as variable:
                yield variable
            case tree.Block(bindings, result):
                local: set[str] = set()
                for binding in bindings:
                    yield from (v for v in expression_variables(binding.value) if v.name not in local)
                    local.add(binding.name)
                yield from (v for v in expression_variables(result) if v.name not in local)
            case other:
                waiting += reversed(children(other))


def literal_variables(literal: tree.Literal) -> Iterator[tree.Variable]:
    """The variables a literal reads or matches, without the one that an assignment binds."""
    match literal:
        case tree.Atom(args=args):
            for argument in args:
                yield from expression_variables(argument.value)
        case tree.Negation(atom):
            yield from literal_variables(atom)
        case tree.Condition(value) | tree.Assignment(value=value):
            yield from expression_variables(value)
        case tree.Disjunction(alternatives):
            for alternative in alternatives:
                for inner in alternative:
                    yield from literal_variables(inner)
        case _:
            assert_never(literal)


def expressions(expr: tree.Expr) -> Iterator[tree.Expr]:
    """An expression and all its subexpressions."""
    waiting = [expr]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(children(found))


def calls(expr: tree.Expr) -> Iterator[tree.Call]:
    """The calls inside an expression."""
    return (found for found in expressions(expr) if isinstance(found, tree.Call))
