"""Standard functions that read JSON texts: the plain form of each.

A text is parsed at every call. Nothing here uses recursion, so texts may nest deeply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from tidelog.data import types
from tidelog.data.json_parser import Fraction, parse
from tidelog.data.json_text import quoted
from tidelog.data.structs import FrozenMap
from tidelog.data.values import BadValue, Value, canonical, to_text
from tidelog.engine.local.expressions.operations import Plain, Undefined
from tidelog.errors import shown

__all__ = ["JSON"]

_ABSENT: Final = object()
_STEP: Final = re.compile(r'\.([^.\[\]"\s]+)|\[([0-9]{1,18})\]|\[("(?:[^"\\]|\\.)*")\]')
_WORDS: Final = {None: "null", True: "true", False: "false"}


# -- paths


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    """The names and positions of a path."""
    text = path[1:] if path == "$" or path.startswith(("$.", "$[")) else path
    if text == path and text and not text.startswith(("[", ".")):
        text = f".{text}"
    found: list[str | int] = []
    place = 0
    while place < len(text):
        step = _STEP.match(text, place)
        if step is None:
            raise Undefined(f"{shown(path)} is not a path, as in `a.b[0]`")
        found.append(_step(step, path))
        place = step.end()
    if text == path and text.startswith("."):
        raise Undefined(f"{shown(path)} is not a path: it begins with a point")
    return tuple(found)


def _step(step: re.Match[str], path: str) -> str | int:
    name, position, text = step.groups()
    if name is not None:
        return str(name)
    if position is not None:
        return int(position)
    try:
        return str(json.loads(text))
    except ValueError:
        raise Undefined(f"{shown(path)} is not a path: {text} is not a string of JSON") from None


def _parsed(text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise Undefined(f"{shown(text)} is not JSON: {error}") from None


def _at(text: str, path: str) -> Any:
    """The value at a path, or `_ABSENT`."""
    steps = _steps(path)
    value = _parsed(text)
    for step in steps:
        if isinstance(step, str):
            value = value.get(step, _ABSENT) if isinstance(value, dict) else _ABSENT
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else _ABSENT
    return value


# -- values


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | Fraction():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _text(value: Any) -> str:
    """A value as compact JSON."""
    written: list[str] = []
    waiting: list[tuple[bool, Any]] = [(False, value)]
    while waiting:
        is_text, part = waiting.pop()
        if is_text:
            written.append(part)
        elif isinstance(part, list):
            waiting += reversed([(True, "["), *_separated([[(False, item)] for item in part]), (True, "]")])
        elif isinstance(part, dict):
            entries = [[(True, f"{quoted(name)}:"), (False, item)] for name, item in part.items()]
            waiting += reversed([(True, "{"), *_separated(entries), (True, "}")])
        else:
            written.append(_scalar(part))
    return _valid("".join(written))


def _separated(groups: list[list[tuple[bool, Any]]]) -> list[tuple[bool, Any]]:
    return [part for i, group in enumerate(groups) for part in ([(True, ","), *group] if i else group)]


def _scalar(value: Any) -> str:
    match value:
        case None | bool():
            return _WORDS[value]
        case int():
            return to_text(types.BIGINT, value)
        case Fraction():
            return str(value)
        case _:
            return quoted(value)


def _valid(text: str) -> str:
    """The text of a string, which JSON can also make of halves of code points."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Undefined("a string in the JSON text has a lone surrogate") from None
    return text


# -- functions


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _get(text: str, path: str) -> Value:
    value = _at(text, path)
    return None if value is _ABSENT else _text(value)


def _type(text: str, path: str) -> Value:
    value = _at(text, path)
    return None if value is _ABSENT else _kind(value)


def _getter(wanted: str, convert: Callable[[Any], Value], otherwise: Value = None) -> Plain:
    """The value at a path if it is of a kind; `otherwise` if there is none."""

    def apply(text: str, path: str) -> Value:
        value = _at(text, path)
        if value is _ABSENT or value is None:
            return otherwise
        if _kind(value) != wanted:
            raise Undefined(f"the value at {shown(path)} has the kind {_kind(value)}, not {wanted}")
        return convert(value)

    return apply


def _int(value: int | Fraction) -> Value:
    if isinstance(value, Fraction):
        raise Undefined(f"{shown(value)} is not an integer")
    return _fitting(types.INT, value)


def _double(value: int | Fraction) -> Value:
    try:
        found = float(value)
    except OverflowError:
        found = float("inf")
    if found in (float("inf"), float("-inf")):
        raise Undefined(f"{shown(value)} does not fit double")
    return _fitting(types.DOUBLE, found)


def _fitting(type_: types.Scalar, value: object) -> Value:
    try:
        return canonical(types.Option(type_), value)
    except BadValue as problem:
        raise Undefined(str(problem)) from None


def _entries(value: dict[str, Any]) -> Any:
    return FrozenMap({_valid(name): _text(value[name]) for name in sorted(value)})


JSON: Final[Mapping[tuple[str, int], Plain]] = {
    ("is_json", 1): _is_json,
    ("json_get", 2): _get,
    ("json_type", 2): _type,
    ("json_string", 2): _getter("string", _valid),
    ("json_int", 2): _getter("number", _int),
    ("json_double", 2): _getter("number", _double),
    ("json_bool", 2): _getter("bool", bool),
    ("json_items", 2): _getter("array", lambda items: tuple(map(_text, items)), ()),
    ("json_entries", 2): _getter("object", _entries, FrozenMap({})),
}
