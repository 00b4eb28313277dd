"""Operators: which types they support, and which expressions take their type from the context."""

from __future__ import annotations

from typing import assert_never

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.typed import Binary, Expr, Let, Var
from tidelog.syntax import tree

__all__ = [
    "EQUALITY",
    "NUMERIC",
    "ORDER",
    "SHIFTS",
    "balanced",
    "flexible_lefts",
    "is_flexible",
    "is_signed",
    "with_names",
    "works",
]

_ARITHMETIC = frozenset("+ - * / %".split())
_BITWISE = frozenset("& | ^".split())
SHIFTS = frozenset(["<<", ">>"])
NUMERIC = _ARITHMETIC | _BITWISE | SHIFTS
EQUALITY = frozenset(["==", "!="])
ORDER = frozenset("< <= > >=".split())


def is_flexible(expr: tree.Expr) -> bool:
    """Whether an expression takes its type from the context."""
    while isinstance(expr, tree.Binary) and expr.op in NUMERIC:
        if expr.op not in SHIFTS and not is_flexible(expr.right):
            return False
        expr = expr.left
    match expr:
        case tree.IntLiteral() | tree.FractionLiteral() | tree.NoneLiteral():
            return True
        case tree.Unary("-" | "~", operand):
            return is_flexible(operand)
        case tree.Conditional(_, then, otherwise):
            return is_flexible(then) and is_flexible(otherwise)
        case tree.BoolLiteral() | tree.StringLiteral() | tree.BytesLiteral() | tree.Interpolation():
            return False
        case tree.Variable() | tree.Wildcard() | tree.Unary() | tree.Binary() | tree.Block():
            return False
        case tree.Call() | tree.Cast() | tree.Aggregate():
            return False
        case _:
            assert_never(expr)


def flexible_lefts(row: list[tree.Binary]) -> list[bool]:
    """For each operator of a chain, last first: whether its left side is flexible."""
    found: list[bool] = []
    flexible = is_flexible(row[-1].left)
    for operator in reversed(row):
        found.append(flexible)
        flexible = flexible and (operator.op in SHIFTS or is_flexible(operator.right))
    return found[::-1]


def is_signed(type_: Type) -> bool:
    return types.is_number(type_) and not isinstance(type_, types.Bit)


def works(op: str, type_: Type) -> bool:
    """Whether an operator supports two values of a type."""
    if op in EQUALITY:
        return True
    if op in ORDER:
        return not isinstance(type_, types.Option)
    return types.is_integer(type_) if op in _BITWISE | SHIFTS else types.is_number(type_)


# -- reducing the depth of long chains


def balanced(op: str, operands: list[Expr], short: int) -> Expr:
    """A chain of an associative operator as a balanced tree. Operands are evaluated from left to right."""
    if len(operands) <= short:
        joined = operands[0]
        for operand in operands[1:]:
            joined = Binary(op, joined, operand, joined.type)
        return joined
    middle = (len(operands) + 1) // 2
    left, right = (balanced(op, part, short) for part in (operands[:middle], operands[middle:]))
    return Binary(op, left, right, left.type)


def with_names(values: list[Expr], names: list[Var]) -> Expr:
    """The last value, in which the names stand for the values before it."""
    result = values[-1]
    for name, value in reversed(list(zip(names, values, strict=False))):
        result = Let(name.name, value, result, result.type)
    return result
