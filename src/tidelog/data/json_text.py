"""Structured values as JSON: one compact text per value, and all texts that mean it.

| type | written |
|---|---|
| struct | `{"src":1,"dst":2}` |
| union | `{"IPv4":{"src":1,"dst":2}}`; a constructor without fields `"Other"` |
| tuple, vec, set | a list; sets are sorted |
| map | an object if the keys are strings, otherwise a list of `[key,value]`; sorted by key |
| numbers, bool, string, `none` | as in JSON; `"NaN"`, `"Infinity"`, `"-Infinity"` |
| decimal, bytes, date, timestamp, duration | a string with the text of the value |

Neither direction uses recursion where values nest through structs, tuples and vecs.
"""

from __future__ import annotations

import json
from typing import Any, Final, assert_never

from tidelog.data import types
from tidelog.data.conversion import convert
from tidelog.data.json_parser import Fraction, parse
from tidelog.data.order import in_order
from tidelog.data.scalars import BadValue, ScalarValue, canonical_scalar, read_scalar, scalar_text
from tidelog.data.structs import Struct
from tidelog.data.types import Scalar, Structured, Type
from tidelog.errors import shown

__all__ = ["from_json", "from_json_text", "quoted", "to_json_text"]

_WORDS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


# -- writing


def to_json_text(type_: Type, value: Any) -> str:
    """The unique text of a canonical value."""
    written: list[str] = []
    waiting: list[Any] = [(type_, value)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            written.append(part)
            continue
        inner, held = part
        item = types.present(inner)
        if held is None:
            written.append("null")
        elif isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
            waiting += reversed(_parts(item, held))
        else:
            written.append(_scalar_json(item, held))
    return "".join(written)


def _scalar_json(type_: Scalar, value: Any) -> str:
    text = scalar_text(type_, value)
    match type_:
        case types.Bool() | types.Int() | types.BigInt() | types.Bit() | types.Signed():
            return text
        case types.Float() | types.Double():
            return f'"{text}"' if text in _WORDS else text
        case types.String() | types.Decimal() | types.Bytes():
            return quoted(text)
        case types.Date() | types.Timestamp() | types.Duration():
            return quoted(text)
        case _:
            assert_never(type_)


def _parts(type_: Structured, value: Any) -> list[Any]:
    """The text of a value, as pieces of text and the values inside with their types."""
    match type_:
        case types.Tuple(items):
            return _list([[(t, v)] for t, v in zip(items, value, strict=True)])
        case types.Vec(item):
            return _list([[(item, v)] for v in value])
        case types.Set(item):
            return _list([[(item, v)] for v in in_order(item, value)])
        case types.Map(types.String(), item):
            return _list([[quoted(k), ":", (item, value[k])] for k in in_order(types.STRING, value)], "{}")
        case types.Map(key, item):
            return _list([["[", (key, k), ",", (item, value[k]), "]"] for k in in_order(key, value)])
        case types.Named():
            return _named(type_, value)
        case _:
            assert_never(type_)


def _list(items: list[list[Any]], brackets: str = "[]") -> list[Any]:
    parts: list[Any] = [brackets[0]]
    for i, item in enumerate(items):
        parts += [",", *item] if i else item
    return [*parts, brackets[1]]


def _named(type_: types.Named, value: Struct) -> list[Any]:
    fields = type_.constructor(value._tag).fields
    is_union = len(type_.constructors) > 1
    if is_union and not fields:
        return [quoted(value._tag)]
    named = zip(fields, value._values, strict=True)
    written = _list([[quoted(f.name), ":", (f.type, v)] for f, v in named], "{}")
    return ["{", quoted(value._tag), ":", *written, "}"] if is_union else written


# -- reading


def from_json_text(type_: Type, text: str) -> Any:
    """The value that a text denotes. Raises BadValue."""
    item = types.present(type_)
    if isinstance(item, types.Named) and any(c.name == text and not c.fields for c in item.constructors):
        return convert(item, text, _scalar)  # also readable without quotes, in files that people write
    try:
        parsed = parse(text)
    except ValueError as error:
        raise BadValue(
            f"{shown(text)} is not JSON, which a value of {type_} is written in: {error}"
        ) from None
    return convert(type_, parsed, _scalar)


def from_json(type_: Type, parsed: object) -> Any:
    """The value that parsed JSON denotes. Raises BadValue. Fractions may be `Fraction`s or floats."""
    return convert(type_, parsed, _scalar)


def _scalar(type_: Scalar, value: object) -> ScalarValue:
    match type_:
        case types.Float() | types.Double():
            is_text = isinstance(value, Fraction) or value in _WORDS if isinstance(value, str) else False
        case types.Decimal():
            is_text = isinstance(value, str)
        case types.Bytes() | types.Date() | types.Timestamp() | types.Duration():
            is_text = isinstance(value, str) and not isinstance(value, Fraction)
        case types.Bool() | types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.String():
            is_text = False
            if isinstance(value, Fraction):
                raise BadValue(f"{value} is not of type {type_}")
        case _:
            assert_never(type_)
    return read_scalar(type_, str(value)) if is_text else canonical_scalar(type_, value)
