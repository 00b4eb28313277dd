"""Arrow tables as Spark DataFrames, and replacements for the types that Spark lacks.

Spark has no unsigned integers: `bit<N>` of up to 64 bits becomes the next wider signed integer, or for the
widest a decimal of 20 digits, also inside structs and lists. All other types are as in `tables.arrow`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.engine.spark.frames.persistence import holding
from tidelog.engine.spark.runtime.job_names import JobNames
from tidelog.engine.spark.runtime.sessions import created
from tidelog.tables.casting import cast_table

__all__ = ["publisher", "signed"]

_SIGNED: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}

# Larger tables would be copied into every plan that uses them.
_IN_PLAN: Final = 1 << 20  # bytes


def publisher(spark: SparkSession) -> Callable[[Any], DataFrame]:
    """A function that makes DataFrames of this session from tables."""
    hold, jobs = holding(spark).hold, JobNames(spark)

    def publish(table: Any) -> DataFrame:
        frame = created(spark, cast_table(table, signed(table.schema)))
        if table.nbytes <= _IN_PLAN:
            return frame
        with jobs.named("Tidelog · creating a DataFrame from a relation"):
            return hold(frame)

    return publish


def signed(schema: Any) -> Any:
    """The schema with types that Spark supports."""
    return pa.schema([_signed_field(field) for field in schema])


def _signed_field(field: Any) -> Any:
    """The field with a type that Spark supports. Parts of nested types are nullable, as in Spark's DDL."""
    arrow = field.type
    if pa.types.is_struct(arrow):
        return field.with_type(pa.struct([_signed_field(part.with_nullable(True)) for part in arrow]))
    if pa.types.is_list(arrow):
        return field.with_type(pa.list_(_signed_field(arrow.value_field.with_nullable(True))))
    return field.with_type(_SIGNED.get(arrow, arrow))
