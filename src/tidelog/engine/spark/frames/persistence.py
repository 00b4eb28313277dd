"""How evaluated frames are persisted: in the memory of this machine, or in files that all machines share.

With everything in one process (a master `local` or `local[…]`), blocks stay where they were computed: they
can only be lost together with their readers. On a cluster, an executor may be lost at any moment, and its
blocks with it. There a frame is written to the session's checkpoint folder, which every executor can read.
Either way the plan is truncated, and the partitioning of its rows is preserved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from tidelog.engine.spark.frames.release import checkpointed
from tidelog.engine.spark.partitions.scratch import Scratch
from tidelog.errors import SessionError

__all__ = ["Holding", "holding"]

_LOCAL: Final = re.compile(r"local(\[[^\]]*\])?")
_FILE: Final = re.compile("^file:/+")


@dataclass(frozen=True, slots=True)
class Holding:
    """`folder` is for files, which outlive executors; without one, blocks are persisted."""

    folder: str | None = None

    @property
    def is_eager(self) -> bool:
        """Whether a frame is evaluated at once, by a job of its own."""
        return self.folder is not None

    def hold(self, frame: DataFrame, *, eager: bool = False) -> DataFrame:
        """The same rows, persisted by the first action on all of them, or here if `eager`."""
        if self.folder is None:
            return frame.localCheckpoint(eager=eager)
        return checkpointed(frame)

    def scratch(self) -> Scratch:
        """A new folder for the files of tasks, which every task can access."""
        return Scratch() if self.folder is None else Scratch.under(_address(self.folder))


def holding(spark: SparkSession) -> Holding:
    """How a session persists frames; SessionError if it is on a cluster without a checkpoint folder."""
    master = spark.conf.get("spark.master", None) or "local"
    if _LOCAL.fullmatch(master):
        return Holding()
    folder = _folder(spark)
    if not folder:
        raise SessionError(
            f"this Spark session runs on a cluster ({master}), where executors may be lost, and has no "
            "checkpoint folder for their results; set spark.checkpoint.dir to a folder that all "
            "machines share (on HDFS, S3, a network drive, …), or call "
            'spark.sparkContext.setCheckpointDir("…") before tidelog.open'
        )
    return Holding(folder)


def _folder(spark: SparkSession) -> str | None:
    context = getattr(spark, "sparkContext", None)  # over Connect there is none
    folder: str | None
    folder = spark.conf.get("spark.checkpoint.dir", None) if context is None else context.getCheckpointDir()
    return folder


def _address(folder: str) -> str:
    """A Hadoop folder as PyArrow writes it: `file:` addresses as plain paths, `s3a:` and `s3n:` as `s3:`."""
    if _FILE.match(folder):
        return _FILE.sub("/", folder)
    return re.sub("^s3[an]:", "s3:", folder)
