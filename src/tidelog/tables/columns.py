"""Canonical values as Arrow columns, and back, for every type.

Both directions work on whole columns, one per field: a column of structs is built from the columns of its
fields, without an object per row in between. The layout of each type is defined in `data.layouts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import accumulate, chain, pairwise
from typing import Any, Final, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.data import types
from tidelog.data.json_text import from_json_text, to_json_text
from tidelog.data.layouts import TAG, Cell, Json, Record, Series, Word, layout
from tidelog.data.order import in_order
from tidelog.data.scalars import canonical_scalar, read_scalar, scalar_text
from tidelog.data.structs import FrozenMap, struct_class
from tidelog.data.types import Constructor, Named, Scalar, Type, present
from tidelog.data.values import Value
from tidelog.tables import compute as pc
from tidelog.tables.arrow import arrow_type, is_wide

__all__ = ["column_of", "list_column", "record_column", "scalar_column", "spread", "values_of"]

_MICROSECOND: Final = timedelta(microseconds=1)
_WIDEST: Final = 16  # bytes of a decimal


# -- building


def column_of(type_: Type, values: Sequence[Any]) -> Any:
    """The Arrow array of canonical values."""
    item = present(type_)
    held = [v for v in values if v is not None]
    match layout(item):
        case Cell(scalar):
            return scalar_column(scalar, values)
        case Word():
            return pa.array([None if v is None else v._tag for v in values], pa.string())
        case Json():
            return pa.array(
                [None if v is None else to_json_text(item, v).encode() for v in values], pa.binary()
            )
        case Record():
            array = _record(item, held)
        case Series():
            array = _series(item, held)
        case unreachable:
            assert_never(unreachable)
    if len(held) == len(values):
        return array
    return spread(array, pa.array([v is not None for v in values], pa.bool_()))


def scalar_column(type_: Scalar, values: Sequence[Any]) -> Any:
    """The Arrow array of scalars. Raises ArrowException or OverflowError for what the array cannot hold."""
    if is_wide(type_):
        return pa.array([None if v is None else scalar_text(type_, v) for v in values], pa.string())
    if isinstance(type_, types.Duration):  # Arrow's own conversion overflows near the bounds
        micros = [None if v is None else v // _MICROSECOND for v in values]
        return pa.array(micros, pa.int64()).cast(arrow_type(type_))
    return pa.array(values, arrow_type(type_))


def _record(item: types.Item, values: list[Any]) -> Any:
    """Structs, tuples and unions, none of them missing."""
    if isinstance(item, types.Tuple):
        return record_column(item, [_at(t, values, i) for i, t in enumerate(item.items)], len(values))
    assert isinstance(item, Named)
    if len(item.constructors) == 1:
        return record_column(item, _fields(item.constructors[0], values), len(values))
    tags = [v._tag for v in values]
    records = [_one_constructor(item, c, tags, values) for c in item.constructors if c.fields]
    return record_column(item, [pa.array(tags, pa.string()), *records], len(values))


def _at(type_: Type, rows: list[Any], place: int) -> Any:
    return column_of(type_, [row[place] for row in rows])


def _fields(constructor: Constructor, values: list[Any]) -> list[Any]:
    rows = [v._values for v in values]
    return [_at(f.type, rows, i) for i, f in enumerate(constructor.fields)]


def _one_constructor(type_: Named, constructor: Constructor, tags: list[str], values: list[Any]) -> Any:
    """The records of one constructor, null where a value has another."""
    chosen = [v for v, tag in zip(values, tags, strict=True) if tag == constructor.name]
    inner = arrow_type(type_).field(constructor.name).type
    record = pa.StructArray.from_arrays(_fields(constructor, chosen), fields=list(inner))
    return spread(record, pa.array([tag == constructor.name for tag in tags], pa.bool_()))


def record_column(type_: Type, columns: Sequence[Any], size: int) -> Any:
    """The array of a type that is laid out as a record, from the arrays of its parts."""
    assert all(len(column) == size for column in columns)
    return pa.StructArray.from_arrays(list(columns), fields=list(arrow_type(type_)))


def _series(item: types.Item, values: list[Any]) -> Any:
    match item:
        case types.Vec(inner):
            lists = values
        case types.Set(inner):
            lists = [in_order(inner, v) for v in values]
        case types.Map(key, value):
            keys = column_of(key, list(chain.from_iterable(values)))
            items = column_of(value, [x for v in values for x in v.values()])
            entries = pa.StructArray.from_arrays([keys, items], fields=list(arrow_type(item).value_type))
            return list_column(item, list(map(len, values)), entries)
        case _:
            raise AssertionError(f"{item} is not laid out as a series")
    return list_column(item, list(map(len, lists)), column_of(inner, list(chain.from_iterable(lists))))


def list_column(type_: Type, lengths: npt.ArrayLike, items: Any) -> Any:
    """The array of a type that is laid out as a series, from the items of all its lists."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])).cast(pa.int32())
    return pa.ListArray.from_arrays(offsets, items, type=arrow_type(type_))


def spread(array: Any, valid: Any) -> Any:
    """The array of the values that are not null, with nulls between them: `valid` says where the values go.

    The parts of a null record are not null, at any depth: they may be declared so, and then Arrow does not
    write them to files.
    """
    numbers = pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1)
    if not pa.types.is_struct(array.type):
        return array.take(pc.if_else(valid, numbers, None))
    places = pc.if_else(valid, numbers, len(array))
    parts = [
        pa.concat_arrays([array.field(i), _filler(field.type)]).take(places)
        for i, field in enumerate(array.type)
    ]
    return pa.StructArray.from_arrays(parts, fields=list(array.type), mask=pc.invert(valid))


def _filler(arrow: Any) -> Any:
    """One value that is not null."""
    kinds = pa.types
    if kinds.is_struct(arrow):
        return pa.StructArray.from_arrays([_filler(f.type) for f in arrow], fields=list(arrow))
    if kinds.is_list(arrow):
        ends = pa.array([0, 0], pa.int32())
        return pa.ListArray.from_arrays(ends, pa.array([], arrow.value_type), type=arrow)
    if kinds.is_string(arrow) or kinds.is_binary(arrow):
        return pa.array([b""], arrow)
    return pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(bytes(_WIDEST))])


# -- reading


def values_of(type_: Type, column: Any) -> list[Any]:
    """The canonical values of an array, or a chunked array, of the type's Arrow type."""
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in values_of(type_, chunk)]
    item = present(type_)
    found = layout(item)
    if isinstance(found, Cell):
        return _scalars(found.type, column)
    held = column.drop_null() if column.null_count else column
    values = _structured(item, found, held)
    if len(held) == len(column):
        return values
    rest = iter(values)
    return [next(rest) if valid else None for valid in column.is_valid().to_pylist()]


def _scalars(type_: Scalar, column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    convert = _conversion(type_)
    return values if convert is None else [None if v is None else convert(v) for v in values]


def _conversion(type_: Scalar) -> Callable[[Any], Value] | None:
    """What makes Arrow's Python values canonical, if they are not already."""
    if is_wide(type_):
        return lambda text: read_scalar(type_, text)
    if isinstance(type_, types.Float | types.Double | types.Timestamp):
        return lambda value: canonical_scalar(type_, value)
    return None


def _structured(item: types.Item, found: Json | Word | Record | Series, array: Any) -> list[Any]:
    match found:
        case Json():
            return [from_json_text(item, content.decode()) for content in array.to_pylist()]
        case Word():
            assert isinstance(item, Named)
            made = {c.name: struct_class(item, c.name)._make(()) for c in item.constructors}
            return [made[name] for name in array.to_pylist()]
        case Record():
            return _records(item, array)
        case Series():
            return _lists(item, array)
        case _:
            assert_never(found)


def _records(item: types.Item, array: Any) -> list[Any]:
    if isinstance(item, types.Tuple):
        return _rows(item.items, array)
    assert isinstance(item, Named)
    if len(item.constructors) == 1:
        return _structs(item, item.constructors[0], array)
    tags = array.field(TAG).to_pylist()
    made = {}
    for constructor in item.constructors:
        if constructor.fields:
            chosen = array.field(constructor.name).filter(pc.equal(array.field(TAG), constructor.name))
            made[constructor.name] = iter(_structs(item, constructor, chosen))
    empty = {c.name: struct_class(item, c.name)._make(()) for c in item.constructors if not c.fields}
    return [empty[tag] if tag in empty else next(made[tag]) for tag in tags]


def _structs(type_: Named, constructor: Constructor, array: Any) -> list[Any]:
    class_ = struct_class(type_, constructor.name)
    return [class_._make(row) for row in _rows([f.type for f in constructor.fields], array)]


def _rows(inner: Sequence[Type], array: Any) -> list[tuple[Any, ...]]:
    columns = [values_of(t, array.field(i)) for i, t in enumerate(inner)]
    return list(zip(*columns, strict=True))


def _lists(item: types.Item, array: Any) -> list[Any]:
    flat = array.flatten()
    offsets = list(accumulate(pc.list_value_length(array).to_pylist(), initial=0))
    spans = [slice(a, b) for a, b in pairwise(offsets)]
    match item:
        case types.Vec(inner):
            items = values_of(inner, flat)
            return [tuple(items[span]) for span in spans]
        case types.Set(inner):
            items = values_of(inner, flat)
            return [frozenset(items[span]) for span in spans]
        case types.Map(key, value):
            entries = list(zip(values_of(key, flat.field(0)), values_of(value, flat.field(1)), strict=True))
            return [FrozenMap(dict(entries[span])) for span in spans]
        case _:
            raise AssertionError(f"{item} is not laid out as a series")
