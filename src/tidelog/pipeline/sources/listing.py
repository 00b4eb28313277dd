"""The files of a source on any file system, as Spark lists them: paths, lengths and times, no contents."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.failures import SPARK_ERRORS
from tidelog.pipeline.sources.fingerprints import File, Listing
from tidelog.pipeline.sources.paths import options_of_files
from tidelog.pipeline.spec import Source

__all__ = ["spark_listing"]


def spark_listing(spark: SparkSession) -> Listing:
    def files(source: Source, path: str) -> Iterable[File] | None:
        reader = spark.read.format("binaryFile").options(**options_of_files(source.options))
        try:
            rows = reader.load(path).selectExpr("path", "length", "unix_micros(modificationTime)").collect()
        except SPARK_ERRORS:  # whatever it is, reading the source says it
            return None
        return [File(*(row[0], row[1], str(row[2]))) for row in rows]

    return files
