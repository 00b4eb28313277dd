"""Giving back what a cut of a plan holds: the one place that knows more of Spark than its public API.

`unpersist` does nothing for a frame that was checkpointed, and the blocks stay until Java's collector finds
them unused, which may be long after memory ran out. On classic Spark the data behind the frame is reached
and dropped; elsewhere (over Connect) that is left to Spark.
"""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

__all__ = ["release"]


def release(frame: DataFrame) -> None:
    """Drop the blocks of a checkpointed frame; nothing made from it can be read afterwards."""
    java = getattr(frame, "_jdf", None)
    if java is None:
        frame.unpersist()
        return
    try:
        java.queryExecution().logical().rdd().unpersist(False)
    except Py4JError:  # the plan is no checkpoint, or Spark is stopping: there is nothing to give back
        frame.unpersist()
