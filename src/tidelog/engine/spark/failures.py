"""Spark's errors as ours: what a person needs of them, and what can be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tidelog.errors import EngineError

__all__ = ["SPARK_ERRORS", "failures_told"]

# what Spark raises when it cannot do something; some of it comes as it is in Java
SPARK_ERRORS: Final = (PySparkException, Py4JError)

# the exception at the end of a traceback, whose lines are indented
_RAISED: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+(\S[^\n]*)")
_ABSENT: Final = (
    "; Tidelog, and the modules of functions that rules call, must be importable on the executors"
)
_TOO_LARGE: Final = (
    "; set spark.driver.maxResultSize higher when the session is made, "
    "or choose placement='tasks' or 'shuffled'"
)


@contextmanager
def failures_told(what: str) -> Iterator[None]:
    """Inside this block, EngineError where Spark fails: it could not do this."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise EngineError(f"Spark could not {what}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """What a person needs of an error that carries a Java stack: what a Python task raised, if it did."""
    text = str(error)
    raised = _RAISED.search(text)
    if raised is not None:
        return f"{raised[1]}, in a task{_ABSENT if raised[1].startswith('ModuleNotFoundError') else ''}"
    lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "An error occurred"))]
    reason = next(iter(told or lines), type(error).__name__)
    return f"{reason}{_TOO_LARGE if 'spark.driver.maxResultSize' in text else ''}"
