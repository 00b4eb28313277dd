"""Segments: the immutable Parquet files of a stored relation.

A relation is a *base* and the *changes* since, in commit order. All segments have the relation's columns plus
`SIGN` (1 or -1; always 1 in a base). The relation is the Z-set sum of its segments: a row is present if its
signs add up to 1, and they always add up to 0 or 1. Column names starting with `#` are free for other data
about a row, since no column of a relation can have such a name.

Each change becomes a segment, or several if others than this process write it (see `distributed`). If there
are segments of many commits, or the changes are large relative to the base, the sum is written as a new base.
This costs time proportional to the relation's size, but happens rarely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from tidelog.errors import StoreError
from tidelog.program.declared import Relation
from tidelog.store.distributed import Distributed, Piece, unit_of
from tidelog.store.files import Files, Output
from tidelog.store.verifying import Verifier, corrupt
from tidelog.tables.arrow import schema
from tidelog.tables.signed import SIGN, signed_schema, total

__all__ = [
    "SEGMENTS",
    "Segment",
    "is_long",
    "read_changes",
    "read_segments",
    "write_segments",
]

SEGMENTS: Final = "segments"
MAX_SEGMENTS: Final = 8
MAX_SHARE: Final = 0.25  # rows in changes, relative to the base


@dataclass(frozen=True, slots=True)
class Segment:
    """A file, identified by its path in the store; `size` (bytes) and `digest` show whether it is intact.

    Manifests of earlier formats have no digest.
    """

    file: str
    rows: int
    size: int
    is_base: bool
    digest: str = ""


def write_segments(files: Files, stem: str, rows: Any, *, is_base: bool) -> tuple[Segment, ...]:
    """Write signed rows, a table or distributed, to new files, whose names begin with `stem`."""
    name = f"{SEGMENTS}/{stem}"
    if isinstance(rows, Distributed):
        pieces = rows.write(files, name)
    else:
        file = f"{name}.parquet"
        pieces = [Piece(file, rows.num_rows, *files.put(file, partial(_write, rows)))]
    return tuple(
        Segment(p.file.removeprefix(f"{SEGMENTS}/"), p.rows, p.size, is_base, p.digest) for p in pieces
    )


def _write(table: Any, out: Output) -> None:
    parquet.write_table(table, pa.PythonFile(out, "w"), compression="zstd", write_page_checksum=True)


def read_segments(relation: Relation, segments: Sequence[Segment], verifier: Verifier) -> Any:
    """The table of a relation: the sum of its segments. Raises StoreError if one is corrupt."""
    if not segments:
        return schema(relation).empty_table()
    rows = read_changes(relation, segments, verifier)
    if not pc.all(pc.equal(rows[SIGN], 1)).as_py() and rows.num_rows:
        place = verifier.where(SEGMENTS)
        raise StoreError(f"the segments of {relation.name} in {place} are inconsistent; restore a backup")
    return rows.drop_columns([SIGN])


def read_changes(relation: Relation, segments: Sequence[Segment], verifier: Verifier) -> Any:
    """The sum of segments of a relation, as signed rows. Raises StoreError if one is corrupt."""
    wanted = signed_schema(relation)
    parts = [_read(s, wanted, verifier) for s in segments]
    if len(parts) == 1:
        return parts[0]
    return total(pa.concat_tables(parts)) if parts else wanted.empty_table()


def _read(segment: Segment, wanted: Any, verifier: Verifier) -> Any:
    name = f"{SEGMENTS}/{segment.file}"
    content = verifier.content(name, segment.size, segment.digest)
    try:
        source = pa.BufferReader(content)
        table = parquet.ParquetFile(source, page_checksum_verification=True).read()
        if not segment.digest:
            table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise corrupt(verifier.where(name), f"it cannot be parsed ({error})") from None
    if table.num_rows != segment.rows or not table.schema.equals(wanted):
        raise corrupt(verifier.where(name), f"it does not hold {segment.rows:,} rows of this relation")
    return table


def is_long(segments: Sequence[Segment]) -> bool:
    """Whether a new base is due."""
    base = sum(s.rows for s in segments if s.is_base)
    changes = sum(s.rows for s in segments if not s.is_base)
    return len({unit_of(s.file) for s in segments}) > MAX_SEGMENTS or changes > MAX_SHARE * base
