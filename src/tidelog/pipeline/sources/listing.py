"""Lists the files of a source on any file system by Spark: paths, sizes and times, without contents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.failures import SPARK_ERRORS
from tidelog.pipeline.sources.fingerprints import File, Listing
from tidelog.pipeline.sources.paths import is_pattern, options_of_files, plain
from tidelog.pipeline.spec import Source

__all__ = ["spark_listing"]

_RECURSIVE: Final = "recursiveFileLookup"


def spark_listing(spark: SparkSession) -> Listing:
    def files(source: Source, path: str) -> Iterable[File] | None:
        options = {**options_of_files(source.options), _RECURSIVE: "true"}
        reader = spark.read.format("binaryFile").options(**options)
        try:
            rows = reader.load(path).selectExpr("path", "length", "unix_micros(modificationTime)").collect()
        except SPARK_ERRORS:  # reading the source will report it
            return None
        return [File(*(row[0], row[1], str(row[2])), _below(path, row[0])) for row in rows]

    return files


def _below(root: str, file: str) -> str:
    """The folder of a file below the path of its source, which may be a pattern."""
    names, parts = (plain(path).rstrip("/").split("/") for path in (root, file))
    if is_pattern(root) and "{" in root:  # alternatives may have slashes
        return "/".join(part for part in parts[:-1] if "=" in part)
    return "/".join(parts[len(names) : -1])
