"""Random types with values of them: scalars, options, tuples, collections, and structs and unions that may be
generic or recursive. Every value is canonical. `raw_forms` gives other Python values that mean the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, make_dataclass
from typing import Any, cast

from hypothesis import strategies as st

from data.test_values import SCALARS
from data.test_values import values as scalar_values
from tidelog.data import types
from tidelog.data.order import in_order
from tidelog.data.structs import Struct
from tidelog.data.types import Constructor, Field, Named, Type, TypeTable
from tidelog.data.values import Value, canonical

PLAIN: tuple[types.Item, ...] = (types.BOOL, types.INT, types.Bit(16), types.STRING, types.DATE)
KEYS: tuple[types.Item, ...] = (*PLAIN, types.DOUBLE, types.DURATION, types.Decimal(10, 2))


def named(name: str, *constructors: Constructor, args: tuple[Type, ...] = ()) -> Named:
    """A type with these constructors, in a table of its own. Fields may refer to it by `defined`."""
    return defined(TypeTable(), name, constructors, args)


def defined(
    table: TypeTable,
    name: str,
    constructors: tuple[Constructor, ...],
    args: tuple[Type, ...] = (),
    more: str = "",
) -> Named:
    """`more` tells apart what the constructors do not show yet."""
    text = (
        f"{name} = {' | '.join(f'{c.name}{[(f.name, str(f.type)) for f in c.fields]}' for c in constructors)}"
    )
    text += more
    made = Named(name, args, hashlib.sha256(text.encode()).hexdigest()[:16], table)
    table.define(made, constructors)
    return made


def constructor(name: str, /, **fields: Type) -> Constructor:
    return Constructor(name, tuple(Field(n, t) for n, t in fields.items()))


def list_of(item: Type) -> Named:
    """`typedef List<A> = Nil | Cons{head: A, tail: List<A>}`, with A filled in."""
    table = TypeTable()
    made = Named("List", (item,), "list", table)
    table.define(made, (Constructor("Nil", ()), constructor("Cons", head=item, tail=made)))
    return made


def tree_of(item: Type) -> Named:
    """`typedef Tree<A> = Tree{value: A, children: vec<Tree<A>>}`, with A filled in."""
    table = TypeTable()
    made = Named("Tree", (item,), "tree", table)
    table.define(made, (constructor("Tree", value=item, children=types.Vec(made)),))
    return made


PAYLOAD = named(
    "Payload",
    constructor("IPv4", src=types.Bit(32), dst=types.Bit(32)),
    constructor("ARP", op=types.Bit(8)),
    Constructor("Other", ()),
)
POINT = named("Point", constructor("Point", x=types.INT, y=types.Option(types.INT)))
COLOR = named("Color", *(Constructor(name, ()) for name in ("Red", "Green", "Blue")))
NUMBERS = list_of(types.INT)
TREE = tree_of(types.STRING)


# -- types


@dataclass
class _Definitions:
    """Names that occur once, so that types with equal names are equal types."""

    table: TypeTable
    count: int = 0

    def next_name(self) -> str:
        self.count += 1
        return f"T{self.count}"


def _fields(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[tuple[Field, ...]]:
    def named_fields(chosen: list[Type]) -> tuple[Field, ...]:
        return tuple(Field(name, t) for name, t in zip("abcd", chosen, strict=False))

    return st.lists(inner, max_size=3).map(named_fields)


@st.composite
def _named(draw: st.DrawFn, inner: st.SearchStrategy[Type], definitions: _Definitions) -> Named:
    """A struct or union; one in three is recursive, and then its first constructor is not."""
    name, table = definitions.next_name(), definitions.table
    args = tuple(draw(st.lists(inner, max_size=1)))
    count = draw(st.integers(1, 3))
    constructors = [Constructor(f"{name}C{i}", draw(_fields(inner))) for i in range(count)]
    form = draw(st.sampled_from(("", "", "own", "vec", "option", "pair"))) if count > 1 else ""
    made = defined(table, name, tuple(constructors), args, form)
    if form:
        forms: dict[str, Any] = {"own": made, "vec": types.Vec(made), "option": types.Option(made)}
        again = forms.get(form, types.Tuple((made, made)))
        last = constructors[-1]
        constructors[-1] = Constructor(last.name, (*last.fields, Field("again", again)))
        table.define(made, tuple(constructors))
    return made


@st.composite
def structured_types(
    draw: st.DrawFn, scalars: tuple[types.Item, ...] = SCALARS, recursive: bool = True
) -> types.Item:
    """A type of any kind but an option."""
    definitions = _Definitions(TypeTable())
    leaves: st.SearchStrategy[Any] = st.sampled_from(scalars)
    if recursive:
        leaves |= st.sampled_from((POINT, PAYLOAD, COLOR, NUMBERS, TREE))

    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        part = inner | inner.map(types.Option)
        keys = st.sampled_from(KEYS) | inner
        return st.one_of(
            st.lists(part, min_size=2, max_size=3).map(lambda items: types.Tuple(tuple(items))),
            part.map(types.Vec),
            keys.map(types.Set),
            st.builds(types.Map, keys, part),
            _named(part, definitions),
        )

    found: types.Item = draw(st.recursive(leaves, larger, max_leaves=5))
    return found


# -- values


@st.composite
def values(draw: st.DrawFn, type_: Type, depth: int = 3) -> Value:
    """A canonical value. Collections are empty and unions take their first constructor below the depth."""
    return canonical(type_, draw(_raw(type_, depth)))


def _raw(type_: Type, depth: int) -> st.SearchStrategy[Any]:
    match type_:
        case types.Option(item):
            return st.none() | _raw(item, depth - 1) if depth > 0 else st.none()
        case types.Tuple(items):
            return st.tuples(*(_raw(t, depth - 1) for t in items))
        case types.Vec(item) | types.Set(item):
            some = st.deferred(lambda: _raw(item, depth - 1))
            return st.lists(some, max_size=3).map(_distinct(type_)) if depth > 0 else st.just([])
        case types.Map(key, value):
            pair = st.deferred(lambda: st.tuples(_raw(key, depth - 1), _raw(value, depth - 1)))
            return st.lists(pair, max_size=3).map(_by_key(key)) if depth > 0 else st.just([])
        case types.Named():
            return _constructed(type_, depth)
        case _:
            return scalar_values(type_).filter(lambda v: v != -(2**63))


def _distinct(type_: Type) -> Any:
    return lambda items: items if isinstance(type_, types.Vec) else list(cast(Any, canonical(type_, items)))


def _by_key(key: Type) -> Any:
    return lambda pairs: list({canonical(key, k): (k, v) for k, v in pairs}.values())


@st.composite
def _constructed(draw: st.DrawFn, type_: Named, depth: int) -> Any:
    found = draw(st.sampled_from(type_.constructors)) if depth > 0 else type_.constructors[0]
    fields = {f.name: draw(_raw(f.type, depth - 1)) for f in found.fields}
    return fields if len(type_.constructors) == 1 else {found.name: fields}


def typed_values(
    scalars: tuple[types.Item, ...] = SCALARS, recursive: bool = True
) -> st.SearchStrategy[tuple[types.Item, Value]]:
    found = structured_types(scalars, recursive)
    return found.flatmap(lambda t: st.tuples(st.just(t), values(t)))


def typed_columns(
    scalars: tuple[types.Item, ...] = SCALARS, recursive: bool = True, max_size: int = 5
) -> st.SearchStrategy[tuple[types.Item, list[Value]]]:
    found = structured_types(scalars, recursive)
    return found.flatmap(lambda t: st.tuples(st.just(t), st.lists(values(t), max_size=max_size)))


# -- other forms


def raw_forms(type_: Type, value: Any) -> st.SearchStrategy[Any]:
    """Python values that mean a canonical value."""
    if value is None:
        return st.none()
    item = types.present(type_)
    match item:
        case types.Tuple(items):
            parts = st.tuples(*(raw_forms(t, v) for t, v in zip(items, value, strict=True)))
            return parts | parts.map(list)
        case types.Vec(inner):
            parts = st.tuples(*(raw_forms(inner, v) for v in value))
            return parts | parts.map(list)
        case types.Set(inner):
            return st.tuples(*(raw_forms(inner, v) for v in in_order(inner, value))).map(list) | st.just(
                value
            )
        case types.Map(key, inner):
            pairs = st.tuples(*(st.tuples(raw_forms(key, k), raw_forms(inner, v)) for k, v in value.items()))
            return (
                pairs | pairs.map(lambda ps: [{"key": k, "value": v} for k, v in ps]) | st.just(dict(value))
            )
        case types.Named():
            return _raw_struct(item, value)
        case _:
            return st.just(value)


@st.composite
def _raw_struct(draw: st.DrawFn, type_: Named, value: Struct) -> Any:
    found = type_.constructor(value._tag)
    pairs = zip(found.fields, value._values, strict=True)
    fields = {f.name: draw(raw_forms(f.type, v)) for f, v in pairs}
    own = make_dataclass(found.name, [(name, object) for name in fields])
    forms: list[Any] = [value, own(**fields)]
    if len(type_.constructors) == 1:
        return draw(st.sampled_from([*forms, fields, tuple(fields.values()), list(fields.values())]))
    others = {c.name: None for c in type_.constructors if c.fields and c is not found}
    forms += [{found.name: fields}, {"tag": found.name, **others, found.name: fields}]
    forms += [{"tag": found.name, **fields}] if found.name not in fields else []
    return draw(st.sampled_from([*forms, found.name] if not fields else forms))
