"""What Spark says when something goes wrong, in one line that a person can use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from tidelog.errors import PipelineError

__all__ = ["naming", "reason"]

_LENGTH: Final = 300
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+")
_CONDITION: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_DEPTH: Final = 20


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Whatever Spark raises inside is a PipelineError that names the place."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise PipelineError(f"{place}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """What is wrong, without stack, class names and codes.

    Of an exception and its causes, the innermost that Spark has a name for says it best; where a file could
    not be read, the innermost of all.
    """
    said = list(_messages(error.java_exception)) if isinstance(error, Py4JJavaError) else [str(error)]
    named = [text for text in said if _CONDITION.match(text) and not text.startswith("[FAILED_READ_FILE")]
    best = next(reversed(named or said), "") or type(error).__name__
    text = _CONDITION.sub("", _STATE.sub("", " ".join(_said(best))))
    return text if len(text) <= _LENGTH else text[:_LENGTH] + "…"


def _said(text: str) -> Iterator[str]:
    """The lines of a message up to where a stack or a plan begins."""
    for line in text.strip().splitlines():
        if not line.strip() or line.lstrip().startswith(("at ", "JVM stacktrace", "'")):
            return
        yield line.strip()


def _messages(found: Any) -> Iterator[str]:
    """What an exception of Java and its causes say, outermost first."""
    for _ in range(_DEPTH):
        if found is None:
            return
        message = found.getMessage()
        if message and not message.startswith("Job aborted"):
            yield message
        found = found.getCause()
