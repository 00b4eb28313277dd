"""Groups of equal rows, also by nested columns, which Arrow cannot compare.

A struct is compared by its fields and by whether it is missing. A list is compared by a number, the same for
equal lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from tidelog.tables.arrow import is_list

__all__ = ["grouped"]

_ROW: Final = "#row"


def grouped(table: Any, keys: Sequence[str], aggregates: Sequence[tuple[str, str]]) -> Any:
    """One row for each group of rows with equal keys: the keys, and aggregates as Arrow names them."""
    if not any(_is_nested(table.schema.field(name).type) for name in keys):
        return table.group_by(list(keys)).aggregate(list(aggregates))
    parts = [part for name in keys for part in _comparable(_whole(table[name]))]
    names = [f"#{i}" for i in range(len(parts))]
    rows = pa.array(range(table.num_rows), pa.int64())
    values = [*dict.fromkeys(name for name, _ in aggregates)]
    flat = pa.table([*parts, *(table[v] for v in values), rows], [*names, *values, _ROW])
    found = flat.group_by(names).aggregate([*aggregates, (_ROW, "min")])
    made = table.select(list(keys)).take(found[f"{_ROW}_min"])
    for value, function in aggregates:
        made = made.append_column(f"{value}_{function}", found[f"{value}_{function}"])
    return made


def _is_nested(arrow: Any) -> bool:
    return bool(pa.types.is_struct(arrow) or is_list(arrow))


def _whole(column: Any) -> Any:
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def _comparable(array: Any) -> list[Any]:
    """Arrays that Arrow can compare, which are equal in two rows iff the values are."""
    if is_list(array.type):
        numbers: dict[str, int] = {}
        texts = map(repr, array.to_pylist())
        return [pa.array([numbers.setdefault(text, len(numbers)) for text in texts], pa.int64())]
    if pa.types.is_struct(array.type):
        return [array.is_valid(), *(part for child in array.flatten() for part in _comparable(child))]
    return [array]
