"""Checks keys and partitions before a commit, for what a table could not represent.

Rows that share a key cannot be told apart in a table. Tables of Spark and Delta store an empty text as null
in a column by which they are partitioned.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.errors import PipelineError
from tidelog.pipeline.sink_modes import Sink
from tidelog.tables.grouping import grouped
from tidelog.tables.signed import SIGN

__all__ = ["expect_key", "expect_partitions"]


def expect_key(sink: Sink, rows: Any, changes: Any, *, is_new: bool) -> None:
    """Raise PipelineError if rows of an output share a key; only keys that a commit adds can be shared."""
    key = list(sink.key_columns)
    if not key or not (is_new or _adds_keys(changes, key)):
        return
    keys = rows.to_arrow().select(key)
    count = keys.num_rows - _distinct(keys)
    if count:
        raise PipelineError(
            f"{sink.name}.key: {count:,} row{'s have' if count != 1 else ' has'} the same {', '.join(key)} "
            "as another row; add the columns that tell them apart, or remove the key"
        )


def expect_partitions(sink: Sink, rows: Any, changes: Any, *, is_new: bool) -> None:
    """Raise PipelineError if a table would be partitioned by an empty text; files in folders keep it."""
    if sink.is_folder or not sink.partition_by:
        return
    written = rows.to_arrow() if is_new or sink.mode is None else changes
    for name in sink.partition_by:
        column = written[name]
        if pa.types.is_string(column.type) and pc.any(pc.equal(column, "")).as_py():
            raise PipelineError(
                f"{sink.name}.partition_by: {name} has an empty text, which tables store as null there; "
                "partition by other columns"
            )


def _adds_keys(changes: Any, key: list[str]) -> bool:
    """Whether some inserted rows do not replace a deleted row with the same key."""
    inserted = changes.filter(pc.equal(changes[SIGN], 1)).select(key)
    deleted = changes.filter(pc.equal(changes[SIGN], -1)).select(key)
    if _distinct(inserted) < inserted.num_rows:
        return True
    return _distinct(changes.select(key)) > _distinct(deleted)


def _distinct(keys: Any) -> int:
    count: int = grouped(keys, keys.column_names, []).num_rows
    return count
