"""The standard functions on collections and results: the plain form of each, on Python values.

Collections are canonical: a vec is a tuple, a set a frozenset, a map a `FrozenMap` in the order of its keys.
The fast forms are in `vector_collections`. Functions with closures are in `closures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tidelog.data import types
from tidelog.data.order import in_order
from tidelog.data.structs import FrozenMap
from tidelog.data.types import Type
from tidelog.data.values import Value, order_key
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.aggregates import exact_sum
from tidelog.engine.local.expressions.operations import Operation, Plain, Undefined
from tidelog.engine.local.expressions.vector_collections import fast_form
from tidelog.errors import shown
from tidelog.program.library.catalog import MAX_ITEMS, MAX_TEXT

__all__ = ["COLLECTION_FUNCTIONS", "on_collections"]

_Kind: TypeAlias = type[Type]


def on_collections(name: str, arguments: tuple[Type, ...], result: Type, codec: Codec) -> Operation | None:
    """A standard function on collections or results; None if the function is another one."""
    key = name, type(arguments[0])
    if key not in _PLAIN and key not in _BY_TYPE:
        return None
    plain = _PLAIN[key] if key in _PLAIN else _BY_TYPE[key](arguments[0])
    return Operation(arguments, result, plain, fast_form(name, arguments, result, codec))


def expect_items(count: int, *given: Any) -> None:
    """Raise Undefined if a computed collection has more items than `MAX_ITEMS` and every given one."""
    if count > MAX_ITEMS and count > max(map(len, given), default=0):
        raise Undefined(f"the collection exceeds {MAX_ITEMS} items")


def _not_negative(what: str, number: int) -> None:
    if number < 0:
        raise Undefined(f"{what} {number} is negative")


# -- vecs


def _get(v: Any, index: int) -> Value:
    found: Value = v[index] if 0 <= index < len(v) else None
    return found


def _push(v: Any, x: Value) -> Any:
    expect_items(len(v) + 1, v)
    return (*v, x)


def _append(v: Any, w: Any) -> Any:
    expect_items(len(v) + len(w), v, w)
    return v + w


def _slice(v: Any, start: int, count: int) -> Any:
    _not_negative("start", start)
    _not_negative("count", count)
    return v[start : start + count]


def _range(start: int, end: int) -> Any:
    expect_items(max(0, end - start))
    return tuple(range(start, end))


def _sort(type_: Type) -> Plain:
    assert isinstance(type_, types.Vec)
    item = type_.item
    return lambda v: tuple(sorted(v, key=lambda x: order_key(item, x)))


def _sum_of(type_: Type) -> Plain:
    assert isinstance(type_, types.Vec)
    item = type_.item
    return lambda v: exact_sum(item, v)


def _extreme(choose: Callable[..., Any]) -> Callable[[Type], Plain]:
    def on(type_: Type) -> Plain:
        assert isinstance(type_, types.Vec)
        item = type_.item
        return lambda v: choose(v, key=lambda x: order_key(item, x), default=None)

    return on


# -- sets and maps


def _insert_element(s: Any, x: Value) -> Any:
    made = s | {x}
    expect_items(len(made), s)
    return made


def _union(s: Any, t: Any) -> Any:
    made = s | t
    expect_items(len(made), s, t)
    return made


def _to_vec(type_: Type) -> Plain:
    assert isinstance(type_, types.Set)
    item = type_.item
    return lambda s: tuple(in_order(item, s))


def _insert_key(m: Any, key: Value, value: Value) -> Any:
    made = {**m, key: value}
    expect_items(len(made), m)
    return FrozenMap(made)


def _to_map(v: Any) -> Any:
    made: dict[Any, Any] = {}
    for key, value in v:
        if key in made and made[key] is not value and made[key] != value:
            raise Undefined(f"the key {shown(key)} has two different values")
        made[key] = value
    return FrozenMap(made)


# -- strings


def _split(s: str, separator: str) -> Any:
    if not separator:
        raise Undefined("the separator is empty")
    return tuple(s.split(separator))


def _join(parts: Any, separator: str) -> str:
    length = sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1)
    if length > MAX_TEXT and length > max(map(len, parts), default=0):
        raise Undefined(f"the string exceeds {MAX_TEXT} code points")
    return separator.join(parts)


# -- results


def _unwrap(r: Any) -> Any:
    if r._tag != "Ok":
        raise Undefined(f"unwrap of Err: {shown(r._values[0])}")
    return r._values[0]


_PLAIN: Final[Mapping[tuple[str, _Kind], Plain]] = {
    ("len", types.Vec): len,
    ("get", types.Vec): _get,
    ("first", types.Vec): lambda v: _get(v, 0),
    ("last", types.Vec): lambda v: _get(v, len(v) - 1),
    ("contains", types.Vec): lambda v, x: x in v,
    ("push", types.Vec): _push,
    ("append", types.Vec): _append,
    ("slice", types.Vec): _slice,
    ("reverse", types.Vec): lambda v: v[::-1],
    ("range", types.Int): _range,
    ("zip", types.Vec): lambda v, w: tuple(zip(v, w, strict=False)),
    ("enumerate", types.Vec): lambda v: tuple(enumerate(v)),
    ("to_set", types.Vec): frozenset,
    ("to_map", types.Vec): _to_map,
    ("join", types.Vec): _join,
    ("len", types.Set): len,
    ("contains", types.Set): lambda s, x: x in s,
    ("insert", types.Set): _insert_element,
    ("remove", types.Set): lambda s, x: s - {x},
    ("union", types.Set): _union,
    ("intersect", types.Set): lambda s, t: s & t,
    ("difference", types.Set): lambda s, t: s - t,
    ("is_subset", types.Set): lambda s, t: s <= t,
    ("len", types.Map): len,
    ("get", types.Map): lambda m, key: m.get(key),
    ("contains_key", types.Map): lambda m, key: key in m,
    ("insert", types.Map): _insert_key,
    ("remove", types.Map): lambda m, key: FrozenMap(
        {k: v for k, v in m.items() if k != key and k is not key}
    ),
    ("keys", types.Map): tuple,
    ("values", types.Map): lambda m: tuple(m.values()),
    ("entries", types.Map): lambda m: tuple(m.items()),
    ("split", types.String): _split,
    ("to_chars", types.String): tuple,
    ("is_ok", types.Named): lambda r: r._tag == "Ok",
    ("is_err", types.Named): lambda r: r._tag == "Err",
    ("ok", types.Named): lambda r: r._values[0] if r._tag == "Ok" else None,
    ("unwrap", types.Named): _unwrap,
}

_BY_TYPE: Final[Mapping[tuple[str, _Kind], Callable[[Type], Plain]]] = {
    ("sort", types.Vec): _sort,
    ("sum_of", types.Vec): _sum_of,
    ("min_of", types.Vec): _extreme(min),
    ("max_of", types.Vec): _extreme(max),
    ("to_vec", types.Set): _to_vec,
}

COLLECTION_FUNCTIONS: Final = frozenset(_PLAIN) | frozenset(_BY_TYPE)
