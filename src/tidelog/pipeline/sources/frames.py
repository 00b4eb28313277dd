"""Sources that are given as rows: DataFrames of the session that runs the pipeline, or Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.sessions import from_table
from tidelog.errors import PipelineError
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.spec import Spec

__all__ = ["session_of", "with_frames"]


def session_of(spec: Spec) -> SparkSession | None:
    """The session of the DataFrames among the sources, if there are any."""
    return next((session for _, session in _sessions(spec)), None)


def with_frames(spec: Spec, spark: SparkSession) -> Spec:
    """The spec with DataFrames for Arrow tables. Raises PipelineError if one is of another session."""
    for key, session in _sessions(spec):
        if session is not spark:
            raise PipelineError(
                f"{spec.name}: {key}.frame: is of another Spark session than the one that runs the pipeline; "
                "pass the session of the DataFrame as spark, or none"
            )
    return replace(spec, sources={name: _framed(source, spark) for name, source in spec.sources.items()})


def _sessions(spec: Spec) -> Iterator[tuple[str, SparkSession]]:
    for kind, sources in (("sources", spec.sources), ("streams", spec.streams)):
        for name, source in sources.items():
            if hasattr(source.frame, "sparkSession"):
                yield f"{kind}.{name}", source.frame.sparkSession


def _framed(source: Source, spark: SparkSession) -> Source:
    frame: Any = source.frame
    if frame is None or hasattr(frame, "sparkSession"):
        return source
    return replace(source, frame=from_table(spark, pa.table(frame)))
