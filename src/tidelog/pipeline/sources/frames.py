"""Sources that are given as DataFrames: all of the session that runs the pipeline."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from tidelog.errors import PipelineError
from tidelog.pipeline.spec import Spec

__all__ = ["expect_session", "session_of"]


def session_of(spec: Spec) -> SparkSession | None:
    """The session of the DataFrames among the sources, if there are any."""
    return next((session for _, session in _sessions(spec)), None)


def expect_session(spec: Spec, spark: SparkSession) -> None:
    """Raise PipelineError if a DataFrame is of another session."""
    for key, session in _sessions(spec):
        if session is not spark:
            raise PipelineError(
                f"{spec.name}: {key}.frame: is of another Spark session than the one that runs the pipeline; "
                "pass the session of the DataFrame as spark, or none"
            )


def _sessions(spec: Spec) -> Iterator[tuple[str, SparkSession]]:
    for kind, sources in (("sources", spec.sources), ("streams", spec.streams)):
        for name, source in sources.items():
            if hasattr(source.frame, "sparkSession"):
                yield f"{kind}.{name}", source.frame.sparkSession
