"""What Spark measures of each batch of a stream, as further lines of metrics.

Spark calls a listener from a thread of its own, some time after the batch. The streams of a pipeline have
names such as `streams.Edge`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

__all__ = ["StreamListener", "listening"]

_PATIENCE: Final = 5.0  # seconds for the last events, which Spark delivers later


class StreamListener(StreamingQueryListener):
    """Hands the progress of the streams with these names to `append`, as plain data."""

    def __init__(self, names: frozenset[str], append: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._names = names
        self._append = append
        self._ours: dict[str, str] = {}  # running queries, by their run
        self._lock = threading.Lock()
        self._has_ended = threading.Event()

    def wait(self) -> None:
        """Wait until Spark has told that all queries ended, but not long."""
        with self._lock:
            if not self._ours:
                return
        self._has_ended.wait(_PATIENCE)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        if event.name in self._names:
            with self._lock:
                self._ours[str(event.runId)] = event.name

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress
        if progress.name in self._names:
            self._append(
                {
                    "event": "progress",
                    "time": progress.timestamp,
                    "stream": progress.name,
                    "batch": progress.batchId,
                    "input_rows": progress.numInputRows,
                    "input_rows_per_second": progress.inputRowsPerSecond,
                    "processed_rows_per_second": progress.processedRowsPerSecond,
                    "milliseconds": dict(progress.durationMs),
                }
            )

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        with self._lock:
            self._ours.pop(str(event.runId), None)
            if not self._ours:
                self._has_ended.set()


@contextmanager
def listening(spark: SparkSession, listener: StreamListener | None) -> Iterator[None]:
    """Inside this block, the listener hears of the streams of a session."""
    if listener is None:
        yield
        return
    spark.streams.addListener(listener)
    try:
        yield
        listener.wait()
    finally:
        spark.streams.removeListener(listener)
