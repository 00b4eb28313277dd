"""Checks keys and partitions before a commit, for what a table could not represent.

Rows that share a key cannot be told apart in a table. Tables of Spark and Delta store an empty text as null
in a column by which they are partitioned.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType

from tidelog.errors import PipelineError
from tidelog.pipeline.bulk.rows import Bulk, is_large, quoted
from tidelog.pipeline.sink_modes import Sink
from tidelog.session.facts import Facts
from tidelog.tables.grouping import grouped
from tidelog.tables.signed import SIGN

__all__ = ["expect_key", "expect_partitions"]


def expect_key(sink: Sink, rows: Any, changes: Any, *, is_new: bool) -> None:
    """Raise PipelineError if rows of an output share a key; only keys that a commit adds can be shared."""
    key = list(sink.key_columns)
    if not key or not (is_new or _adds_keys(changes, key)):
        return
    count = len(rows) - _distinct(_contents(rows), key)
    if count:
        raise PipelineError(
            f"{sink.name}.key: {count:,} row{'s have' if count != 1 else ' has'} the same {', '.join(key)} "
            "as another row; add the columns that tell them apart, or remove the key"
        )


def expect_partitions(sink: Sink, rows: Any, changes: Any, *, is_new: bool) -> None:
    """Raise PipelineError if a table would be partitioned by an empty text; files in folders keep it."""
    if sink.is_folder or not sink.partition_by:
        return
    written = _contents(rows) if is_new or sink.mode is None else changes
    for name in sink.partition_by:
        if _has_empty_text(written, name):
            raise PipelineError(
                f"{sink.name}.partition_by: {name} has an empty text, which tables store as null there; "
                "partition by other columns"
            )


def _contents(facts: Facts) -> Any:
    """The rows of a relation: a frame, if they are many and in one, otherwise a table."""
    return facts.to_spark() if facts.is_frame and is_large(len(facts)) else facts.to_arrow()


def _adds_keys(changes: Any, key: list[str]) -> bool:
    """Whether some inserted rows do not replace a deleted row with the same key."""
    if isinstance(changes, Bulk):
        frame = changes.frame
        inserted, deleted = (frame.where(f"`{SIGN}` = {sign}") for sign in (1, -1))
        count = changes.inserted
    else:
        frame = changes
        inserted, deleted = (changes.filter(pc.equal(changes[SIGN], sign)) for sign in (1, -1))
        count = inserted.num_rows
    return _distinct(inserted, key) < count or _distinct(frame, key) > _distinct(deleted, key)


def _distinct(rows: Any, key: list[str]) -> int:
    """How many keys the rows of a table or frame have."""
    if isinstance(rows, DataFrame):
        return rows.select(*quoted(key)).distinct().count()
    count: int = grouped(rows.select(key), key, []).num_rows
    return count


def _has_empty_text(rows: Any, name: str) -> bool:
    if isinstance(rows, Bulk):
        return _has_empty_text(rows.frame, name)
    if isinstance(rows, DataFrame):
        [column] = quoted([name])
        return isinstance(rows.schema[name].dataType, StringType) and not rows.where(column == "").isEmpty()
    is_text = pa.types.is_string(rows[name].type)
    return is_text and bool(pc.any(pc.equal(rows[name], "")).as_py())
