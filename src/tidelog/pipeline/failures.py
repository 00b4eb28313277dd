"""Spark's errors in a pipeline, reported with their location."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.engine.spark.runtime.failures import SPARK_ERRORS, reason
from tidelog.errors import PipelineError

__all__ = ["naming"]


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Turn Spark's errors inside the block into a PipelineError that names the place."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise PipelineError(f"{place}: {reason(error)}") from error
