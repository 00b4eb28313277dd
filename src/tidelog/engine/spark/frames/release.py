"""Releases the blocks and files of checkpointed frames, with more of Spark than its public API.

`unpersist` does nothing for a checkpointed frame. Its blocks stay until Java's garbage collector finds them
unused, which may be long after memory ran out. Its files stay forever, unless the user has set
`spark.cleaner.referenceTracking.cleanCheckpoints`. On classic Spark, this module accesses the data behind the
frame and drops it; over Connect that is left to Spark.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from tidelog.engine.spark.runtime.failures import SPARK_ERRORS

__all__ = ["delete_when_unused", "release"]


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


def delete_when_unused(frame: DataFrame) -> None:
    """Have the files of a checkpointed frame deleted when nothing can read them any more.

    That is when Java's garbage collector finds that no plan uses the frame, or when Java ends.
    """
    data = _data(frame)
    if data is None:
        return
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
