"""The standard functions on vecs, sets, maps and results in plain Python, by name and number of arguments.

Each gets the types of its arguments first, then the arguments; closures come last, as Python functions. A vec
is a tuple, a set a frozenset and a map a mapping. Inside a collection `none` equals itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from tidelog.data import types
from tidelog.data.structs import FrozenMap
from tidelog.data.types import Type
from tidelog.data.values import Value, order_key, to_text
from tidelog.program.library.catalog import MAX_ITEMS, MAX_TEXT
from tidelog.reference.convert import Undefined, exact_sum
from tidelog.reference.structures import field_of, has_constructor, items_of

__all__ = ["COLLECTIONS"]

Types: TypeAlias = tuple[Type, ...]
Vec: TypeAlias = tuple[Value, ...]
Set: TypeAlias = frozenset[Value]
Map: TypeAlias = FrozenMap
Function: TypeAlias = Callable[..., Value]


def _limited(count: int, *given: int) -> None:
    """Raise Undefined if a collection has more items than the limit and every argument."""
    if count > max(MAX_ITEMS, *given):
        raise Undefined(f"the collection exceeds {MAX_ITEMS} items")


def _item(type_: Type) -> Type:
    assert isinstance(type_, types.Vec | types.Set)
    return type_.item


# -- vecs


def _get(given: Types, whole: Value, key: Value) -> Value:
    if isinstance(given[0], types.Map):
        assert isinstance(whole, FrozenMap)
        found: Value = whole.get(key)
        return found
    assert isinstance(whole, tuple)
    assert isinstance(key, int)
    item: Value = whole[key] if 0 <= key < len(whole) else None
    return item


def _push(_: Types, v: Vec, x: Value) -> Vec:
    _limited(len(v) + 1, len(v))
    return (*v, x)


def _append(_: Types, v: Vec, w: Vec) -> Vec:
    _limited(len(v) + len(w), len(v), len(w))
    return v + w


def _slice(_: Types, v: Vec, start: int, count: int) -> Vec:
    if start < 0 or count < 0:
        raise Undefined(f"the {'start' if start < 0 else 'count'} {min(start, count)} is negative")
    return v[start : start + count]


def _range(_: Types, start: int, end: int) -> Vec:
    _limited(end - start, 0)
    return tuple(range(start, end))


def _sort(given: Types, v: Vec) -> Vec:
    return tuple(sorted(v, key=lambda x: order_key(_item(given[0]), x)))


def _min_of(given: Types, v: Vec) -> Value:
    return _sort(given, v)[0] if v else None


def _max_of(given: Types, v: Vec) -> Value:
    return _sort(given, v)[-1] if v else None


def _fold(_: Types, v: Vec, start: Value, f: Function) -> Value:
    for x in v:
        start = f(start, x)
    return start


# -- sets


def _insert(given: Types, whole: Set | Map, key: Value, *value: Value) -> Value:
    if isinstance(given[0], types.Map):
        assert isinstance(whole, FrozenMap)
        _limited(len(whole) + (key not in whole), len(whole))
        return FrozenMap({**whole, key: value[0]})
    assert isinstance(whole, frozenset)
    _limited(len(whole | {key}), len(whole))
    return whole | {key}


def _remove(given: Types, whole: Set | Map, key: Value) -> Value:
    if isinstance(given[0], types.Map):
        assert isinstance(whole, FrozenMap)
        left = dict(whole)
        left.pop(key, None)
        return FrozenMap(left)
    assert isinstance(whole, frozenset)
    return whole - {key}


def _union(_: Types, s: Set, t: Set) -> Set:
    _limited(len(s | t), len(s), len(t))
    return s | t


# -- maps


def _keys(given: Types, m: Map) -> Vec:
    return tuple(pair[0] for pair in _pairs(given, m))


def _values(given: Types, m: Map) -> Vec:
    return tuple(pair[1] for pair in _pairs(given, m))


def _pairs(given: Types, m: Map) -> list[Vec]:
    return [pair for pair in items_of(given[0], m) if isinstance(pair, tuple)]


def _to_map(given: Types, v: tuple[Vec, ...]) -> Map:
    pair = _item(given[0])
    assert isinstance(pair, types.Tuple)
    made: dict[Value, Value] = {}
    for key, value in v:
        if (made.get(key, value),) != (value,):  # in a tuple NaN equals itself
            raise Undefined(f"to_map: the key {to_text(pair.items[0], key)} has several values")
        made[key] = value
    return FrozenMap(made)


# -- strings


def _split(_: Types, s: str, separator: str) -> Vec:
    if not separator:
        raise Undefined("the separator is empty")
    return tuple(s.split(separator))


def _join(_: Types, parts: tuple[str, ...], separator: str) -> str:
    if sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1) > MAX_TEXT:
        raise Undefined(f"the string exceeds {MAX_TEXT} code points")
    return separator.join(parts)


# -- results


def _ok(_: Types, r: Value) -> Value:
    return field_of(r, "Ok", 0) if has_constructor(r, "Ok") else None


def _unwrap(given: Types, x: Value) -> Value:
    if isinstance(given[0], types.Named):
        return field_of(x, "Ok", 0)
    if x is None:
        raise Undefined("unwrap of none")
    return x


COLLECTIONS: Final[Mapping[tuple[str, int], Callable[..., object]]] = {
    ("len", 1): lambda _, c: len(c),
    ("get", 2): _get,
    ("first", 1): lambda _, v: v[0] if v else None,
    ("last", 1): lambda _, v: v[-1] if v else None,
    ("contains", 2): lambda _, c, x: x in c,
    ("push", 2): _push,
    ("append", 2): _append,
    ("slice", 3): _slice,
    ("reverse", 1): lambda _, v: v[::-1],
    ("sort", 1): _sort,
    ("range", 2): _range,
    ("zip", 2): lambda _, v, w: tuple(zip(v, w, strict=False)),
    ("enumerate", 1): lambda _, v: tuple(enumerate(v)),
    ("sum_of", 1): lambda given, v: exact_sum(_item(given[0]), v),
    ("min_of", 1): _min_of,
    ("max_of", 1): _max_of,
    ("map", 2): lambda _, v, f: tuple(f(x) for x in v),
    ("filter", 2): lambda _, v, f: tuple(x for x in v if f(x)),
    ("fold", 3): _fold,
    ("any", 2): lambda _, v, f: any(f(x) for x in v),
    ("all", 2): lambda _, v, f: all(f(x) for x in v),
    ("insert", 2): _insert,
    ("insert", 3): _insert,
    ("remove", 2): _remove,
    ("union", 2): _union,
    ("intersect", 2): lambda _, s, t: s & t,
    ("difference", 2): lambda _, s, t: s - t,
    ("is_subset", 2): lambda _, s, t: s <= t,
    ("to_vec", 1): lambda given, s: tuple(items_of(given[0], s)),
    ("to_set", 1): lambda _, v: frozenset(v),
    ("contains_key", 2): lambda _, m, key: key in m,
    ("keys", 1): _keys,
    ("values", 1): _values,
    ("entries", 1): lambda given, m: tuple(_pairs(given, m)),
    ("to_map", 1): _to_map,
    ("split", 2): _split,
    ("join", 2): _join,
    ("to_chars", 1): lambda _, s: tuple(s),
    ("is_ok", 1): lambda _, r: has_constructor(r, "Ok"),
    ("is_err", 1): lambda _, r: has_constructor(r, "Err"),
    ("ok", 1): _ok,
    ("unwrap", 1): _unwrap,
}
