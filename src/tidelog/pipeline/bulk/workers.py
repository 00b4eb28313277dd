"""What the store leaves to Spark: sums of many segments, and consolidated sidecars."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.pipeline.bulk.rows import Bulk, as_frame, is_large, quoted, with_sign
from tidelog.pipeline.stored import PART, parts_frame, segments_frame, summed
from tidelog.program.declared import Relation
from tidelog.session.backends.adaptive import BUDGET
from tidelog.store.distributed import Distributed, Workers
from tidelog.store.durable import Store
from tidelog.store.segments import Segment
from tidelog.store.sidecars import COUNT, COUNTS, FILE, Part
from tidelog.tables.signed import signed_schema

__all__ = ["SparkWorkers"]


class SparkWorkers(Workers):
    """If the session has its rows in this process (`is_near`), as many more have room here."""

    def __init__(self, spark: SparkSession, store: Store, *, is_near: bool) -> None:
        self._spark = spark
        self._store = store
        self._is_near = is_near

    def takes(self, rows: int) -> bool:
        return is_large(rows) and not (self._is_near and rows <= BUDGET)

    def base(self, relation: Relation, segments: Sequence[Segment]) -> Distributed:
        rows = segments_frame(self._spark, self._store, relation, segments)
        whole = with_sign(summed(rows, relation), 1)
        return Bulk(whole, sum(segment.rows for segment in segments), signed_schema(relation))

    def consolidated(self, kind: str, added: Any, parts: Sequence[Part]) -> Distributed:
        schema = added.schema
        frames = [as_frame(self._spark, added)]
        if parts:
            frames.append(parts_frame(self._spark, self._store.at, parts, schema).drop(PART))
        whole = reduce(DataFrame.unionByName, (frame.select(*quoted(schema.names)) for frame in frames))
        rows = added.num_rows + sum(part.rows - part.dead_rows for part in parts)
        return Bulk(_consolidated(kind, whole, schema), rows, schema)


def _consolidated(kind: str, whole: DataFrame, schema: Any) -> DataFrame:
    """Counts are added up; rows of one file are brought together, so that few row groups have them."""
    if kind != COUNTS:
        return whole.sortWithinPartitions(f"`{FILE}`")
    keys = quoted([name for name in schema.names if name != COUNT])
    return whole.groupBy(*keys).agg(sf.sum(f"`{COUNT}`").alias(COUNT)).where(f"`{COUNT}` <> 0")
