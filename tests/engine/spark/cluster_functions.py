"""A function for rules that does to its task what marks in a folder ask for.

The folder is named by the environment of the executors; elsewhere the function only passes its value on.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

GATE = 2  # the value at which things happen

_PATIENCE = 1500.0  # seconds; only so that a failure ends


def passed(n: int) -> int:
    """The same number; on the way the task is held, killed or outrun, if a mark says so."""
    marks = os.environ.get("TIDELOG_MARKS")
    if marks is not None and n == GATE:
        _suffer(Path(marks))
    return n


def _suffer(marks: Path) -> None:
    if _is_asked(marks / "hold"):
        (marks / f"held.{os.getpid()}").touch()
        _wait_for(marks / "go")
    if (marks / "die").exists() or _is_asked(marks / "die-once"):
        os.kill(os.getpid(), signal.SIGKILL)
    if _is_asked(marks / "be-outrun"):
        _wait_for(marks / "outrun")
    else:
        (marks / "outrun").touch()


def _is_asked(mark: Path) -> bool:
    """Whether the mark is there, for one who asks: it is gone then."""
    try:
        mark.unlink()
    except FileNotFoundError:
        return False
    return True


def _wait_for(mark: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not mark.exists():
        time.sleep(0.02)
        if time.monotonic() > deadline:
            mark.with_name("late").touch()
            return
