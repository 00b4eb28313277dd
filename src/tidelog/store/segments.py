"""Segments: the immutable files of Parquet that a stored relation is made of.

A relation is a *base* and the *changes* since, in the order in which they were made. All have the relation's
columns and one more, `SIGN` (1 or -1; 1 throughout a base), so that the relation is the sum of its segments,
as of any Z-sets: a row is there if its signs add up to 1, and they never add up to anything but 0 or 1. Names
beginning with `#` are free for what else a row may carry, since no column can be called so.

A change becomes a segment of its own. When there are many segments, or the changes are a good part of the
base, the sum is written as a new base, which costs what the relation's size is, but seldom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from tidelog.errors import StoreError
from tidelog.program.typed import Relation
from tidelog.store.disk import Disk, Output
from tidelog.store.verifying import Verifier, corrupt
from tidelog.tables.arrow import schema
from tidelog.tables.signed import SIGN, signed_schema, total

__all__ = [
    "Segment",
    "is_long",
    "read_changes",
    "read_segments",
    "write_segment",
]

MAX_SEGMENTS: Final = 8
MAX_SHARE: Final = 0.25  # of the base's rows, in changes


@dataclass(frozen=True, slots=True)
class Segment:
    """A file, known by its path in the store; `size` (bytes) and `digest` tell whether it is intact.

    There is no digest in the manifests of earlier formats.
    """

    file: str
    rows: int
    size: int
    is_base: bool
    digest: str = ""


def write_segment(disk: Disk, root: Path, file: str, table: Any, *, is_base: bool) -> Segment:
    """Write signed rows under a name that nothing has yet."""
    path = root / file
    disk.make_folder(path.parent)
    size, digest = disk.create(path, partial(_write, table))
    return Segment(file, table.num_rows, size, is_base, digest)


def _write(table: Any, out: Output) -> None:
    parquet.write_table(table, pa.PythonFile(out, "w"), compression="zstd", write_page_checksum=True)


def read_segments(root: Path, relation: Relation, segments: Sequence[Segment], verifier: Verifier) -> Any:
    """The table of the relation that segments add up to; StoreError if one is not what it was."""
    if not segments:
        return schema(relation).empty_table()
    rows = read_changes(root, relation, segments, verifier)
    if not pc.all(pc.equal(rows[SIGN], 1)).as_py() and rows.num_rows:
        raise StoreError(f"the segments of {relation.name} in {root} contradict each other; restore a backup")
    return rows.drop_columns([SIGN])


def read_changes(root: Path, relation: Relation, segments: Sequence[Segment], verifier: Verifier) -> Any:
    """The sum of segments of a relation, signed rows; StoreError if one is not what it was."""
    wanted = signed_schema(relation)
    parts = [_read(root / s.file, s, wanted, verifier) for s in segments]
    if len(parts) == 1:
        return parts[0]
    return total(pa.concat_tables(parts)) if parts else wanted.empty_table()


def _read(path: Path, segment: Segment, wanted: Any, verifier: Verifier) -> Any:
    content = verifier.content(path, segment.size, segment.digest)
    try:
        source = pa.BufferReader(content)
        table = parquet.ParquetFile(source, page_checksum_verification=True).read()
        if not segment.digest:
            table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise corrupt(path, f"it cannot be parsed ({error})") from None
    if table.num_rows != segment.rows or not table.schema.equals(wanted):
        raise corrupt(path, f"it is not a segment with {segment.rows:,} rows of this relation")
    return table


def is_long(segments: Sequence[Segment]) -> bool:
    """Whether it is time for a new base."""
    base = sum(s.rows for s in segments if s.is_base)
    changes = sum(s.rows for s in segments if not s.is_base)
    return len(segments) > MAX_SEGMENTS or changes > MAX_SHARE * base
