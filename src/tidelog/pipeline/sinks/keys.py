"""Checks the key of an output before a commit: rows that share a key cannot be told apart in a table."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from tidelog.errors import PipelineError
from tidelog.pipeline.sink_modes import Sink
from tidelog.tables.grouping import grouped
from tidelog.tables.signed import SIGN

__all__ = ["expect_key"]


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
