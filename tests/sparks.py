"""The Spark session of the tests in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["BRIEF", "session"]

# Java without its optimizing compiler, which takes a third of the time of tests and more than it saves, and
# with half the memory, since several processes test at once
BRIEF = "-XX:MaxRAMPercentage=15 -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def session() -> Iterator[SparkSession]:
    """The session that Tidelog makes; its tasks find the modules of the tests."""
    pytest.importorskip("pyspark")
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        make = import_module("tidelog.engine.spark.runtime.session").local_session
        running = import_module("pyspark").SparkContext._active_spark_context
        made: SparkSession = make(conf=None if running else {"spark.driver.extraJavaOptions": BRIEF})
    yield made
    made.stop()
