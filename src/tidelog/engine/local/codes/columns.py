"""Arrow columns of scalars as codes, and back.

Direct types are cast, or Arrow's buffers are viewed as integers. Strings and bytes are interned by kernels
(see `texts`). Of other interned types, only the distinct values become Python objects. Decoding gathers from
an Arrow array of the dictionary's values. For strings it shares their memory; otherwise the dictionary caches
it and extends it when a request is large enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.data import types
from tidelog.data.types import present
from tidelog.data.values import Value, from_text, to_text
from tidelog.engine.local.codes.codec import NONE, Codec, Codes, double_codes, doubles, is_direct
from tidelog.engine.local.codes.interning import Dictionary
from tidelog.engine.local.codes.texts import Texts
from tidelog.tables.arrow import arrow_type, is_wide

__all__ = ["decode_scalars", "encode_scalars", "nulls"]

Mask: TypeAlias = npt.NDArray[np.bool_]

# extending a dictionary's array copies all of it: about this many values in the time of one lookup
_MOVED_PER_LOOKUP: Final = 16


# -- encoding


def encode_scalars(codec: Codec, type_: types.Type, chunk: Any) -> Codes:
    """The codes of an array of scalars; NONE where it is null."""
    item, out = present(type_), np.empty(len(chunk), np.int64)
    if is_direct(item):
        out[:] = _direct_codes(item, chunk)
    else:
        dictionary = codec.dictionary(item)
        if isinstance(dictionary, Texts):
            return dictionary.intern_array(chunk)
        encoded = chunk.dictionary_encode()
        known = dictionary.intern_many(_python_values(item, encoded.dictionary))
        places = encoded.indices.fill_null(0) if chunk.null_count else encoded.indices
        out[:] = known[places.to_numpy(zero_copy_only=False)] if len(known) else NONE
    if chunk.null_count:
        out[nulls(chunk)] = NONE
    return out


def nulls(chunk: Any) -> Mask:
    mask: Mask = chunk.is_null().to_numpy(zero_copy_only=False)
    return mask


def _direct_codes(item: types.Item, chunk: Any) -> npt.NDArray[Any]:
    """Numbers that are the codes once stored as int64; undefined where the chunk is null."""
    match item:
        case types.Bool():
            return _numbers(chunk.cast(pa.uint8()), np.uint8)
        case types.Int() | types.Bit() | types.Signed():
            return _numbers(chunk, chunk.type.to_pandas_dtype())
        case types.Float():
            return double_codes(_numbers(chunk, np.float32).astype(np.float64))
        case types.Double():
            return double_codes(_numbers(chunk, np.float64))
        case types.Decimal():
            return _numbers(chunk, np.int64, words=2)[::2]  # the upper words repeat the signs
        case types.Date():
            return _numbers(chunk, np.int32)
        case types.Timestamp() | types.Duration():
            return _numbers(chunk, np.int64)
        case types.BigInt() | types.String() | types.Bytes():
            raise AssertionError(f"{item} is interned")
        case types.Tuple() | types.Vec() | types.Set() | types.Map() | types.Named():
            raise AssertionError(f"{item} is interned")
        case _:
            assert_never(item)


def _numbers(chunk: Any, dtype: npt.DTypeLike, words: int = 1) -> npt.NDArray[Any]:
    """A chunk's buffer of values, without a copy; each value takes `words` items of the dtype."""
    buffer = chunk.buffers()[1]
    if not len(chunk) or buffer is None:
        return np.zeros(len(chunk) * words, dtype)
    size = np.dtype(dtype).itemsize * words
    return np.frombuffer(buffer, dtype, count=len(chunk) * words, offset=chunk.offset * size)


def _python_values(item: types.Item, distinct: Any) -> list[Value]:
    values: list[Value] = distinct.to_pylist()
    if is_wide(item):
        return [from_text(item, str(text)) for text in values]
    return values


# -- decoding


def decode_scalars(codec: Codec, type_: types.Type, codes: Codes) -> Any:
    item = present(type_)
    missing = codes == NONE if isinstance(type_, types.Option) else None
    if missing is not None and not missing.any():
        missing = None
    if not is_direct(item):
        return _take(item, codec.dictionary(item), codes, missing)
    if missing is not None:
        codes = np.where(missing, 0, codes)
    return _direct_column(item, codes, missing)


def _direct_column(item: types.Item, codes: Codes, missing: Mask | None) -> Any:
    target = arrow_type(item)
    match item:
        case types.Bool():
            return pa.array(codes.astype(np.bool_), mask=missing)
        case types.Int() | types.Bit() | types.Signed():
            return _column(target, codes.astype(target.to_pandas_dtype()), missing)
        case types.Float() | types.Double():
            return _column(target, doubles(codes).astype(target.to_pandas_dtype()), missing)
        case types.Decimal():
            return _column(target, np.stack((codes, codes >> 63), axis=1), missing)
        case types.Date():
            return _column(target, codes.astype(np.int32), missing)
        case types.Timestamp() | types.Duration():
            return _column(target, codes.astype(np.int64), missing)
        case types.BigInt() | types.String() | types.Bytes():
            raise AssertionError(f"{item} is interned")
        case types.Tuple() | types.Vec() | types.Set() | types.Map() | types.Named():
            raise AssertionError(f"{item} is interned")
        case _:
            assert_never(item)


def _column(target: Any, fresh: npt.NDArray[Any], missing: Mask | None) -> Any:
    """An Arrow column that takes ownership of a fresh array."""
    validity = None
    if missing is not None:
        validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(target, len(fresh), [validity, pa.py_buffer(fresh)])


def _take(item: types.Item, known: Dictionary, codes: Codes, missing: Mask | None) -> Any:
    target, column = arrow_type(item), known.column
    places = pa.array(np.where(missing, 0, codes) if missing is not None else codes, mask=missing)
    if isinstance(known, Texts):
        return known.take(places, target)
    least = int(codes.max(initial=-1)) + 1
    if least > (0 if column is None else len(column)):
        if len(codes) * _MOVED_PER_LOOKUP < len(known):
            return pa.array(_arrow_values(item, known.decode(codes.tolist())), target)
        column = known.extended(partial(_longer, item))
    return column.take(places) if least else pa.nulls(len(codes), target)


def _longer(item: types.Item, column: Any, values: list[Value]) -> Any:
    """Append values to a column; None is an empty column."""
    added = pa.array(_arrow_values(item, values), arrow_type(item))
    return added if column is None else pa.concat_arrays([column, added])


def _arrow_values(item: types.Item, values: Iterable[Value]) -> list[object]:
    if is_wide(item):
        return [None if v is None else to_text(item, v) for v in values]
    return list(values)
