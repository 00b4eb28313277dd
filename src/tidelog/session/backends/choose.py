"""Homes of sessions on Spark, by placement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from tidelog.engine.limits import Limits
from tidelog.engine.spark.frames.arrow import publisher
from tidelog.engine.spark.placement import Placement
from tidelog.engine.spark.runtime.job_names import JobNames
from tidelog.progress import Report
from tidelog.session.backends.adaptive import MovingState
from tidelog.session.backends.in_process import State
from tidelog.session.backends.protocol import Home
from tidelog.session.backends.spark import FrameState

__all__ = ["home"]

_IN_FRAMES: Final[Mapping[str, Placement]] = {"tasks": "tasks", "shuffled": "shuffled"}


def home(spark: Any, placement: str | None) -> Callable[[str, Limits, Report | None], Home]:
    """What makes the home of a session with this placement."""
    if placement is None:
        return partial(MovingState, spark=spark)
    if placement in _IN_FRAMES:
        return partial(FrameState, spark=spark, placement=_IN_FRAMES[placement])
    taking = JobNames(spark).taking
    return partial(State, publish=publisher(spark), place="driver: as asked", taking=taking)
