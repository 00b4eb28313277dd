"""Nested Arrow columns as columns of structured types, by kernels.

As in `fitting`, this never rejects: `fit_nested` returns None if it cannot guarantee every value, and the
values are then checked one by one. What it accepts:

- records with their fields in any order; a field that is missing is null if it may be;
- lists of any kind, and Arrow's maps; sets and maps are sorted, and equal elements of sets collapse;
- unions as records of the records of the constructors, of which only one is not null, with or without a tag;
- texts of JSON for any structured type, and the bytes of JSON for a recursive type;
- the names of constructors without fields, also as a dictionary (categories, enums).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, assert_never

import numpy as np
import pyarrow as pa

from tidelog.data import types
from tidelog.data.layouts import TAG, Cell, Json, Record, Series, Word, layout
from tidelog.data.types import Constructor, Field, Named, Type, present
from tidelog.data.values import BadValue, from_text
from tidelog.tables import compute as pc
from tidelog.tables.arrow import arrow_type, is_list, is_text, is_wide
from tidelog.tables.columns import column_of, list_column, record_column, spread

__all__ = ["fit_nested", "map_column", "set_column"]

FitScalar: TypeAlias = Callable[[Type, Any], Any]


def fit_nested(type_: Type, array: Any, scalar: FitScalar) -> Any:
    """The array converted to the type's Arrow type, or None. `scalar` converts arrays of scalars."""
    item = present(type_)
    if isinstance(layout(item), Cell):
        return scalar(type_, array)
    if not array.null_count:
        return _fit(item, _plain(array), scalar)
    if not isinstance(type_, types.Option):
        return None
    if pa.types.is_null(array.type):
        return spread(pa.array([], arrow_type(item)), pa.array([False] * len(array), pa.bool_()))
    fitted = _fit(item, _plain(array.drop_null()), scalar)
    return None if fitted is None else spread(fitted, array.is_valid())


def _plain(array: Any) -> Any:
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_run_end_encoded(array.type):
        return pc.run_end_decode(array)
    return array


def _fit(item: types.Item, array: Any, scalar: FitScalar) -> Any:
    """As `fit_nested`, for values none of which is missing."""
    found = layout(item)
    if is_text(array.type) and not isinstance(found, Word):
        return _from_texts(item, array)
    match found:
        case Json():
            is_bytes = pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type)
            return _from_texts(item, array.cast(pa.string())) if is_bytes else None
        case Word():
            return _words(item, array)
        case Record() if pa.types.is_struct(array.type):
            return _record(item, array, scalar)
        case Series():
            return _series(item, array, scalar)
        case Cell() | Record():
            return None
        case _:
            assert_never(found)


def _from_texts(item: types.Item, array: Any) -> Any:
    known = array.unique()
    try:
        values = [from_text(item, text) for text in known.to_pylist()]
    except BadValue:
        return None
    return column_of(item, values).take(pc.index_in(array, known))


def _words(item: types.Item, array: Any) -> Any:
    assert isinstance(item, Named)
    if not is_text(array.type):
        return None
    words = array.cast(pa.string())
    known = pa.array([c.name for c in item.constructors], pa.string())
    return words if pc.all(pc.is_in(words, known)).as_py() is not False else None


# -- records


def _record(item: types.Item, array: Any, scalar: FitScalar) -> Any:
    if isinstance(item, types.Tuple):
        fields = tuple(Field(f"_{i}", t) for i, t in enumerate(item.items, 1))
        parts = _parts(fields, array, scalar)
    else:
        assert isinstance(item, Named)
        if len(item.constructors) > 1:
            return _union(item, array, scalar)
        parts = _parts(item.constructors[0].fields, array, scalar)
    return None if parts is None else record_column(item, parts, len(array))


def _parts(fields: Sequence[Field], array: Any, scalar: FitScalar) -> list[Any] | None:
    """The fields of records, found by their names."""
    given = [array.type.field(i).name for i in range(array.type.num_fields)]
    if len(set(given)) < len(given) or not {f.name for f in fields}.issuperset(given):
        return None
    parts = []
    for field in fields:
        part = array.field(field.name) if field.name in given else pa.nulls(len(array))
        fitted = fit_nested(field.type, part, scalar)
        if fitted is None:
            return None
        parts.append(fitted)
    return parts


def _union(type_: Named, array: Any, scalar: FitScalar) -> Any:
    """A record of the tag and the records of the constructors, of which only the tag's is not null."""
    given = [array.type.field(i).name for i in range(array.type.num_fields)]
    wanted = {TAG, *(c.name for c in type_.constructors)}
    if len(set(given)) < len(given) or not wanted.issuperset(given):
        return None
    tags = _plain(array.field(TAG)) if TAG in given else _tags(array, given)
    known = pa.array([c.name for c in type_.constructors], pa.string())
    if not is_text(tags.type) or tags.null_count or pc.all(pc.is_in(tags, known)).as_py() is False:
        return None
    tags = tags.cast(pa.string())
    parts = [tags]
    for constructor in type_.constructors:
        part = _constructor(type_, constructor, array, tags, scalar)
        if part is None:
            return None
        if constructor.fields:
            parts.append(part)
    return record_column(type_, parts, len(array))


def _tags(array: Any, given: Sequence[str]) -> Any:
    """The name of the first record that is not null, in each row."""
    none = pa.scalar(None, pa.string())
    named = [pc.if_else(array.field(i).is_valid(), name, none) for i, name in enumerate(given)]
    return pc.coalesce(*named) if named else pa.nulls(len(array), pa.string())


def _constructor(type_: Named, constructor: Constructor, array: Any, tags: Any, scalar: FitScalar) -> Any:
    """The records of one constructor, null where the tag names another; None if they are not so."""
    chosen = pc.equal(tags, constructor.name)
    given = array.type.get_field_index(constructor.name)
    part = array.field(given) if given >= 0 else pa.nulls(len(array))
    if not constructor.fields:
        return part if part.null_count == len(part) else None
    inner = arrow_type(type_).field(constructor.name).type
    if pa.types.is_null(part.type):
        nothing = spread(pa.array([], inner), pa.array([False] * len(part), pa.bool_()))
        return None if pc.any(chosen).as_py() else nothing
    if not pa.types.is_struct(part.type) or not part.is_valid().equals(chosen):
        return None
    fields = _parts(constructor.fields, part.filter(chosen), scalar)
    if fields is None:
        return None
    return spread(pa.StructArray.from_arrays(fields, fields=list(inner)), chosen)


# -- lists


def _entries(array: Any) -> Any:
    """Arrow's maps as lists of records."""
    parts = [f.with_name(n) for f, n in zip(array.type.field(0).type, ("key", "value"), strict=True)]
    return array.cast(pa.list_(pa.field("entries", pa.struct(parts), nullable=False)))


def _series(item: types.Item, array: Any, scalar: FitScalar) -> Any:
    if pa.types.is_map(array.type):
        array = _entries(array)
    if not is_list(array.type):
        return None
    lengths = pc.list_value_length(array).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = array.flatten()
    match item:
        case types.Vec(inner):
            items = fit_nested(inner, flat, scalar)
            return None if items is None else list_column(item, lengths, items)
        case types.Set(inner):
            items = fit_nested(inner, flat, scalar)
            return None if items is None else set_column(item, inner, lengths, items)
        case types.Map():
            return _maps(item, lengths, flat, scalar) if pa.types.is_struct(flat.type) else None
        case _:
            return None


def set_column(type_: Type, inner: Type, lengths: Any, items: Any) -> Any:
    """The array of sets, sorted, from the items of all of them; None if Arrow cannot sort them."""
    found = _order(inner, lengths, items)
    if found is None:
        return None
    order, owners, repeats = found
    kept = order[~repeats]
    counts = np.bincount(owners[~repeats], minlength=len(lengths))
    return list_column(type_, counts, items.take(pa.array(kept)))


def _maps(type_: types.Map, lengths: Any, flat: Any, scalar: FitScalar) -> Any:
    names = [flat.type.field(i).name for i in range(flat.type.num_fields)]
    if sorted(names) != ["key", "value"] or flat.null_count:
        return None
    keys = fit_nested(type_.key, flat.field("key"), scalar)
    values = fit_nested(type_.value, flat.field("value"), scalar)
    return None if keys is None or values is None else map_column(type_, lengths, keys, values)


def map_column(type_: types.Map, lengths: Any, keys: Any, values: Any) -> Any:
    """The array of maps, sorted; None if Arrow cannot sort the keys, or a key occurs twice in a map."""
    found = _order(type_.key, lengths, keys)
    if found is None or found[2].any():
        return None
    entries = pa.StructArray.from_arrays([keys, values], fields=list(arrow_type(type_).value_type))
    return list_column(type_, lengths, entries.take(pa.array(found[0])))


def _order(inner: Type, lengths: Any, items: Any) -> tuple[Any, Any, Any] | None:
    """The items of each list in order, their lists, and which of them equal the one before.

    None if Arrow does not order such items as Tidelog does.
    """
    owners = np.repeat(np.arange(len(lengths)), lengths)
    scalar = layout(inner)
    plain = isinstance(scalar, Cell) and not is_wide(scalar.type) and not types.is_float(scalar.type)
    if not plain or items.null_count:
        return None
    table = pa.table({"owner": owners, "item": items})
    order = pc.sort_indices(table, sort_keys=[("owner", "ascending"), ("item", "ascending")])
    ordered = items.take(order)
    repeats = np.zeros(len(ordered), bool)
    if len(ordered) > 1:
        same = pc.equal(ordered.slice(1), ordered.slice(0, len(ordered) - 1)).to_numpy(zero_copy_only=False)
        repeats[1:] = same & (owners[1:] == owners[:-1])
    return order.to_numpy(), owners, repeats
