"""Python workers of Tidelog's own sessions are forked from a process that has imported what tasks need."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _parent(batches: Iterable[Any]) -> Iterator[Any]:
    import psutil

    for _ in batches:
        command = psutil.Process(os.getppid()).cmdline()
        yield pa.RecordBatch.from_pydict({"command": [" ".join(command)]})


def test_workers_have_imported_the_engine(spark: SparkSession) -> None:
    ((command,),) = spark.range(1, numPartitions=1).mapInArrow(_parent, "command string").collect()
    assert "-m tidelog.engine.spark.runtime.daemon" in command


def test_another_python_for_workers_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    session = pytest.importorskip("tidelog.engine.spark.runtime.session")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable + "-other")
    assert session._daemon() == {}
    monkeypatch.delenv("PYSPARK_PYTHON")
    assert session._daemon()
