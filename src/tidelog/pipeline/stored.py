"""What a store holds, as DataFrames.

In a local store Spark reads segments itself. In an object store, tasks read them with the store's own client,
one segment each, so that Spark needs no file system for it, and no second set of credentials. Sidecars are
read by tasks anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from tidelog.engine.spark.frames.arrow import signed
from tidelog.engine.spark.runtime.sessions import from_table
from tidelog.pipeline.sources.paths import as_pattern
from tidelog.pipeline.sources.reading import spark_schema
from tidelog.program.declared import Relation
from tidelog.store.files import Files
from tidelog.store.reading import StoredVersion
from tidelog.store.segments import Segment, read_changes
from tidelog.store.sidecars import Kept, Part, Sidecar
from tidelog.store.verifying import Verifier
from tidelog.tables.casting import cast_table
from tidelog.tables.signed import SIGN

__all__ = ["PART", "parts_frame", "segments_frame", "stored_frame", "summed"]

PART: Final = "#part"  # the number of the part that a row is in


def stored_frame(spark: SparkSession, store: StoredVersion, relation: Relation) -> DataFrame:
    """The stored rows of a relation."""
    segments = store.segments(relation.name)
    rows = segments_frame(spark, store, relation, segments)
    return rows.drop(SIGN) if all(s.is_base for s in segments) else summed(rows, relation)


def segments_frame(
    spark: SparkSession, store: StoredVersion, relation: Relation, segments: Sequence[Segment]
) -> DataFrame:
    """The rows of segments, with their signs."""
    schema = spark_schema(relation, sign=True)
    if not segments:
        return from_table(spark, schema.empty_table())
    if store.at.folder is not None:
        frame = _verified_reader(spark).parquet(*map(as_pattern, store.paths(segments)))
        return frame.select(*(sf.col(f"`{name}`") for name in schema.names))
    return _read(spark, _Segments(store.at, relation, tuple(segments), schema), len(segments))


def summed(rows: DataFrame, relation: Relation) -> DataFrame:
    """The rows whose signs add up to 1."""
    names = [sf.col(f"`{name}`") for name in spark_schema(relation).names]
    return rows.groupBy(*names).agg(sf.sum(f"`{SIGN}`").alias(SIGN)).where(f"`{SIGN}` > 0").select(*names)


def parts_frame(
    spark: SparkSession,
    files: Files,
    parts: Sequence[Part],
    schema: Any,
    wanted: frozenset[int] | None = None,
) -> DataFrame:
    """The rows of parts of a sidecar, without those of dead files; only rows of the files `wanted`, if given.

    `schema` is that of tables of the sidecar. Each row has the number of its part (`PART`).
    """
    columns = signed(pa.schema([field.with_nullable(True) for field in schema]))
    target = columns.append(pa.field(PART, pa.int32()))
    return _read(spark, _Parts(files, tuple(parts), columns, target, wanted), len(parts))


def _verified_reader(spark: SparkSession) -> DataFrameReader:
    """A reader of segments that verifies the checksum of every page."""
    return spark.read.option("parquet.page.verify-checksum.enabled", "true")


def _read(spark: SparkSession, task: _Segments | _Parts, count: int) -> DataFrame:
    """What tasks read, each for one of so many numbers."""
    columns = from_arrow_schema(task.schema)
    return spark.range(0, count, 1, max(count, 1)).mapInArrow(task.run, columns)


@dataclass(frozen=True, slots=True)
class _Segments:
    """What runs in tasks: each number is that of a segment."""

    files: Files
    relation: Relation
    segments: tuple[Segment, ...]
    schema: Any

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        verifier = Verifier(self.files)
        for number in _numbers(batches):
            rows = read_changes(self.relation, [self.segments[number]], verifier)
            yield from cast_table(rows, self.schema).to_batches()


@dataclass(frozen=True, slots=True)
class _Parts:
    """What runs in tasks: each number is that of a part. `schema` is `columns` and the number."""

    files: Files
    parts: tuple[Part, ...]
    columns: Any
    schema: Any
    wanted: frozenset[int] | None

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        kept = Kept(Sidecar("", self.parts), Verifier(self.files))
        for number in _numbers(batches):
            for group in kept.live_groups(self.parts[number], self.wanted):
                rows = cast_table(group, self.columns)
                places = pa.repeat(pa.scalar(number, pa.int32()), rows.num_rows)
                yield from rows.append_column(self.schema.field(PART), places).to_batches()


def _numbers(batches: Iterable[Any]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()
