"""Writes frames to files, and releases their blocks and files, with more of Spark than its public API.

`unpersist` does nothing for a checkpointed frame. Its blocks stay until Java's garbage collector finds them
unused, which may be long after memory ran out. Its files stay forever, unless the user has set
`spark.cleaner.referenceTracking.cleanCheckpoints`; so do those of a frame whose job failed, which only Spark
can name. On classic Spark, this module accesses the data behind the frame and drops it; over Connect that is
left to Spark.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

from pyspark.sql import DataFrame

from tidelog.engine.spark.runtime.failures import SPARK_ERRORS

__all__ = ["checkpointed", "release"]

# seconds until tasks have ended that nobody waits for: of a job that failed, and those that others overtook
_ENDING: Final = 3.0
_OVERTAKEN: Final = 30.0


def checkpointed(frame: DataFrame) -> DataFrame:
    """A frame written to files, which are deleted when nothing can read them; if writing fails, at once.

    With speculation, several attempts of a task may write. Where a file system lets a later one replace the
    file of another, it must not do so between two readers: its rows may name another state. So nothing is
    read before the last attempt has ended.
    """
    if getattr(frame, "_jdf", None) is None:  # over Connect
        return frame.checkpoint()
    context, spark = frame.sparkSession.sparkContext, _context(frame)
    tag, first = f"tidelog-{uuid4().hex}", spark.newRddId()
    context.addJobTag(tag)
    try:
        held = frame.checkpoint()  # eager in any case: otherwise Spark would compute the rows twice
    except BaseException:
        with suppress(*SPARK_ERRORS):
            _delete_unfinished(frame, _ended(spark, tag, _ENDING), first)
        raise
    finally:
        with suppress(*SPARK_ERRORS):
            context.removeJobTag(tag)
    if spark.conf().getBoolean("spark.speculation", False):
        with suppress(*SPARK_ERRORS):
            _ended(spark, tag, _OVERTAKEN)
    _delete_when_unused(held)
    return held


def _ended(spark: Any, tag: str, patience: float) -> list[int]:
    """The stages of the jobs with a tag, when none of their tasks runs any more, or after some seconds."""
    spark.listenerBus().waitUntilEmpty()
    store = spark.statusStore()
    jobs = spark.statusTracker().getJobIdsForTag(tag)
    stages = [stage for job in jobs for stage in _each(store.job(job).stageIds())]
    end = time.monotonic() + patience
    while time.monotonic() < end and any(_is_running(store, stage) for stage in stages):
        time.sleep(0.05)
    return stages


def _is_running(store: Any, stage: int) -> bool:
    """Whether tasks of a stage run."""
    return any(attempt.numActiveTasks() for attempt in _attempts(store, stage))


def _attempts(store: Any, stage: int) -> Iterator[Any]:
    """What Spark knows of the attempts of a stage, without their tasks."""
    statuses, quantiles = (getattr(store, f"stageData$default${number}")() for number in (3, 5))
    return _each(store.stageData(stage, False, statuses, False, quantiles))


def _delete_unfinished(frame: DataFrame, stages: Sequence[int], first: int) -> None:
    """Delete what stages have written of a frame; the number of its data is above the `first`."""
    spark = _context(frame)
    for stage in stages:
        for attempt in _attempts(spark.statusStore(), stage):
            for data in _each(attempt.rddIds()):
                if data > first:
                    files, path = _located(frame, f"{spark.getCheckpointDir().get()}/rdd-{data}")
                    files.delete(path, True)


def _each(sequence: Any) -> Iterator[Any]:
    """The elements of a sequence of Scala."""
    return (sequence.apply(i) for i in range(sequence.size()))


def release(frame: DataFrame) -> None:
    """Drop the blocks or files of a checkpointed frame; nothing made from it can be read afterwards."""
    try:
        data = _data(frame)
        if data is None:
            frame.unpersist()
            return
        data.unpersist(False)
        if (file := data.getCheckpointFile()).isDefined():
            files, path = _located(frame, file.get())
            files.delete(path, True)
            files.cancelDeleteOnExit(path)
    except SPARK_ERRORS:  # the plan is not a checkpoint, or Spark is stopping: there is nothing to release
        return


def _delete_when_unused(frame: DataFrame) -> None:
    """Have the files of a checkpointed frame deleted when nothing can read them any more.

    That is when Java's garbage collector finds that no plan uses the frame, or when Java ends.
    """
    data = _data(frame)
    files, path = _located(frame, data.getCheckpointFile().get())
    files.deleteOnExit(path)
    cleaner = _context(frame).cleaner()
    if cleaner.isDefined():
        cleaner.get().registerRDDCheckpointDataForCleanup(data, data.id())


def _data(frame: DataFrame) -> Any:
    """Java's RDD of a checkpointed frame; None over Connect."""
    java = getattr(frame, "_jdf", None)
    return None if java is None else java.queryExecution().logical().rdd()


def _context(frame: DataFrame) -> Any:
    return frame.sparkSession.sparkContext._jsc.sc()


def _located(frame: DataFrame, file: str) -> tuple[Any, Any]:
    """The file system of a checkpoint, and its path there."""
    java: Any = frame.sparkSession._jvm
    path = java.org.apache.hadoop.fs.Path(file)
    return path.getFileSystem(_context(frame).hadoopConfiguration()), path
