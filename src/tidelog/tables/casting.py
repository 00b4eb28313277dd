"""Casts of tables whose nested columns are declared otherwise elsewhere.

Arrow refuses to cast a nullable part of a nested type to one that is not nullable, even if nothing is null.
Spark declares every part nullable. Here the caller guarantees that what must not be null is not.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidelog.tables import compute as pc
from tidelog.tables.arrow import is_list
from tidelog.tables.columns import spread

__all__ = ["cast_table"]


def cast_table(table: Any, target: Any) -> Any:
    """The table with the types of a schema; columns and the parts of structs correspond by position."""
    nested = [i for i, field in enumerate(target) if pa.types.is_nested(field.type)]
    if not nested:
        return table.cast(target)
    columns = [
        _chunks(c, f.type) if pa.types.is_nested(f.type) else c.cast(f.type)
        for c, f in zip(table.columns, target, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=target)


def _chunks(column: Any, target: Any) -> Any:
    return pa.chunked_array([_cast(chunk, target) for chunk in column.chunks], target)


def _cast(array: Any, target: Any) -> Any:
    if array.type == target:
        return array
    if not pa.types.is_nested(target):
        return array.cast(target)
    held = array.drop_null() if array.null_count else array
    if pa.types.is_struct(target):
        parts = [_cast(held.field(i), target.field(i).type) for i in range(target.num_fields)]
        made = pa.StructArray.from_arrays(parts, fields=list(target))
    else:
        assert is_list(target)
        ends = pc.cumulative_sum(pc.list_value_length(held).cast(pa.int32()))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        made = pa.ListArray.from_arrays(offsets, _cast(held.flatten(), target.value_type), type=target)
    return spread(made, array.is_valid()) if array.null_count else made
