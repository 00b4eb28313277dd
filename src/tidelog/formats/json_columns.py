"""JSON lines as whole columns, by Arrow's reader.

As in `tables.fitting`, this never rejects: `read_columns` returns None unless the table is certainly the one
that `json_lines` reads line by line. Arrow declines values of another kind than the column's, keys that are
unknown or occur twice, and numbers beyond their type. Where it is more lenient, it is checked here:

- It finds objects regardless of lines, so every line must hold one object, and nothing around it.
- It does not validate UTF-8.
- It reads `NaN` and `Infinity` without quotes, and rounds integers in floating-point columns.

Types that Arrow has no equivalent of are read as texts, and then parsed as cells. Tuples, maps, recursive
types, and integers of more than 64 bits inside structured values are left to `json_lines`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, assert_never

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from tidelog.data import types
from tidelog.data.layouts import TAG, Cell, Json, Record, Series, Word, layout
from tidelog.data.types import Field, Named, Scalar, Type, present
from tidelog.formats.cells import read_cells
from tidelog.program.declared import Relation
from tidelog.tables import compute as pc
from tidelog.tables.arrow import arrow_type, is_text, is_wide
from tidelog.tables.columns import spread
from tidelog.tables.fitting import Misfit, fit_arrow
from tidelog.tables.given import make_table
from tidelog.tables.nesting import fit_nested

__all__ = ["read_columns"]

_BLOCK: Final = 1 << 22  # bytes that one thread parses at once; no line may be longer
_LONG: Final = {  # from which number on integers may be inexact, and how integers of so many digits look
    types.Float: (2.0**24, re.compile(rb"[\[:,\s-][0-9]{8,}\s*[,\]}]")),
    types.Double: (2.0**53, re.compile(rb"[\[:,\s-][0-9]{16,}\s*[,\]}]")),
}


def read_columns(relation: Relation, content: bytes) -> Any:
    """The table of the facts in lines of JSON, or None."""
    shapes = [_shape(c.type, is_inside=False) for c in relation.columns]
    body = content.strip()
    lines = _lines(body)
    if not shapes or any(s is None for s in shapes) or lines is None:
        return None
    wanted = pa.schema(list(zip((c.name for c in relation.columns), shapes, strict=True)))
    try:
        if not body.isascii():
            body.decode()
        found = _parsed(body, wanted)
        if found.num_rows != lines:
            return None
        fit = partial(_fit_scalar, lambda pattern: pattern.search(body) is not None)
        columns = [_fitted(c.type, found[c.name], fit) for c in relation.columns]
    except (pa.ArrowException, Misfit, UnicodeDecodeError):
        return None
    return None if any(c is None for c in columns) else make_table(relation, columns)


def _lines(body: bytes) -> int | None:
    """The number of lines; None if one does not begin with a brace and end with one.

    Valid JSON has no closing brace before an opening one, so no object continues on the next line.
    """
    if not (body.startswith(b"{") and body.endswith(b"}")):
        return None
    characters = np.frombuffer(body, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    last = characters[ends - 1]
    last = np.where(last == ord("\r"), characters[ends - 2], last)
    single = (last == ord("}")).all() and (characters[ends + 1] == ord("{")).all()
    return len(ends) + 1 if single else None


def _parsed(body: bytes, wanted: Any) -> Any:
    return arrow_json.read_json(
        pa.BufferReader(body),
        arrow_json.ReadOptions(use_threads=True, block_size=_BLOCK),
        arrow_json.ParseOptions(
            explicit_schema=wanted, newlines_in_values=False, unexpected_field_behavior="error"
        ),
    )


# -- what Arrow is to read


def _shape(type_: Type, *, is_inside: bool = True) -> Any:
    """The Arrow type with the form that values have in JSON; None if there is none."""
    item = present(type_)
    found = layout(item)
    match found:
        case Cell(scalar):
            return None if is_inside and is_wide(scalar) else _scalar_shape(scalar)
        case Word():
            return pa.string()
        case Json():
            return None
        case Series():
            inner = _shape(item.item) if isinstance(item, types.Vec | types.Set) else None
            return None if inner is None else pa.list_(inner)
        case Record():
            return _named_shape(item) if isinstance(item, Named) else None
        case _:
            assert_never(found)


def _named_shape(type_: Named) -> Any:
    if len(type_.constructors) == 1:
        return _fields_shape(type_.constructors[0].fields)
    records = [(c.name, _fields_shape(c.fields)) for c in type_.constructors if c.fields]
    known = all(name != TAG and shape is not None for name, shape in records)
    return pa.struct(records) if known else None


def _fields_shape(fields: tuple[Field, ...]) -> Any:
    shapes = [(f.name, _shape(f.type)) for f in fields]
    return None if any(shape is None for _, shape in shapes) else pa.struct(shapes)


def _scalar_shape(type_: Scalar) -> Any:
    match type_:
        case types.Bool() | types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.String():
            return arrow_type(type_)  # of digits, if it is wide
        case types.Float() | types.Double():
            return pa.float64()
        case types.Decimal() | types.Bytes() | types.Date() | types.Timestamp() | types.Duration():
            return pa.string()
        case _:
            assert_never(type_)


# -- what it has read


def _fitted(type_: Type, column: Any, fit: Callable[[Type, Any], Any]) -> Any:
    chunks = [fit_nested(type_, chunk, fit) for chunk in column.chunks]
    return None if any(c is None for c in chunks) else pa.chunked_array(chunks, arrow_type(type_))


def _fit_scalar(occurs: Callable[[re.Pattern[bytes]], bool], type_: Type, array: Any) -> Any:
    """The array converted to the type, or None; `occurs` says whether the lines have such a text."""
    item = present(type_)
    if is_text(array.type) and not isinstance(item, types.String):
        return _parsed_texts(type_, array)
    if isinstance(item, types.Float | types.Double):
        least, pattern = _LONG[type(item)]
        large = pc.any(pc.greater_equal(pc.abs(array), least)).as_py()
        odd = pc.any(pc.invert(pc.is_finite(array))).as_py()
        if odd or (large and occurs(pattern)):
            return None
    return _whole(fit_arrow(type_, pa.chunked_array([array])))


def _parsed_texts(type_: Type, array: Any) -> Any:
    if not array.null_count:
        return _whole(read_cells(present(type_), array))
    if not isinstance(type_, types.Option):
        return None
    return spread(_whole(read_cells(type_.item, array.drop_null())), array.is_valid())


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
