"""Python values as values of structured types.

A type says which Python values it accepts, and how one is taken apart: `_opened` gives the values inside it,
with the type of each, and the function that builds the canonical value from the canonical values inside.
`convert` does that at every level. It keeps its own stack, since values can be nested deeper than Python's
stack, and knows from it the path of a bad value: `IPv4.dst`, `hops[3]`, `ports["ssh"]`.

Who calls `convert` says how scalars are converted: Python values and JSON differ only in that. `plain` is
applied to each value first; it replaces what a library has in place of Python's own values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, TypeAlias, assert_never

from tidelog.data import types
from tidelog.data.order import order_key
from tidelog.data.scalars import LEAST, BadValue
from tidelog.data.structs import FrozenMap, Struct, struct_class
from tidelog.data.types import Constructor, Named, Scalar, Structured, Type
from tidelog.errors import shown

__all__ = ["convert", "within_option"]

ReadScalar: TypeAlias = Callable[[Scalar, object], Any]
Plain: TypeAlias = Callable[[object], object]


@dataclass(slots=True)
class _Opened:
    """A value being converted: what is inside, and how it is built. `step` gives the path of a part."""

    parts: Sequence[tuple[Type, object]]
    step: Callable[[int], str]
    build: Callable[[list[Any]], Any]
    done: list[Any] = field(default_factory=list)


def _as_it_is(value: object) -> object:
    return value


def convert(type_: Type, value: object, scalar: ReadScalar, plain: Plain = _as_it_is) -> Any:
    """The canonical value of a type. Raises BadValue with the path of the part that is not of its type."""
    open_: list[_Opened] = []
    try:
        result = _begin(type_, plain(value), scalar, open_)
        while open_:
            top = open_[-1]
            if len(top.done) < len(top.parts):
                depth = len(open_)
                inner, given = top.parts[len(top.done)]
                part = _begin(inner, plain(given), scalar, open_)
                if len(open_) > depth:
                    continue
            else:
                part = top.build(top.done)
                open_.pop()
            if not open_:
                return part
            open_[-1].done.append(part)
    except BadValue as bad:
        raise BadValue(bad.reason, _path(open_, bad.path)) from None
    return result


def _begin(type_: Type, value: object, scalar: ReadScalar, open_: list[_Opened]) -> Any:
    """The value if it is complete at once; otherwise it is opened."""
    item = types.present(type_)
    if value is None:
        if isinstance(type_, types.Option):
            return None
        raise BadValue(f"a missing value is not of type {type_}; declare it option<{type_}> to allow it")
    if isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        open_.append(_opened(item, value))
        return None
    return within_option(type_, scalar(item, value))


def within_option(type_: Type, value: Any) -> Any:
    """A value other than `none`; in an option, the smallest 64-bit number is the code of `none`."""
    if (
        isinstance(type_, types.Option)
        and value == LEAST
        and types.int_range(type_.item) == (LEAST, -LEAST - 1)
    ):
        raise BadValue(
            f"{value} cannot be stored in a column of {type_}: its code stands for none; use bigint"
        )
    return value


def _path(open_: Sequence[_Opened], last: str) -> str:
    steps = [o.step(len(o.done)) for o in open_ if len(o.done) < len(o.parts)]
    text = ""
    for step in [*steps, last]:
        text += step if step.startswith("[") or not text or not step else f".{step}"
    return text


# -- each type


def _opened(type_: Structured, value: object) -> _Opened:
    match type_:
        case types.Tuple(items):
            given = _items(type_, _by_place(items, value))
            if len(given) != len(items):
                raise BadValue(f"{shown(value)} has {len(given)} values; {type_} has {len(items)}")
            return _Opened(list(zip(items, given, strict=True)), str, tuple)
        case types.Vec(item):
            return _Opened([(item, v) for v in _items(type_, value)], _place, tuple)
        case types.Set(item):
            elements = list(value) if isinstance(value, set | frozenset) else _items(type_, value)
            return _Opened([(item, v) for v in elements], _place, frozenset)
        case types.Map():
            return _opened_map(type_, value)
        case types.Named():
            constructor, values = _constructed(type_, value)
            return _opened_named(type_, constructor, values)
        case _:
            assert_never(type_)


def _by_place(items: tuple[Type, ...], value: object) -> object:
    """The values of a tuple; columns hold it as a record with the fields `_1`, `_2`, …."""
    names = [f"_{i}" for i in range(1, len(items) + 1)]
    is_record = isinstance(value, Mapping) and set(value) == set(names)
    return [value[name] for name in names] if is_record else value  # type: ignore[index]


def _place(place: int) -> str:
    return f"[{place}]"


def _items(type_: Type, value: object) -> Sequence[object]:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return value
    raise BadValue(f"{shown(value)} is not of type {type_}")


def _opened_map(type_: types.Map, value: object) -> _Opened:
    pairs = (
        list(value.items()) if isinstance(value, Mapping) else [_pair(type_, p) for p in _items(type_, value)]
    )
    parts = [part for key, item in pairs for part in ((type_.key, key), (type_.value, item))]

    def step(place: int) -> str:
        key = shown(pairs[place // 2][0])
        return f"[{key}]" if place % 2 else f"key {key}"

    return _Opened(parts, step, lambda done: _map(type_, done))


def _pair(type_: Type, pair: object) -> tuple[object, object]:
    if isinstance(pair, Mapping) and set(pair) == {"key", "value"}:
        return pair["key"], pair["value"]
    if isinstance(pair, tuple | list) and len(pair) == 2:
        return pair[0], pair[1]
    raise BadValue(f"{shown(pair)} is not a key and a value of {type_}")


def _map(type_: types.Map, done: list[Any]) -> FrozenMap:
    entries: dict[Any, Any] = {}
    for key, value in zip(done[::2], done[1::2], strict=True):
        if key in entries and entries[key] != value:
            raise BadValue(
                f"the key {shown(key)} has two values in {type_}: {shown(entries[key])}, {shown(value)}"
            )
        entries[key] = value
    return FrozenMap({k: entries[k] for k in sorted(entries, key=lambda k: order_key(type_.key, k))})


def _opened_named(type_: Named, constructor: Constructor, values: Iterable[object]) -> _Opened:
    class_ = struct_class(type_, constructor.name)
    parts = list(zip((f.type for f in constructor.fields), values, strict=True))
    prefix = "" if len(type_.constructors) == 1 else f"{constructor.name}."
    return _Opened(
        parts, lambda i: prefix + constructor.fields[i].name, lambda done: class_._make(tuple(done))
    )


# -- structs and unions


def _constructed(type_: Named, value: object) -> tuple[Constructor, Sequence[object]]:
    """The constructor and the values of its fields, from any form in which users hold them."""
    if isinstance(value, Struct):
        return _by_name(type_, value._tag, value._asdict(), value)
    if isinstance(value, Enum):
        return _bare(type_, value.name, value)
    if isinstance(value, str):
        return _bare(type_, value, value)
    if isinstance(value, Mapping):
        return _from_mapping(type_, value)
    if is_dataclass(value) and not isinstance(value, type):
        named = {f.name: getattr(value, f.name) for f in fields(value)}
        return _by_name(type_, type(value).__name__, named, value)
    if isinstance(value, tuple | list):
        return _from_sequence(type_, value)
    raise BadValue(f"{shown(value)} is not of type {type_}")


def _by_name(
    type_: Named, tag: str, named: Mapping[str, object], value: object
) -> tuple[Constructor, Sequence[object]]:
    """A class of the user's or ours. Its name says the constructor; a struct has only one."""
    only = type_.constructors[0] if len(type_.constructors) == 1 else None
    constructor = _find(type_, tag) or (None if isinstance(value, Struct) else only)
    if constructor is None:
        raise BadValue(f"{shown(value)} is not of type {type_}{_choices(type_)}")
    return constructor, _arranged(type_, constructor, named)


def _find(type_: Named, tag: object) -> Constructor | None:
    return next((c for c in type_.constructors if c.name == tag), None)


def _choices(type_: Named) -> str:
    return f", which is {' or '.join(c.name for c in type_.constructors)}"


def _bare(type_: Named, tag: str, value: object) -> tuple[Constructor, Sequence[object]]:
    constructor = _find(type_, tag)
    if constructor is None or constructor.fields:
        raise BadValue(f"{shown(value)} is not of type {type_}{_choices(type_)}")
    return constructor, ()


def _from_sequence(type_: Named, value: Sequence[object]) -> tuple[Constructor, Sequence[object]]:
    names = getattr(type(value), "_fields", None)
    if isinstance(names, tuple):
        return _by_name(type_, type(value).__name__, dict(zip(names, value, strict=True)), value)
    if len(type_.constructors) > 1:
        raise BadValue(f"{shown(value)} does not say which constructor of {type_} it has{_choices(type_)}")
    constructor = type_.constructors[0]
    if len(value) != len(constructor.fields):
        listed = ", ".join(f.name for f in constructor.fields)
        raise BadValue(
            f"{shown(value)} has {len(value)} values; {type_} has {len(constructor.fields)}: {listed}"
        )
    return constructor, value


def _from_mapping(type_: Named, value: Mapping[Any, object]) -> tuple[Constructor, Sequence[object]]:
    if len(type_.constructors) == 1:
        return type_.constructors[0], _arranged(type_, type_.constructors[0], value)
    constructor = _find(type_, value.get("tag"))
    if constructor is not None and value.get(constructor.name) is None:
        rest = {k: v for k, v in value.items() if k != "tag" and not (v is None and _find(type_, k))}
        return constructor, _arranged(type_, constructor, rest)
    rest = {k: v for k, v in value.items() if constructor is None or k != "tag"}
    given = [k for k, v in rest.items() if v is not None] or list(rest)
    found = _find(type_, given[0]) if len(given) == 1 else None
    if found is None or (constructor is not None and found is not constructor):
        raise BadValue(f"{shown(dict(value))} is not of type {type_}{_choices(type_)}")
    return found, _inside(type_, found, rest[found.name])


def _inside(type_: Named, constructor: Constructor, value: object) -> Sequence[object]:
    """The fields of a constructor, given as `{"IPv4": value}`."""
    if isinstance(value, Struct) and value._tag == constructor.name:
        return _arranged(type_, constructor, value._asdict())
    if isinstance(value, Mapping):
        return _arranged(type_, constructor, value)
    if value is None and not constructor.fields:
        return ()
    if isinstance(value, tuple | list) and len(value) == len(constructor.fields):
        return value
    raise BadValue(f"{shown(value)} does not have the fields of {constructor.name}", constructor.name)


def _arranged(type_: Named, constructor: Constructor, named: Mapping[Any, object]) -> list[object]:
    """The values of the fields, in order. A field that is missing is `none` if it may be."""
    path = "" if len(type_.constructors) == 1 else constructor.name
    extra = [k for k in named if all(k != f.name for f in constructor.fields)]
    if extra:
        listed = ", ".join(f.name for f in constructor.fields) or "no fields"
        raise BadValue(f"extra field {', '.join(map(str, extra))}; {constructor.name} has {listed}", path)
    for f in constructor.fields:
        if f.name not in named and not isinstance(f.type, types.Option):
            reached = f"{path}.{f.name}" if path else f.name
            raise BadValue(f"missing field of type {f.type}", reached)
    return [named.get(f.name) for f in constructor.fields]
