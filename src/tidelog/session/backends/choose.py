"""Backends of sessions on Spark, by placement."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from tidelog.engine.spark.frames.arrow import publisher
from tidelog.engine.spark.placement import Placement
from tidelog.engine.spark.runtime.job_names import JobNames
from tidelog.session.backends.adaptive import AdaptiveBackend
from tidelog.session.backends.local.state import LocalBackend
from tidelog.session.backends.protocol import MakeBackend
from tidelog.session.backends.spark.state import SparkBackend

__all__ = ["backend"]

_IN_FRAMES: Final[Mapping[str, Placement]] = {"tasks": "tasks", "shuffled": "shuffled"}


def backend(spark: Any, placement: str | None) -> MakeBackend:
    """A factory for the backend of a session with this placement."""
    if placement is None:
        return partial(AdaptiveBackend, spark=spark)
    if placement in _IN_FRAMES:
        return partial(SparkBackend, spark=spark, placement=_IN_FRAMES[placement])
    taking = JobNames(spark).taking
    return partial(LocalBackend, publish=publisher(spark), place="driver: as requested", taking=taking)
