"""Operators: which types they support, and which expressions take their type from the context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.typed import Binary, Expr, If, Let, Var
from tidelog.syntax import tree
from tidelog.syntax.chains import SHORT

__all__ = [
    "EQUALITY",
    "NUMERIC",
    "ORDER",
    "SHIFTS",
    "WRAPPING",
    "balanced",
    "choice_of",
    "flexible_lefts",
    "is_flexible",
    "is_signed",
    "time_result",
    "with_names",
    "works",
]

_ARITHMETIC = frozenset("+ - * / %".split())
_BITWISE = frozenset("& | ^".split())
SHIFTS = frozenset(["<<", ">>"])
WRAPPING = frozenset("+% -% *%".split())
NUMERIC = _ARITHMETIC | WRAPPING | _BITWISE | SHIFTS
EQUALITY = frozenset(["==", "!="])
ORDER = frozenset("< <= > >=".split())


def is_flexible(expr: tree.Expr) -> bool:
    """Whether an expression takes its type from the context."""
    while isinstance(expr, tree.Binary) and expr.op in NUMERIC:
        if expr.op not in SHIFTS and not is_flexible(expr.right):
            return False
        expr = expr.left
    while isinstance(expr, tree.Conditional):
        if not is_flexible(expr.then):
            return False
        expr = expr.otherwise
    match expr:
        case tree.IntLiteral() | tree.FractionLiteral() | tree.NoneLiteral():
            return True
        case tree.Unary("-" | "~", operand):
            return is_flexible(operand)
        case tree.Binary() if expr.op in NUMERIC:  # the last branch of a conditional
            return is_flexible(expr)
        case tree.BoolLiteral() | tree.StringLiteral() | tree.BytesLiteral() | tree.Interpolation():
            return False
        case tree.Variable() | tree.Wildcard() | tree.Unary() | tree.Binary() | tree.Block() | tree.Steps():
            return False
        case tree.Call() | tree.Cast() | tree.Aggregate() | tree.SubAggregate():
            return False
        case tree.FieldAccess() | tree.Slice() | tree.At() | tree.Closure():
            return False
        case tree.DurationLiteral() | tree.WidthLiteral():
            return False
        case tree.TupleValue(items) | tree.VecLiteral(items):
            return all(map(is_flexible, items))
        case tree.MapLiteral(entries):
            return all(is_flexible(k) and is_flexible(v) for k, v in entries)
        case tree.Construct(args=args):
            return all(is_flexible(a.value) for a in args)
        case tree.Match(cases=cases):
            return all(is_flexible(case.value) for case in cases)
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
    return (types.is_number(type_) and not isinstance(type_, types.Bit)) or type_ == types.DURATION


def works(op: str, type_: Type) -> bool:
    """Whether an operator supports two values of a type."""
    if op in EQUALITY:
        return True
    if op in ORDER:
        return not isinstance(type_, types.Option)
    if op in WRAPPING:
        return isinstance(type_, types.Bit | types.Signed | types.Int)
    return types.is_integer(type_) if op in _BITWISE | SHIFTS else types.is_number(type_)


def time_result(op: str, left: Type, right: Type) -> Type | None:
    """The type of an operation with timestamps and durations; None if there is no such operation."""
    match op, left, right:
        case "-", types.Timestamp(), types.Timestamp():
            return types.DURATION
        case ("+" | "-", types.Timestamp(), types.Duration()) | ("+", types.Duration(), types.Timestamp()):
            return types.TIMESTAMP
        case "+" | "-", types.Duration(), types.Duration():
            return types.DURATION
        case ("*" | "/", types.Duration(), types.Int()) | ("*", types.Int(), types.Duration()):
            return types.DURATION
        case _:
            return None


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


def choice_of(conditions: Sequence[Expr], values: Sequence[Expr]) -> Expr:
    """The value of the first condition that holds, or else the last value."""
    if len(conditions) <= SHORT:
        result = values[-1]
        for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
            result = If(condition, value, result, value.type)
        return result
    middle = (len(conditions) + 1) // 2
    early = choice_of(conditions[: middle - 1], values[:middle])
    late = choice_of(conditions[middle:], values[middle:])
    return If(balanced("or", list(conditions[:middle]), SHORT), early, late, early.type)


def with_names(values: list[Expr], names: list[Var]) -> Expr:
    """The last value, in which the names stand for the values before it."""
    result = values[-1]
    for name, value in reversed(list(zip(names, values, strict=False))):
        result = Let(name.name, value, result, result.type)
    return result
