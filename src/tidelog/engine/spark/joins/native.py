"""Translates expressions that Spark computes as Tidelog does: they cannot fail and mean the same in both.

These are variables, constants, comparisons of values that are never missing, and the connectives. Spark
orders values as Tidelog does, except wide numbers, which are text there, and structured values: those are
only compared for equality, in which a missing part equals a missing part. Everything else (functions,
conversions, and arithmetic, whose failures would stop Spark's job) is left to the local evaluator.

Expressions are written as SQL, because one text reaches Java faster than the objects of its parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final, assert_never

from tidelog.data.layouts import Cell, Json, Record, Series, Word, layout
from tidelog.data.order import in_order
from tidelog.data.types import (
    Map,
    Named,
    Option,
    Set,
    Structured,
    Tuple,
    Type,
    Vec,
    is_structured,
    present,
)
from tidelog.data.values import to_text
from tidelog.engine.spark.frames.layout import spark_type
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
    Let,
    Listing,
    Make,
    Over,
    Unary,
    Var,
)
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
        case Unary() | If() | Let() | Call() | Cast() | Make() | Get() | Is() | Listing() | Block() | Over():
            return None
        case _:
            assert_never(expr)


def _sign(op: str, left: Expr) -> str | None:
    if op in _CONNECTIVES:
        return op
    if isinstance(left.type, Option):
        return None
    ordered = not is_wide(left.type) and not is_structured(left.type)
    return op if op in _COMPARISONS and ordered else _EQUALITIES.get(op)


def literal(constant: Constant) -> str:
    """The SQL of a constant, with the type that Spark's columns have for it."""
    return _literal(constant.type, constant.value)


def _literal(type_: Type, value: Any) -> str:
    named = spark_type(type_)
    if value is None:
        return f"cast(null as {named})"
    item = present(type_)
    if isinstance(item, Tuple | Vec | Set | Map | Named):
        return f"cast({_structured(item, value)} as {named})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, timedelta):
        return _interval(value)
    text = value.isoformat() if isinstance(value, date) else to_text(item, value)  # timestamps are dates, too
    return f"cast({_string(text)} as {named})"


def _string(text: str) -> str:
    return f"cast(X'{text.encode().hex()}' as string)"  # hexadecimal needs no escapes


def _interval(value: timedelta) -> str:
    length = abs(value)
    minutes, seconds = divmod(length.seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{length.microseconds:06}"
    return f"interval '{'-' if value < timedelta(0) else ''}{length.days} {clock}' day to second"


def _structured(item: Structured, value: Any) -> str:
    found = layout(item)
    match found:
        case Json():
            return f"X'{to_text(item, value).encode().hex()}'"
        case Word():
            return _string(value._tag)
        case Series():
            return f"array({', '.join(_listed(item, value))})"
        case Record():
            return _record(item, value)
        case Cell():
            raise AssertionError(f"{item} is structured")
        case _:
            assert_never(found)


def _listed(item: Structured, value: Any) -> list[str]:
    match item:
        case Vec(inner):
            return [_literal(inner, v) for v in value]
        case Set(inner):
            return [_literal(inner, v) for v in in_order(inner, value)]
        case Map(key, inner):
            return [f"struct({_literal(key, k)}, {_literal(inner, v)})" for k, v in value.items()]
        case Tuple() | Named():
            raise AssertionError(f"{item} is not laid out as a series")
        case _:
            assert_never(item)


def _record(item: Structured, value: Any) -> str:
    """A struct; the cast around it gives its parts their names."""
    if isinstance(item, Tuple):
        return f"struct({', '.join(map(_literal, item.items, value))})"
    assert isinstance(item, Named)
    types = [f.type for f in item.constructor(value._tag).fields]
    own = f"struct({', '.join(map(_literal, types, value._values))})"
    if len(item.constructors) == 1:
        return own
    records = [own if c.name == value._tag else "null" for c in item.constructors if c.fields]
    return f"struct({', '.join([_string(value._tag), *records])})"
