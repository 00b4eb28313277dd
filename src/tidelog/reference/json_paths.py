"""Standard functions that read JSON texts, in plain Python.

Numbers are kept as they are written. An object is a tuple of pairs, an array a list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from tidelog.data.structs import FrozenMap
from tidelog.reference.convert import Undefined

__all__ = ["JSON", "PROBLEM"]

PROBLEM: Final = "a problem with JSON"  # engines have words of their own for each


class _Number(str):
    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name occurs twice")
    return tuple(pairs)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _read(text: str) -> Any:
    try:
        return json.loads(
            text,
            parse_int=lambda digits: _Number("0" if digits == "-0" else digits),
            parse_float=_Number,
            parse_constant=_no_constant,
            object_pairs_hook=_object,
        )
    except ValueError:
        raise Undefined(PROBLEM) from None


def _written(value: Any) -> str:
    match value:
        case _Number():
            return str(value)
        case list():
            return f"[{','.join(map(_written, value))}]"
        case tuple():
            return f"{{{','.join(f'{json.dumps(n, ensure_ascii=False)}:{_written(v)}' for n, v in value)}}}"
        case _:
            return _proper(json.dumps(value, ensure_ascii=False))


def _proper(text: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise Undefined(PROBLEM)
    return text


# -- paths


def _follow(value: Any, path: str) -> list[Any]:
    """The value at a path, in a list that is empty if there is none."""
    found = [value]
    for step in _split(path):
        if isinstance(step, int):
            found = [v[step] for v in found if isinstance(v, list) and step < len(v)]
        else:
            found = [w for v in found if isinstance(v, tuple) for name, w in v if name == step]
    return found


def _split(path: str) -> list[str | int]:
    steps: list[str | int] = []
    rest = path
    if rest == "$" or rest[:2] in ("$.", "$["):
        rest = rest[1:]
    elif rest[:1] not in ("", "[", "."):
        rest = "." + rest
    elif rest[:1] == ".":
        raise Undefined(PROBLEM)
    while rest:
        step, rest = _named(rest[1:]) if rest[0] == "." else _bracketed(rest)
        steps.append(step)
    return steps


def _named(text: str) -> tuple[str, str]:
    end = next((i for i, char in enumerate(text) if char in '.[]"' or char.isspace()), len(text))
    if end == 0 or text[end : end + 1] not in ("", ".", "["):
        raise Undefined(PROBLEM)
    return text[:end], text[end:]


def _bracketed(text: str) -> tuple[str | int, str]:
    if text[:2] == '["':
        try:
            name, end = json.JSONDecoder().raw_decode(text, 1)
        except ValueError:
            raise Undefined(PROBLEM) from None
        closing = text[end : end + 1]
        step: str | int = name
    else:
        digits, closing, _ = text[1:].partition("]")
        if text[0] != "[" or not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
            raise Undefined(PROBLEM)
        step, end = int(digits), len(digits) + 1
    if closing != "]":
        raise Undefined(PROBLEM)
    return step, text[end + 1 :]


# -- functions


def _is_json(text: str) -> bool:
    try:
        _read(text)
    except Undefined:
        return False
    return True


def _kind(value: Any) -> str:
    names = {_Number: "number", str: "string", bool: "bool", list: "array", tuple: "object"}
    return names.get(type(value), "null")


def _typed(wanted: str, convert: Callable[[Any], Any], nothing: Any = None) -> Callable[[str, str], Any]:
    def get(text: str, path: str) -> Any:
        found = [v for v in _follow(_read(text), path) if v is not None]
        if found and _kind(found[0]) != wanted:
            raise Undefined(PROBLEM)
        return convert(found[0]) if found else nothing

    return get


def _whole(digits: _Number) -> int:
    number = Decimal(digits) if digits.lstrip("-").isdecimal() else None
    if number is None or not -(2**63) < number < 2**63:
        raise Undefined(PROBLEM)
    return int(number)


def _real(digits: _Number) -> float:
    number = float(digits) + 0.0
    if abs(number) == float("inf"):
        raise Undefined(PROBLEM)
    return number


JSON: Final[Mapping[tuple[str, int], Callable[..., Any]]] = {
    ("is_json", 1): _is_json,
    ("json_get", 2): lambda text, path: next(map(_written, _follow(_read(text), path)), None),
    ("json_type", 2): lambda text, path: next(map(_kind, _follow(_read(text), path)), None),
    ("json_string", 2): _typed("string", _proper),
    ("json_int", 2): _typed("number", _whole),
    ("json_double", 2): _typed("number", _real),
    ("json_bool", 2): _typed("bool", bool),
    ("json_items", 2): _typed("array", lambda items: tuple(map(_written, items)), ()),
    ("json_entries", 2): _typed(
        "object", lambda pairs: FrozenMap({_proper(n): _written(v) for n, v in pairs}), FrozenMap({})
    ),
}
