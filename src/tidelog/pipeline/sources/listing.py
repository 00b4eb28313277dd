"""Lists the files of a source on any file system by Spark: paths, sizes and times, without contents."""

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
        except SPARK_ERRORS:  # reading the source will report it
            return None
        return [File(*(row[0], row[1], str(row[2]))) for row in rows]

    return files
