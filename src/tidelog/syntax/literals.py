"""Python values as expressions: the literal, or the conversion of a literal, that denotes a value."""

from __future__ import annotations

import decimal
import math
import numbers
from collections.abc import Iterable, Mapping, Set
from datetime import date, datetime, timedelta
from typing import Any

from tidelog.data.structs import Struct
from tidelog.data.types import BYTES, DATE, DOUBLE, DURATION, TIMESTAMP, Type
from tidelog.data.values import BadValue, canonical, to_text
from tidelog.errors import NOWHERE, Span
from tidelog.syntax import tree

__all__ = ["literal"]


def literal(value: object, span: Span = NOWHERE) -> tree.Expr:
    """The expression that denotes a value. Raises BadValue if there is none."""
    match _plain(value):
        case None:
            return tree.NoneLiteral(span)
        case bool(truth):
            return tree.BoolLiteral(truth, span)
        case int(number):
            return tree.IntLiteral(number, span)
        case float(number) if math.isfinite(number):
            return tree.FractionLiteral(decimal.Decimal(repr(number)), span)
        case float(number):
            return _converted(DOUBLE, number, span)
        case decimal.Decimal() as number if number.is_finite():
            return tree.FractionLiteral(number, span)
        case str(text):
            return tree.StringLiteral(text, span)
        case bytes(content):
            return tree.BytesLiteral(content, span)
        case datetime() as moment:
            return _converted(TIMESTAMP, moment, span)
        case date() as day:
            return _converted(DATE, day, span)
        case timedelta() as length:
            return _converted(DURATION, length, span)
        case Struct() as struct:
            fields = tuple(tree.Argument(part, None, span) for part in _literals(struct._values, span))
            return tree.Construct(struct._tag, fields, span=span, name_span=span)
        case tuple() as items if len(items) > 1:
            return tree.TupleValue(_literals(items, span), span)
        case list() as items:
            return tree.VecLiteral(_literals(items, span), span)
        case Set() as elements:
            return _called("to_set", _literals(elements, span), span)
        case Mapping() as entries:
            pairs = (tree.TupleValue(_literals(pair, span), span) for pair in entries.items())
            return _called("to_map", tuple(pairs), span)
        case _:
            raise BadValue("it is not a value of a type of the language")


def _literals(values: Iterable[object], span: Span) -> tuple[tree.Expr, ...]:
    return tuple(literal(value, span) for value in values)


def _called(function: str, items: tuple[tree.Expr, ...], span: Span) -> tree.Expr:
    """A function of a vec of these items."""
    return tree.Call(function, (tree.VecLiteral(items, span),), span=span, name_span=span)


def _plain(value: Any) -> object:
    """A value of one of Python's own classes in place of one of NumPy's."""
    if isinstance(value, bool | int | float | decimal.Decimal):
        return value
    if isinstance(value, bytearray | memoryview):
        return canonical(BYTES, value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    has_item = hasattr(value, "dtype") and getattr(value, "shape", None) == ()
    return value.item() if has_item else value


def _converted(type_: Type, value: object, span: Span) -> tree.Expr:
    """A value of a type without literals, as a conversion of its text."""
    text = tree.StringLiteral(to_text(type_, canonical(type_, value)), span)
    return tree.Cast(text, tree.TypeName(str(type_), (), span), span)
