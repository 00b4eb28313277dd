"""The order of values: NaN after every number, false before true, strings by code point, `none` first.

Unions are ordered by constructor, in the order of their declaration, then by fields. Tuples, structs and vecs
are ordered lexicographically, sets and maps as sorted lists. The key of a structured value is flat, however
deep the value is: Python compares nested tuples by recursion.
"""

from __future__ import annotations

from typing import Any, assert_never

from tidelog.data import types
from tidelog.data.scalars import NAN
from tidelog.data.structs import Struct
from tidelog.data.types import Structured, Type

__all__ = ["in_order", "order_key"]

_END = 0  # after the last item of a list: a list comes before those that it begins
_MORE = 1  # before each item


class _Mark(int):
    """A number in a key that is not a value."""

    __slots__ = ()


_ENDED, _FOLLOWED = _Mark(_END), _Mark(_MORE)


def order_key(type_: Type, value: Any) -> Any:
    """A key with which Python sorts canonical values of this type."""
    if not types.is_structured(types.present(type_)):
        return _scalar_key(type_, value)
    key: list[Any] = []
    waiting: list[Any] = [(type_, value)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _Mark):
            key.append(part)
            continue
        inner, held = part
        item = types.present(inner)
        if held is None or not isinstance(
            item, types.Tuple | types.Vec | types.Set | types.Map | types.Named
        ):
            key.append(_scalar_key(inner, held))
            continue
        if inner is not item:
            key.append((1,))
        waiting += reversed(_parts(item, held))
    return tuple(key)


def _scalar_key(type_: Type, value: Any) -> Any:
    if isinstance(type_, types.Option):
        return (0,) if value is None else (1, _scalar_key(type_.item, value))
    if isinstance(value, float):
        return (1, 0.0) if value is NAN else (0, value)
    return value


def _parts(type_: Structured, value: Any) -> list[Any]:
    """What a key consists of: marks, and the values inside with their types."""
    match type_:
        case types.Tuple(items):
            return list(zip(items, value, strict=True))
        case types.Vec(item):
            return _listed([[(item, v)] for v in value])
        case types.Set(item):
            return _listed([[(item, v)] for v in in_order(item, value)])
        case types.Map(key, item):
            return _listed([[(key, k), (item, value[k])] for k in in_order(key, value)])
        case types.Named():
            assert isinstance(value, Struct)
            fields = type_.constructor(value._tag).fields
            place = [_Mark(i) for i, c in enumerate(type_.constructors) if c.name == value._tag]
            return [*place, *zip((f.type for f in fields), value._values, strict=True)]
        case _:
            assert_never(type_)


def _listed(items: list[list[Any]]) -> list[Any]:
    return [part for item in items for part in (_FOLLOWED, *item)] + [_ENDED]


def in_order(type_: Type, values: Any) -> list[Any]:
    """Distinct values, sorted."""
    return sorted(values, key=lambda v: order_key(type_, v))
