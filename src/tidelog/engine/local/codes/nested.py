"""Arrow arrays of structured values as codes, and back, in the layouts of `data.layouts`.

The arrays inside an array are encoded first, and the rows of their codes are interned together, so no value
becomes an object of Python. Values of recursive types are JSON, which is read and written value by value.
"""

from __future__ import annotations

from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from tidelog.data import types
from tidelog.data.layouts import TAG, Json, Word, layout
from tidelog.data.types import Type, present
from tidelog.data.values import BadValue, from_text, to_text
from tidelog.engine.local.codes.codec import NONE, Codec, Codes
from tidelog.engine.local.codes.columns import decode_scalars, encode_scalars, nulls
from tidelog.engine.local.codes.packing import Packed
from tidelog.engine.local.codes.pools import lengths_to_starts
from tidelog.engine.local.codes.structures import Rows
from tidelog.engine.local.codes.terms import Terms
from tidelog.tables.arrow import arrow_type
from tidelog.tables.columns import spread

__all__ = ["decode_array", "encode_array"]


# -- encoding


def encode_array(codec: Codec, type_: Type, array: Any) -> Codes:
    """The codes of an array of a type; NONE where it is null."""
    item = present(type_)
    if not isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        return encode_scalars(codec, type_, array)
    if not array.null_count:
        return _encode(codec, item, array)
    codes = np.full(len(array), NONE)
    codes[~nulls(array)] = _encode(codec, item, array.drop_null())
    return codes


def _encode(codec: Codec, item: types.Structured, array: Any) -> Codes:
    """The codes of an array without nulls."""
    match layout(item), item:
        case Json(), _:
            return _encode_json(codec, item, array)
        case _, types.Tuple() | types.Named():
            return _encode_terms(codec, item, array)
        case _, types.Vec() | types.Set() | types.Map():
            return _encode_pool(codec, item, array)
        case _, never:
            assert_never(never)


def _part(codec: Codec, type_: Type, array: Any) -> Codes:
    """The codes of an array inside another."""
    codes = encode_array(codec, type_, array)
    if isinstance(type_, types.Option) and int((codes == NONE).sum()) != array.null_count:
        raise BadValue(f"{NONE} cannot be stored in {type_}: its code stands for none; use bigint")
    return codes


def _encode_json(codec: Codec, item: types.Structured, array: Any) -> Codes:
    encoded = array.dictionary_encode()
    values = [from_text(item, content.decode()) for content in encoded.dictionary.to_pylist()]
    known = codec.dictionary(item).intern_many(values)
    codes: Codes = known[encoded.indices.to_numpy(zero_copy_only=False)]
    return codes


def _encode_terms(codec: Codec, item: types.Tuple | types.Named, array: Any) -> Codes:
    terms = codec.terms(item)
    if isinstance(layout(item), Word):
        return terms.make_mixed(_tags(terms, array), lambda number, rows: ())
    if not terms.is_union:
        return terms.make(terms.name(0), _fields(codec, terms, 0, array), len(array))

    def fields(number: int, rows: Codes) -> list[Codes]:
        if not terms.constructors[number]:
            return []
        return _fields(codec, terms, number, array.field(terms.name(number)).take(pa.array(rows)))

    return terms.make_mixed(_tags(terms, array.field(TAG)), fields)


def _tags(terms: Terms | Packed, names: Any) -> Codes:
    """The numbers of constructors from their names."""
    encoded = names.dictionary_encode()
    numbers = np.array([terms.number(name) for name in encoded.dictionary.to_pylist()], np.int64)
    found: Codes = numbers[encoded.indices.to_numpy(zero_copy_only=False)]
    return found


def _fields(codec: Codec, terms: Terms | Packed, number: int, array: Any) -> list[Codes]:
    return [_part(codec, t, array.field(i)) for i, t in enumerate(terms.types(number))]


def _encode_pool(codec: Codec, item: types.Vec | types.Set | types.Map, array: Any) -> Codes:
    offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    items = array.values.slice(first, last - first)
    pool = codec.pool(item)
    arrays = [items.field(0), items.field(1)] if isinstance(item, types.Map) else [items]
    columns = [_part(codec, part.type, inner) for part, inner in zip(pool.parts, arrays, strict=True)]
    content = np.stack(columns, axis=1).reshape(-1)
    return pool.from_items(Rows(content, pool.step * (offsets - first)))


# -- decoding


def decode_array(codec: Codec, type_: Type, codes: Codes) -> Any:
    """The array of codes of a type, or a chunked array if it is long."""
    item = present(type_)
    if not isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        return decode_scalars(codec, type_, codes)
    missing = codes == NONE
    if not missing.any():
        return _decode(codec, item, codes)
    return spread(_decode(codec, item, codes[~missing]), pa.array(~missing))


def _decode(codec: Codec, item: types.Structured, codes: Codes) -> Any:
    match layout(item), item:
        case Json(), _:
            texts = (to_text(item, value).encode() for value in codec.dictionary(item).decode(codes.tolist()))
            return pa.array(texts, pa.binary())
        case _, types.Tuple() | types.Named():
            return _decode_terms(codec, item, codes)
        case _, types.Vec() | types.Set() | types.Map():
            return _decode_pool(codec, item, codes)
        case _, never:
            assert_never(never)


def _decode_terms(codec: Codec, item: types.Tuple | types.Named, codes: Codes) -> Any:
    terms, target = codec.terms(item), arrow_type(item)
    if not terms.is_union and not isinstance(layout(item), Word):
        return _struct(codec, terms, 0, codes, target)
    tags = terms.tag(codes)
    names = pa.array([terms.name(n) for n in range(len(terms.constructors))], pa.string())
    named = names.take(pa.array(tags))
    if isinstance(layout(item), Word):
        return named
    arrays = [named]
    for number, parts in enumerate(terms.constructors):
        if parts:
            there = tags == number
            inner = target.field(terms.name(number)).type
            arrays.append(spread(_struct(codec, terms, number, codes[there], inner), pa.array(there)))
    return pa.StructArray.from_arrays(arrays, fields=list(target))


def _struct(codec: Codec, terms: Terms | Packed, number: int, codes: Codes, target: Any) -> Any:
    """The fields of terms that all have this constructor."""
    kinds = terms.types(number)
    arrays = [_inner(codec, t, terms.field(number, codes, i)) for i, t in enumerate(kinds)]
    return pa.StructArray.from_arrays(arrays, fields=list(target))


def _inner(codec: Codec, type_: Type, codes: Codes) -> Any:
    """The array of codes, in one piece."""
    found = decode_array(codec, type_, codes)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _decode_pool(codec: Codec, item: types.Vec | types.Set | types.Map, codes: Codes) -> Any:
    pool, target = codec.pool(item), arrow_type(item)
    content = pool.items(codes).content
    columns = (np.ascontiguousarray(content[i :: pool.step]) for i in range(pool.step))
    arrays = [_inner(codec, part.type, c) for part, c in zip(pool.parts, columns, strict=True)]
    if isinstance(item, types.Map):
        arrays = [pa.StructArray.from_arrays(arrays, fields=list(target.value_type))]
    starts = lengths_to_starts(pool.lengths(codes)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(starts), arrays[0], type=target)
