"""Homes of sessions on Spark, by placement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from tidelog.engine.spark.choice import Placement
from tidelog.engine.spark.naming import JobNames
from tidelog.engine.spark.publish import publisher
from tidelog.engine.watch import Limits
from tidelog.progress import Report
from tidelog.session.frame_state import FrameState
from tidelog.session.home import Home
from tidelog.session.moving import MovingState
from tidelog.session.state import State

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
