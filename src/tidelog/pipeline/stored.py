"""Segments of a store as DataFrames.

In a local store Spark reads them itself. In an object store, tasks read them with the store's own client, one
segment each, so that Spark needs no file system for it, and no second set of credentials.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tidelog.program.typed import Relation
from tidelog.store.files import Files
from tidelog.store.segments import Segment, read_changes
from tidelog.store.verifying import Verifier
from tidelog.tables.casting import cast_table

__all__ = ["segments_frame"]


def segments_frame(
    spark: SparkSession, files: Files, relation: Relation, segments: Sequence[Segment], schema: Any
) -> DataFrame:
    """The rows of segments in an object store, with their signs; `schema` has the columns of the frame."""
    task = _Task(files, relation, tuple(segments), schema)
    return spark.range(0, len(segments), 1, len(segments)).mapInArrow(task.run, from_arrow_schema(schema))


@dataclass(frozen=True, slots=True)
class _Task:
    """What runs in tasks: each number is that of a segment."""

    files: Files
    relation: Relation
    segments: tuple[Segment, ...]
    schema: Any

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        verifier = Verifier(self.files)
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            rows = read_changes(self.relation, [self.segments[number]], verifier)
            yield from cast_table(rows, self.schema).to_batches()
