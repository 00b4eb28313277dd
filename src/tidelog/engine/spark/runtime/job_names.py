"""What Spark's own pages call the jobs that Tidelog starts: what was being done, in the words of the program.

Spark names a job after what its thread was called at the time: by a *description*, which its pages show, or
over Connect, which has none, by a *tag* of operations. Whoever works in a thread names what it does for as
long as it does it; then the thread gets back the name that it had, which may be the user's.
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
        """Jobs of this thread have this name, or one that is given meanwhile, until the end of the block."""
        before = self._threads.current
        self._threads.call(name)
        try:
            yield
        finally:
            self._threads.call(before)

    @contextmanager
    def taking(self, relation: str) -> Iterator[None]:
        """Inside this block the data of a relation is taken in."""
        with self.named(f"Tidelog · taking in {relation}"), failures_told(f"hand over rows for {relation}"):
            yield

    def name(self, name: str) -> None:
        """Jobs of this thread have this name from now on; inside a block of `named`."""
        self._threads.call(name)


class _Descriptions:
    def __init__(self, context: SparkContext) -> None:
        self._context = context

    @property
    def current(self) -> str | None:
        name: str | None = self._context.getLocalProperty(_DESCRIPTION)
        return name

    def call(self, name: str | None) -> None:
        unset: Any = None  # removes the property, though PySpark's types do not say so
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
        self._own.tag = None if name is None else name.replace(",", ";")  # a comma may not be in a tag
        if self._own.tag is not None:
            self._spark.addTag(self._own.tag)


def step_name(work: str, step: Progress) -> str:
    """The name of a step of some work: the relations, the round, and the rule, if it is one rule's."""
    rounds = f" · round {step.round + 1:,}" if step.round else ""
    rule = f": {' '.join(step.rule.split())}" if step.rule else ""
    return f"{work} · {step.name}{rounds}{rule}"
