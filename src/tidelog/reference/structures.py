"""Structured values: how they are made, taken apart and listed."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.data import types
from tidelog.data.structs import FrozenMap, Struct, struct_class
from tidelog.data.types import Type
from tidelog.data.values import Value, order_key
from tidelog.errors import shown
from tidelog.reference.convert import Undefined

__all__ = ["field_of", "has_constructor", "items_of", "make"]


def make(type_: Type, constructor: str, fields: Sequence[Value]) -> object:
    """A tuple, or a value of a struct or union."""
    if not constructor:
        return tuple(fields)
    named = types.present(type_)
    assert isinstance(named, types.Named)
    return struct_class(named, constructor)(*fields)


def has_constructor(value: Value, constructor: str) -> bool:
    return isinstance(value, Struct) and value._tag == constructor


def field_of(value: Value, constructor: str, position: int) -> Value:
    """A field by position. Fails if the value has another constructor."""
    if not constructor:
        assert isinstance(value, tuple)
        item: Value = value[position]
        return item
    if not has_constructor(value, constructor):
        raise Undefined(f"{shown(value)} is not {constructor}")
    assert isinstance(value, Struct)
    field: Value = value._values[position]
    return field


def items_of(type_: Type, value: Value) -> list[Value]:
    """The items of a vec, the elements of a set in their order, the pairs of a map in the order of keys."""
    match types.present(type_):
        case types.Map(key):
            assert isinstance(value, FrozenMap)
            return [(k, value[k]) for k in sorted(value, key=lambda k: order_key(key, k))]
        case types.Set(item):
            assert isinstance(value, frozenset)
            return sorted(value, key=lambda v: order_key(item, v))
        case _:
            assert isinstance(value, tuple)
            return list(value)
