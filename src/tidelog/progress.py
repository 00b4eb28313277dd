"""Progress of long operations, as a value and as a line on a terminal.

Long operations call a `Report`, which is any function, with a `Progress` from time to time. `Line` is the
report for a terminal: a single line that is overwritten and finally erased.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TextIO, TypeAlias

__all__ = ["Line", "Progress", "Report", "end"]

_ERASE: Final = "\r\x1b[2K"
_BAR: Final = 10  # characters
_VERBS: Final = {"read": "reading", "write": "writing"}


@dataclass(frozen=True, slots=True)
class Progress:
    """The operation has reached `name`, number `number` of `total`.

    `task` is "read" or "write" for files, "derive" for a stratum. For a stratum, `round` counts the rounds of
    a recursion, `delta` is the number of tuples that the last round added or removed, `rows` is the number of
    rows after it, and `rule` is the rule being evaluated. `seconds` is the time the commit has taken so far.
    On Spark, `done` of the `tasks` tasks in the active stages are complete.
    """

    task: Literal["read", "derive", "write"]
    name: str
    number: int
    total: int
    round: int = 0
    rows: int = 0
    rule: str = ""
    seconds: float = 0.0
    delta: int = 0
    done: int = 0
    tasks: int = 0

    def __str__(self) -> str:
        place = f"{self.number:,} of {self.total:,}"
        if self.task != "derive":
            return f"{_VERBS[self.task]} {self.name} ({place})"
        rounds = f"round {self.round:,}, delta {self.delta:,}, {self.rows:,} rows, " if self.round else ""
        tasks = f", {self.done:,} of {self.tasks:,} tasks" if self.tasks else ""
        rule = f": {self.rule}" if self.rule else ""
        return f"{self.name} ({place}), {rounds}{self.seconds:.1f} s{tasks}{rule}"

    @property
    def bar(self) -> str:
        """The completed share as a bar."""
        behind = _BAR * (self.number - 1) // max(self.total, 1)
        return "█" * behind + "░" * (_BAR - behind)


Report: TypeAlias = Callable[[Progress], object]


class Line:
    """A status line on a terminal. Any thread may write it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = False
        self._writing = threading.Lock()

    def __call__(self, progress: object) -> None:
        bar = [progress.bar] if isinstance(progress, Progress) else []
        text = " ".join([*bar, *str(progress).split()])
        width = shutil.get_terminal_size().columns - 1
        with self._writing:
            self._stream.write(_ERASE + (text if len(text) <= width else f"{text[: width - 1]}…"))
            self._stream.flush()
            self._is_shown = True

    def clear(self) -> None:
        """Erase the line."""
        with self._writing:
            if self._is_shown:
                self._stream.write(_ERASE)
                self._stream.flush()
                self._is_shown = False


def end(report: Report | None) -> None:
    """Tell a report that the operation is over: a terminal line is erased."""
    if isinstance(report, Line):
        report.clear()
