"""The file system of paths without a scheme: Hadoop's `fs.defaultFS`.

Like `frames.release`, this module uses more of Spark than its public API: on classic Spark, it reads Hadoop's
own settings. These are not accessible over Connect. There it reads a path that does not exist, and the error
says where Spark looked for it.
"""

from __future__ import annotations

import uuid
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

__all__ = ["default_file_system"]


def default_file_system(spark: SparkSession) -> str:
    """Its URI without a path, such as `hdfs://node:8020`, or `file:` for the local disk."""
    java: Any = getattr(spark, "_jsparkSession", None)
    if java is None:
        return _as_spark_says(spark)
    settings = java.sessionState().newHadoopConf()
    jvm: Any = spark._jvm
    uri: str = jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(settings).toString()
    return _without_path(uri)


def _as_spark_says(spark: SparkSession) -> str:
    nothing = f"/{uuid.uuid4()}"
    try:
        spark.read.text(nothing).schema  # noqa: B018  # looks for the path
    except PySparkException as error:
        found = (error.getMessageParameters() or {}).get("path", "")
        if found.endswith(nothing):
            return _without_path(found)
    return "file:"


def _without_path(uri: str) -> str:
    scheme, _, rest = uri.partition(":")
    if not rest.startswith("//"):
        return f"{scheme}:"
    authority = rest[2:].partition("/")[0]
    return f"{scheme}://{authority}" if authority else f"{scheme}:"
