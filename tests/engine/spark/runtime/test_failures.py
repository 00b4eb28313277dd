"""What Spark says when it fails, as users are told it."""

from __future__ import annotations

from importlib import import_module

import pytest

from tidelog.errors import EngineError

pytestmark = pytest.mark.spark

TOO_LARGE = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Job aborted: Total size of serialized results of 9 tasks (1.1 GiB) \
is bigger than spark.driver.maxResultSize (1024.0 MiB)
\tat org.apache.spark.Nothing.nothing(Nothing.scala:1)"""
ABSENT = """Job aborted
Traceback (most recent call last):
  File "worker.py", line 1, in main
ModuleNotFoundError: No module named 'prices'

\tat org.apache.spark.Nothing.nothing(Nothing.scala:1)"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TOO_LARGE, "is bigger than .*; raise spark.driver.maxResultSize .*or use placement="),
        (ABSENT, "No module named 'prices', in a task; Tidelog and the modules .* must be importable"),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version",
            "run a different Python, .*PYSPARK_PYTHON",
        ),
        ('java.io.IOException: Cannot run program "python3": error=2', "set PYSPARK_PYTHON to .*python"),
        ("", "Spark could not read the rows: PySparkException"),
    ],
)
def test_spark_s_errors_are_told_with_what_can_be_done(text: str, told: str) -> None:
    errors = pytest.importorskip("pyspark.errors")
    failures = import_module("tidelog.engine.spark.runtime.failures")
    with pytest.raises(EngineError, match=told) as raised, failures.failures_told("read the rows"):
        raise errors.PySparkException(text)
    assert "Nothing.scala" not in str(raised.value)
