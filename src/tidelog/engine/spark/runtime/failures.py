"""Spark's errors as ours: what a person needs of them, and what can be done."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from tidelog.errors import EngineError

__all__ = ["SPARK_ERRORS", "failures_told", "reason"]

# what Spark raises when it cannot do something; some of it comes as it is in Java
SPARK_ERRORS: Final = (PySparkException, Py4JError)

_LENGTH: Final = 300
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+")
_CONDITION: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_DEPTH: Final = 20
# the exception at the end of a traceback, whose lines are indented
_RAISED: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+(\S[^\n]*)")
_ABSENT: Final = (
    "; Tidelog, and the modules of functions that rules call, must be importable on the executors: if these "
    f"run another Python than this one, set PYSPARK_PYTHON to {sys.executable} before the session is made"
)
_ANOTHER_PYTHON: Final = (
    "the workers of this Spark session run another Python than this one, or none; set PYSPARK_PYTHON to "
    f"{sys.executable}, or to the same Python elsewhere, before the session is made"
)
# what is said where workers do not start, or find that they are of another version
_WORKERS: Final = re.compile(
    r"PYTHON_VERSION_MISMATCH|Cannot run program|No module named '?pyspark|Error from python worker"
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
        raise EngineError(f"Spark could not {what}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """What is wrong, without stack, class names and codes: what a Python task raised, if it did.

    Of an exception and its causes, the innermost that Spark has a name for says it best; where a file could
    not be read, the innermost of all.
    """
    if _WORKERS.search(str(error)):
        return _ANOTHER_PYTHON
    raised = _RAISED.search(str(error))
    if raised is not None:
        return f"{raised[1]}, in a task{_ABSENT if raised[1].startswith('ModuleNotFoundError') else ''}"
    said = list(_messages(error.java_exception)) if isinstance(error, Py4JJavaError) else []
    said = said or [str(error)]
    named = [text for text in said if _CONDITION.match(text) and not text.startswith("[FAILED_READ_FILE")]
    best = next(reversed(named or said), "") or type(error).__name__
    text = _CONDITION.sub("", _STATE.sub("", " ".join(_said(best))))
    shown = text if len(text) <= _LENGTH else text[:_LENGTH] + "…"
    return f"{shown}{_TOO_LARGE if 'spark.driver.maxResultSize' in text else ''}"


def _said(text: str) -> Iterator[str]:
    """The lines of a message up to where a stack or a plan begins."""
    for line in text.strip().splitlines():
        if not line.strip() or line.lstrip().startswith(("at ", "JVM stacktrace", "'")):
            return
        if not line.startswith("An error occurred while calling"):
            yield line.strip().removeprefix(": ")


def _messages(found: Any) -> Iterator[str]:
    """What an exception of Java and its causes say, outermost first."""
    for _ in range(_DEPTH):
        if found is None:
            return
        message = found.getMessage()
        if message and not message.startswith("Job aborted"):
            yield message
        found = found.getCause()
