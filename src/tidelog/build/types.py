"""Types, given as Python types or as text."""

from __future__ import annotations

import types as python_types
import typing
from datetime import date, datetime

from tidelog.errors import SessionError, Source, shown
from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor, Unexpected
from tidelog.syntax.expressions import type_name as read_type
from tidelog.syntax.lexer import tokenize

__all__ = ["type_name"]

_PYTHON: dict[object, str] = {
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    date: "date",
    datetime: "timestamp",
}


def type_name(given: object) -> tree.TypeName:
    """The type that a Python type or a text stands for; `T | None` is an option."""
    if isinstance(given, str):
        return _read(given)
    if isinstance(given, type) and given in _PYTHON:
        return tree.TypeName(_PYTHON[given])
    arguments = typing.get_args(given)
    is_union = typing.get_origin(given) in (typing.Union, python_types.UnionType)
    if is_union and len(arguments) == 2 and type(None) in arguments:
        item = next(a for a in arguments if a is not type(None))
        return tree.TypeName("option", (type_name(item),))
    raise SessionError(
        f'{shown(given)} is not a type of the language; give a Python type, or text such as "decimal(10, 2)"'
    )


def _read(text: str) -> tree.TypeName:
    source = Source("<type>", text)
    tokens, _, problems = tokenize(source)
    cursor = Cursor(source, tokens, problems)
    try:
        found = read_type(cursor)
    except Unexpected as unexpected:
        raise SessionError(f"{shown(text)} is not a type: {unexpected.diagnostic.message}") from None
    if problems or cursor.token.kind != "end":
        raise SessionError(f"{shown(text)} is not a type")
    return found
