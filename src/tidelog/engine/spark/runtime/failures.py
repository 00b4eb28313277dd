"""Spark's errors as EngineError: the cause, without stack traces, and the remedy where one is known."""

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

# the errors that Spark raises; some are Java's, passed on unchanged
SPARK_ERRORS: Final = (PySparkException, Py4JError)

_LENGTH: Final = 300
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+")
_CONDITION: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_DEPTH: Final = 20
# the exception after the indented lines of a traceback
_RAISED: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+(\S[^\n]*)")
_ABSENT: Final = (
    "; Tidelog and the modules of functions that rules call must be importable on the executors; if they run "
    f"a different Python, set PYSPARK_PYTHON to {sys.executable} before creating the session"
)
_ANOTHER_PYTHON: Final = (
    "the workers of this Spark session run a different Python, or cannot find one; set PYSPARK_PYTHON to "
    f"{sys.executable}, or to the same version of Python elsewhere, before creating the session"
)
# messages of workers that do not start or have another version of Python
_WORKERS: Final = re.compile(
    r"PYTHON_VERSION_MISMATCH|Cannot run program|No module named '?pyspark|Error from python worker"
)
_TOO_LARGE: Final = (
    "; raise spark.driver.maxResultSize when creating the session, or use placement='tasks' or 'shuffled'"
)


@contextmanager
def failures_told(what: str) -> Iterator[None]:
    """Inside this block, Spark's errors become EngineError: Spark could not do `what`."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise EngineError(f"Spark could not {what}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """The cause of an error, without stack, class names and codes; if a Python task raised, its exception.

    Of an exception and its causes, this is the innermost with an error condition of Spark. If a file could
    not be read, it is the innermost of all.
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
    """The lines of a message before a stack trace or a plan."""
    for line in text.strip().splitlines():
        if not line.strip() or line.lstrip().startswith(("at ", "JVM stacktrace", "'")):
            return
        if not line.startswith("An error occurred while calling"):
            yield line.strip().removeprefix(": ")


def _messages(found: Any) -> Iterator[str]:
    """The messages of a Java exception and its causes, outermost first."""
    for _ in range(_DEPTH):
        if found is None:
            return
        message = found.getMessage()
        if message and not message.startswith("Job aborted"):
            yield message
        found = found.getCause()
