"""Python values of structured types as Arrow columns, a field at a time.

As `nesting`, this never rejects: `transposed` returns None unless every value has one of the usual forms (the
classes of `data.structs`, or plain dicts, lists, tuples and sets with exactly the parts of the type), and all
scalars convert as whole columns. Then values are checked one by one, which takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias, assert_never

import numpy as np
import pyarrow as pa

from tidelog.data import types
from tidelog.data.layouts import Cell, Json, Record, Series, Word, layout
from tidelog.data.structs import FrozenMap, struct_class
from tidelog.data.types import Constructor, Named, Type, present
from tidelog.tables.arrow import arrow_type
from tidelog.tables.columns import list_column, record_column, spread
from tidelog.tables.nesting import map_column, set_column

__all__ = ["transposed"]

FitValues: TypeAlias = Callable[[Type, Sequence[Any]], Any]


def transposed(type_: Type, values: Sequence[Any], scalar: FitValues) -> Any:
    """The array of the values, or None. `scalar` converts scalars of one type, or returns None."""
    item = present(type_)
    if isinstance(layout(item), Cell):
        return scalar(type_, values)
    held = [v for v in values if v is not None]
    if len(held) < len(values) and not isinstance(type_, types.Option):
        return None
    array = _columns(item, held, scalar)
    if array is None or len(held) == len(values):
        return array
    return spread(array, pa.array([v is not None for v in values], pa.bool_()))


def _columns(item: types.Item, values: list[Any], scalar: FitValues) -> Any:
    found = layout(item)
    match found:
        case Json() | Cell():
            return None
        case Word():
            assert isinstance(item, Named)
            known = {struct_class(item, c.name) for c in item.constructors}
            return (
                pa.array([v._tag for v in values], pa.string())
                if known.issuperset(map(type, values))
                else None
            )
        case Record():
            parts = _record(item, values, scalar)
            return None if parts is None else record_column(item, parts, len(values))
        case Series():
            return _series(item, values, scalar)
        case _:
            assert_never(found)


def _each(inner: Sequence[Type], columns: Sequence[Sequence[Any]], scalar: FitValues) -> list[Any] | None:
    arrays = []
    for type_, column in zip(inner, columns, strict=True):
        array = transposed(type_, column, scalar)
        if array is None:
            return None
        arrays.append(array)
    return arrays


# -- records


def _record(item: types.Item, values: list[Any], scalar: FitValues) -> list[Any] | None:
    if isinstance(item, types.Tuple):
        width = len(item.items)
        if not {tuple, list}.issuperset(map(type, values)) or any(len(v) != width for v in values):
            return None
        return _each(item.items, [[v[i] for v in values] for i in range(width)], scalar)
    assert isinstance(item, Named)
    if len(item.constructors) == 1:
        return _fields(item, item.constructors[0], values, scalar)
    return _union(item, values, scalar)


def _fields(type_: Named, constructor: Constructor, values: list[Any], scalar: FitValues) -> list[Any] | None:
    """The columns of the fields of one constructor, from its instances or from dicts."""
    classes = set(map(type, values))
    fields = constructor.fields
    if classes <= {struct_class(type_, constructor.name)}:
        columns = [[v._values[i] for v in values] for i in range(len(fields))]
    elif classes == {dict}:
        wanted = {f.name for f in fields}
        if any(v.keys() != wanted for v in values):
            return None
        columns = [[v[f.name] for v in values] for f in fields]
    else:
        return None
    return _each([f.type for f in fields], columns, scalar)


def _union(type_: Named, values: list[Any], scalar: FitValues) -> list[Any] | None:
    classes = {struct_class(type_, c.name): c.name for c in type_.constructors}
    tags: list[Any] = []
    inside: list[Any] = []
    for value in values:
        tag, held = classes.get(type(value)), value
        if tag is None and type(value) is dict and len(value) == 1:
            ((tag, held),) = value.items()
        if tag is None or (held is not value and type(held) is not dict):
            return None
        tags.append(tag)
        inside.append(held)
    if not set(tags).issubset(classes.values()):
        return None
    parts = [pa.array(tags, pa.string())]
    for constructor in type_.constructors:
        chosen = [v for v, tag in zip(inside, tags, strict=True) if tag == constructor.name]
        columns = _fields(type_, constructor, chosen, scalar)
        if columns is None:
            return None
        if constructor.fields:
            kind = arrow_type(type_).field(constructor.name).type
            record = pa.StructArray.from_arrays(columns, fields=list(kind))
            parts.append(spread(record, pa.array([tag == constructor.name for tag in tags], pa.bool_())))
    return parts


# -- lists


def _series(item: types.Item, values: list[Any], scalar: FitValues) -> Any:
    classes = set(map(type, values))
    lengths = np.fromiter(map(len, values), np.int64, len(values)) if classes <= _SIZED else None
    if lengths is None:
        return None
    match item:
        case types.Vec(inner) if classes <= {list, tuple}:
            items = transposed(inner, list(chain.from_iterable(values)), scalar)
            return None if items is None else list_column(item, lengths, items)
        case types.Set(inner) if classes <= {list, tuple, set, frozenset}:
            items = transposed(inner, list(chain.from_iterable(values)), scalar)
            return None if items is None else set_column(item, inner, lengths, items)
        case types.Map(key, value) if classes <= {dict, FrozenMap}:
            columns = [list(chain.from_iterable(values)), [x for v in values for x in v.values()]]
            both = _each([key, value], columns, scalar)
            return None if both is None else map_column(item, lengths, both[0], both[1])
        case _:
            return None


_SIZED = frozenset({list, tuple, set, frozenset, dict, FrozenMap})
