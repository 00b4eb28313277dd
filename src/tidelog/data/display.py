"""Values as people read them in tables and messages: `IPv4{src: 1, dst: 2}`, as the language writes them.

Long values are cut: nobody reads a list of a thousand items in a cell.
"""

from __future__ import annotations

from typing import Any, Final, assert_never

from tidelog.data import types
from tidelog.data.json_text import quoted
from tidelog.data.order import in_order
from tidelog.data.scalars import scalar_text
from tidelog.data.types import Structured, Type

__all__ = ["display"]

_ENOUGH: Final = 200  # characters after which the rest is left out


def display(type_: Type, value: Any) -> str:
    """The text of a canonical value. Scalars that stand alone are shown without quotes."""
    item = types.present(type_)
    if value is None:
        return "none"
    if not isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        return scalar_text(item, value)
    written: list[str] = []
    waiting: list[Any] = [(item, value)]
    size = 0
    while waiting and size <= _ENOUGH:
        part = waiting.pop()
        text = part if isinstance(part, str) else _opened(part[0], part[1], waiting)
        written.append(text)
        size += len(text)
    return "".join(written) + ("…" if waiting else "")


def _opened(type_: Type, value: Any, waiting: list[Any]) -> str:
    """The text of a value without parts; otherwise its parts are put on the stack."""
    item = types.present(type_)
    if value is None:
        return "none"
    if isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        waiting += reversed(_parts(item, value))
        return ""
    text = scalar_text(item, value)
    return quoted(text) if isinstance(item, types.String) else text


def _parts(type_: Structured, value: Any) -> list[Any]:
    match type_:
        case types.Tuple(items):
            return _joined("(", [[(t, v)] for t, v in zip(items, value, strict=True)], ")")
        case types.Vec(item):
            return _joined("[", [[(item, v)] for v in value[:_ENOUGH]], "]")
        case types.Set(item):
            return _joined("{", [[(item, v)] for v in in_order(item, value)], "}")
        case types.Map(key, item):
            return _joined("[", [[(key, k), " -> ", (item, v)] for k, v in value.items()], "]")
        case types.Named():
            fields = type_.constructor(value._tag).fields
            if not fields:
                return [value._tag]
            named = zip(fields, value._values, strict=True)
            return _joined(f"{value._tag}{{", [[f"{f.name}: ", (f.type, v)] for f, v in named], "}")
        case _:
            assert_never(type_)


def _joined(opening: str, items: list[list[Any]], closing: str) -> list[Any]:
    parts: list[Any] = [opening]
    for i, item in enumerate(items):
        parts += [", ", *item] if i else item
    return [*parts, closing]
