"""Giving back what a cut of a plan holds: the one place that knows more of Spark than its public API.

`unpersist` does nothing for a frame that was checkpointed. Blocks stay until Java's collector finds them
unused, which may be long after memory ran out; files stay for ever, unless the user has thought of
`spark.cleaner.referenceTracking.cleanCheckpoints`. On classic Spark the data behind the frame is reached, and
dropped; elsewhere (over Connect) that is left to Spark.
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
    except SPARK_ERRORS:  # the plan is no checkpoint, or Spark is stopping: there is nothing to give back
        return


def delete_when_unused(frame: DataFrame) -> None:
    """See to it that the files of a checkpointed frame go when nothing can read them any more.

    That is when Java's collector finds that no plan has the frame, or when Java ends.
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
    """What Java holds for a checkpointed frame; None where there is no Java to ask."""
    java = getattr(frame, "_jdf", None)
    return None if java is None else java.queryExecution().logical().rdd()


def _context(frame: DataFrame) -> Any:
    return frame.sparkSession.sparkContext._jsc.sc()


def _located(frame: DataFrame, file: str) -> tuple[Any, Any]:
    """The file system of a checkpoint, and its path there."""
    java: Any = frame.sparkSession._jvm
    path = java.org.apache.hadoop.fs.Path(file)
    return path.getFileSystem(_context(frame).hadoopConfiguration()), path
