"""Writes frames to files, and releases their blocks and files, with more of Spark than its public API.

`unpersist` does nothing for a checkpointed frame. Its blocks stay until Java's garbage collector finds them
unused, which may be long after memory ran out. Its files stay forever, unless the user has set
`spark.cleaner.referenceTracking.cleanCheckpoints`; so do those of a frame whose job failed, which only Spark
can name. On classic Spark, this module accesses the data behind the frame and drops it; over Connect that is
left to Spark.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

from pyspark.sql import DataFrame

from tidelog.engine.spark.runtime.failures import SPARK_ERRORS

__all__ = ["checkpointed", "release"]

_ENDING: Final = 3.0  # seconds for the tasks of a job that failed


def checkpointed(frame: DataFrame) -> DataFrame:
    """A frame written to files, which are deleted when nothing can read them; if writing fails, at once."""
    if getattr(frame, "_jdf", None) is None:  # over Connect
        return frame.checkpoint()
    context = frame.sparkSession.sparkContext
    tag, first = f"tidelog-{uuid4().hex}", _context(frame).newRddId()
    context.addJobTag(tag)
    try:
        held = frame.checkpoint()  # eager in any case: otherwise Spark would compute the rows twice
    except BaseException:
        with suppress(*SPARK_ERRORS):
            _delete_unfinished(frame, tag, first)
        raise
    finally:
        with suppress(*SPARK_ERRORS):
            context.removeJobTag(tag)
    _delete_when_unused(held)
    return held


def _delete_unfinished(frame: DataFrame, tag: str, first: int) -> None:
    """Delete what jobs with a tag have written of a frame, whose data has a number above the `first`."""
    spark = _context(frame)
    spark.listenerBus().waitUntilEmpty()
    stages = [
        number
        for job in spark.statusTracker().getJobIdsForTag(tag)
        for number in _each(spark.statusStore().job(job).stageIds())
    ]
    end = time.monotonic() + _ENDING
    for stage in stages:
        while spark.statusStore().lastStageAttempt(stage).numActiveTasks() and time.monotonic() < end:
            time.sleep(0.05)  # they would write files after these are deleted
        for data in _each(spark.statusStore().lastStageAttempt(stage).rddIds()):
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
