"""Updates the progress line while Spark works.

A step may take minutes, during which a commit reports nothing. Meanwhile a separate thread updates the line
with the elapsed time and the number of completed tasks of the active stages. (Over Connect only the time:
Spark does not report stages there.)
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Final

from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.failures import SPARK_ERRORS
from tidelog.progress import Line, Progress

__all__ = ["Ticker"]

EVERY: Final = 0.5  # seconds


class Ticker:
    """Inside a `with` block, rewrites the line periodically for the last step."""

    def __init__(self, spark: SparkSession, line: Line) -> None:
        context = getattr(spark, "sparkContext", None)
        self._tracker = None if context is None else context.statusTracker()
        self._line = line
        self._step: tuple[Progress, float] | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._tick_on, name="tidelog-progress", daemon=True)

    def step(self, step: Progress) -> None:
        """Begin a step."""
        self._step = step, time.perf_counter()
        self._line(step)

    def tick(self) -> None:
        """Write the line with the current figures."""
        if self._step is None:
            return
        step, since = self._step
        done, tasks = self._tasks()
        self._line(replace(step, seconds=step.seconds + time.perf_counter() - since, done=done, tasks=tasks))

    def _tasks(self) -> tuple[int, int]:
        """How many tasks of the active stages are completed, and how many there are."""
        if self._tracker is None:
            return 0, 0
        infos = [self._tracker.getStageInfo(stage) for stage in self._tracker.getActiveStageIds()]
        found = [info for info in infos if info is not None]
        return sum(i.numCompletedTasks for i in found), sum(i.numTasks for i in found)

    def _tick_on(self) -> None:
        with suppress(*SPARK_ERRORS):  # Spark is stopping; the waiting thread gets the error
            while not self._is_over.wait(EVERY):
                self.tick()

    def __enter__(self) -> Ticker:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
