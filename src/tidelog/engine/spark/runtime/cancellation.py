"""Cancels Spark's jobs when their results are no longer wanted.

A thread that waits for a job waits in Java, which checks neither interrupts nor timeouts. So the jobs of a
commit have a tag, and a separate thread checks periodically whether the commit should end. If so, it cancels
all jobs with the tag, and the wait ends with an error from Spark.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final

from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.failures import SPARK_ERRORS

__all__ = ["Stopper"]

EVERY: Final = 0.2  # seconds


class Stopper:
    """Inside a `with` block, cancels the jobs of this thread once `is_over` returns true.

    `has_stopped` says whether it did.
    """

    def __init__(self, spark: SparkSession, is_over: Callable[[], bool]) -> None:
        self.has_stopped = False
        context: Any = getattr(spark, "sparkContext", None)
        on_context = ("addJobTag", "removeJobTag", "cancelJobsWithTag")
        on_session = ("addTag", "removeTag", "interruptTag")  # over Connect
        names = on_session if context is None else on_context
        calls = [getattr(spark if context is None else context, name) for name in names]
        self._add, self._remove, self._cancel = calls
        self._tag = f"tidelog-{uuid.uuid4().hex}"
        self._is_over = is_over
        self._is_left = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tidelog-stopper", daemon=True)

    def _watch(self) -> None:
        while not self._is_left.wait(EVERY):
            if self._is_over():
                self.has_stopped = True
                with suppress(*SPARK_ERRORS):  # the waiting thread gets the error
                    self._cancel(self._tag)

    def __enter__(self) -> Stopper:
        self._add(self._tag)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_left.set()
        self._thread.join()
        self._remove(self._tag)
