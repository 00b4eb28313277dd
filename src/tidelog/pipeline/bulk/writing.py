"""Tasks write rows of a frame to files of the store, with its own client, one file for each task.

Every attempt of a task writes a file of another name, and reports it with its digest. Spark takes the report
of one attempt of each task; those are the files that the manifest names. What other attempts left is removed
like all files that no commit needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame

from tidelog.errors import PipelineError
from tidelog.pipeline.failures import naming
from tidelog.store.distributed import Piece, piece_name
from tidelog.store.files import Files, Output
from tidelog.tables.casting import cast_table

__all__ = ["write_pieces"]

_ROWS: Final = 2_000_000  # rows of a file, about
_GROUP: Final = 1 << 16  # rows that readers hold at once
_REPORT: Final = "file string, rows bigint, size bigint, digest string"


def write_pieces(frame: DataFrame, rows: int, schema: Any, files: Files, stem: str) -> list[Piece]:
    """Write a frame of about so many rows, in the columns and types of a table's schema."""
    task = _Task(files, stem, schema)
    with naming(f"store {files.place}"):
        few = frame.coalesce(max(1, -(-rows // _ROWS)))
        pieces = [Piece(*row) for row in few.mapInArrow(task.run, _REPORT).collect()]
    for piece in pieces:
        _expect_there(files, piece)
    return pieces


def _expect_there(files: Files, piece: Piece) -> None:
    """Raise PipelineError if this machine does not see what a task wrote to its disk."""
    if files.folder is None:
        return
    try:
        found = (files.folder / piece.file).stat().st_size
    except OSError:
        found = -1
    if found != piece.size:
        raise PipelineError(
            f"a task of Spark wrote {files.where(piece.file)}, which this machine does not see; put the "
            "store on a disk that all machines of the cluster share, or in an object store"
        )


@dataclass(frozen=True, slots=True)
class _Task:
    files: Files
    stem: str
    schema: Any

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        tables = _groups(batches, self.schema)
        first = next(tables, None)
        if first is None:
            return
        name, counted = piece_name(self.stem), [0]
        size, digest = self.files.put(name, partial(_write, first, tables, counted))
        values = ([name], pa.array(counted, pa.int64()), pa.array([size], pa.int64()), [digest])
        yield pa.RecordBatch.from_arrays(
            [v if isinstance(v, pa.Array) else pa.array(v, pa.string()) for v in values],
            names=["file", "rows", "size", "digest"],
        )


def _groups(batches: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Tables with the rows of batches, at least as large as a row group, except for the last."""
    held: list[Any] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            rows += batch.num_rows
        if rows >= _GROUP:
            yield cast_table(pa.Table.from_batches(held), schema)
            held, rows = [], 0
    if held:
        yield cast_table(pa.Table.from_batches(held), schema)


def _write(first: Any, others: Iterator[Any], counted: list[int], out: Output) -> None:
    """Write tables as Parquet, and count their rows."""
    target = pa.PythonFile(out, "w")
    with parquet.ParquetWriter(target, first.schema, compression="zstd", write_page_checksum=True) as writer:
        for table in chain([first], others):
            writer.write_table(table, row_group_size=_GROUP)
            counted[0] += table.num_rows
