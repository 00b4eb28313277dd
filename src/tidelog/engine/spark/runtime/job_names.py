"""Names for the Spark jobs that Tidelog starts, in the words of the program, as the Spark UI shows them.

Spark names a job after its thread at the time: by a *description*, which the UI shows, or over Connect, which
has no descriptions, by an operation *tag*. A thread is named for the duration of some work. Afterwards its
previous name, which may be the user's, is restored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.failures import failures_told
from tidelog.progress import Progress

__all__ = ["JobNames", "step_name"]

_DESCRIPTION: Final = "spark.job.description"  # the local property that `setJobDescription` sets


class JobNames:
    def __init__(self, spark: SparkSession) -> None:
        context = getattr(spark, "sparkContext", None)
        self._threads: _Descriptions | _Tags = _Tags(spark) if context is None else _Descriptions(context)

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Until the end of the block, jobs of this thread have this name, or one that `name` sets."""
        before = self._threads.current
        self._threads.call(name)
        try:
            yield
        finally:
            self._threads.call(before)

    @contextmanager
    def taking(self, relation: str) -> Iterator[None]:
        """Inside this block, Spark evaluates the data to be inserted into or deleted from a relation."""
        with self.named(f"Tidelog · ingesting {relation}"), failures_told(f"read the rows for {relation}"):
            yield

    def name(self, name: str) -> None:
        """Rename the jobs of this thread from now on; for use inside a block of `named`."""
        self._threads.call(name)


class _Descriptions:
    def __init__(self, context: SparkContext) -> None:
        self._context = context

    @property
    def current(self) -> str | None:
        name: str | None = self._context.getLocalProperty(_DESCRIPTION)
        return name

    def call(self, name: str | None) -> None:
        unset: Any = None  # removes the property, although PySpark's types do not allow it
        self._context.setLocalProperty(_DESCRIPTION, unset if name is None else name)


class _Tags:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._own = threading.local()

    @property
    def current(self) -> str | None:
        tag: str | None = getattr(self._own, "tag", None)
        return tag

    def call(self, name: str | None) -> None:
        if self.current is not None:
            self._spark.removeTag(self.current)
        self._own.tag = None if name is None else name.replace(",", ";")  # tags must not contain commas
        if self._own.tag is not None:
            self._spark.addTag(self._own.tag)


def step_name(work: str, step: Progress) -> str:
    """The name of a step of some work: the relations, the round, and the rule if there is only one."""
    rounds = f" · round {step.round + 1:,}" if step.round else ""
    rule = f": {' '.join(step.rule.split())}" if step.rule else ""
    return f"{work} · {step.name}{rounds}{rule}"
