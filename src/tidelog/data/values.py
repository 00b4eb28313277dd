"""Values: their representation in Python, equality, order and text form.

Invariant: a *canonical* value is one that `canonical(type, value)` returns unchanged. Two canonical
values of one type are the same element of a set iff Python's `==` or `is` says so: NaN is one object,
-0.0 becomes 0.0, a `float` is rounded to single precision, a decimal has exactly its type's scale, and
a timestamp is in UTC. Rows of canonical values can therefore be stored in sets and dictionaries.

| type | canonical value | accepted as well |
|---|---|---|
| tuple, vec | `tuple` | other sequences |
| set | `frozenset` | `set`, sequences |
| map | `FrozenMap`, in the order of the keys | mappings, lists of pairs |
| struct, union | an instance of the constructor's class | dicts, dataclasses, named tuples, enums |

`joins` is stricter than set equality: `none` is the same element as `none` but joins nothing. Inside a
structured value, `none` is a value like any other. Comparisons, min and max, sorted indexes and ranges all
use one order (`order_key`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tidelog.data import types
from tidelog.data.conversion import convert, within_option
from tidelog.data.json_text import from_json_text, to_json_text
from tidelog.data.order import order_key
from tidelog.data.scalars import (
    EXACT,
    LEAST,
    NAN,
    BadValue,
    ScalarValue,
    canonical_scalar,
    read_scalar,
    scalar_text,
)
from tidelog.data.structs import FrozenMap, Struct
from tidelog.data.types import Type

__all__ = [
    "EXACT",
    "LEAST",
    "NAN",
    "BadValue",
    "Row",
    "Value",
    "canonical",
    "from_text",
    "joins",
    "order_key",
    "to_text",
]

Value: TypeAlias = ScalarValue | tuple[Any, ...] | frozenset[Any] | FrozenMap | Struct | None
Row: TypeAlias = tuple[Value, ...]


def canonical(type_: Type, value: object) -> Value:
    """The canonical form of a Python value of this type; raises BadValue if it is not of the type."""
    item = types.present(type_)
    if value is None:
        if isinstance(type_, types.Option):
            return None
        raise BadValue(
            f"a missing value is not of type {type_}; declare the column option<{type_}> to allow it"
        )
    if isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        converted: Value = convert(item, value, canonical_scalar)
        return converted
    checked: Value = within_option(type_, canonical_scalar(item, value))
    return checked


def joins(left: Value, right: Value) -> bool:
    """Whether two canonical values of one type match in a join or an equality: `none` matches nothing."""
    return left is not None and (left is right or left == right)


def to_text(type_: Type, value: Value) -> str:
    """The unique text of a canonical value; `from_text` reads it back."""
    if value is None:
        return "none"
    item = types.present(type_)
    if isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        return to_json_text(item, value)
    return scalar_text(item, value)


def from_text(type_: Type, text: str) -> Value:
    """The value that a text denotes; raises BadValue. An empty text is the empty string, never `none`."""
    if isinstance(type_, types.Option) and text == "none":
        return None
    item = types.present(type_)
    if isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        read: Value = from_json_text(item, text)
        return read
    return read_scalar(item, text)
