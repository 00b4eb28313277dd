"""Translates expressions that Spark computes as Tidelog does: they cannot fail and mean the same in both.

These are variables, constants, comparisons of values that are never missing, and the connectives. Spark
orders values as Tidelog does, except wide numbers, which are text there. Everything else (functions,
conversions, and arithmetic, whose failures would stop Spark's job) is left to the local evaluator.

Expressions are written as SQL, because one text reaches Java faster than the objects of its parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final, assert_never

from tidelog.data.types import Option
from tidelog.data.values import to_text
from tidelog.engine.spark.frames.layout import spark_type
from tidelog.program.typed import Binary, Call, Cast, Constant, Expr, If, Let, Unary, Var
from tidelog.tables.arrow import is_wide

__all__ = ["literal", "translate"]

_CONNECTIVES: Final = ("and", "or")
_EQUALITIES: Final = {"==": "=", "!=": "<>"}
_COMPARISONS: Final = ("<", "<=", ">", ">=")


def translate(expr: Expr, names: Mapping[str, str]) -> str | None:
    """The SQL of an expression; `names` are the columns of its variables. None if Spark cannot compute it."""
    match expr:
        case Var(name):
            return names.get(name)
        case Constant():
            return literal(expr)
        case Unary("not", operand, _):
            inner = translate(operand, names)
            return None if inner is None else f"(not {inner})"
        case Binary(op, left, right, _):
            a, b, sign = translate(left, names), translate(right, names), _sign(op, left)
            return None if a is None or b is None or sign is None else f"({a} {sign} {b})"
        case Unary() | If() | Let() | Call() | Cast():
            return None
        case _:
            assert_never(expr)


def _sign(op: str, left: Expr) -> str | None:
    if op in _CONNECTIVES:
        return op
    if isinstance(left.type, Option):
        return None
    return op if op in _COMPARISONS and not is_wide(left.type) else _EQUALITIES.get(op)


def literal(constant: Constant) -> str:
    """The SQL of a constant, with the type that Spark's columns have for it."""
    type_, value = spark_type(constant.type), constant.value
    if value is None:
        return f"cast(null as {type_})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if is_wide(constant.type):
        text = to_text(constant.type, value)
    elif isinstance(value, date):  # including timestamps
        text = value.isoformat()
    else:
        text = str(value)
    return f"cast(cast(X'{text.encode().hex()}' as string) as {type_})"  # hexadecimal needs no escapes
