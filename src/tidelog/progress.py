"""How far work has come, as a value and as a line on a terminal.

Whoever works makes a `Progress` now and then and gives it to a `Report`, which is any function. `Line` is the
report for a person who watches: one line that is written over and over, and gone when the work is done.
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
    """The work is at `name`, number `number` of `total`.

    `task` is "read" or "write" for files, "derive" for relations that rules derive together. Of the latter,
    `round` counts rounds of a recursion, `delta` is how many tuples the last of them brought or took away,
    `rows` is what the relations have after it, and `rule` is at work. `seconds` is how long the commit has
    taken. On Spark, `done` of `tasks` tasks of the stages at work are done.
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
        """How many of all are behind, as a bar."""
        behind = _BAR * (self.number - 1) // max(self.total, 1)
        return "█" * behind + "░" * (_BAR - behind)


Report: TypeAlias = Callable[[Progress], object]


class Line:
    """A line of a terminal that says what is going on; any thread may write it."""

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
        """Leave the line as it was before."""
        with self._writing:
            if self._is_shown:
                self._stream.write(_ERASE)
                self._stream.flush()
                self._is_shown = False


def end(report: Report | None) -> None:
    """There is nothing more to report for now."""
    if isinstance(report, Line):
        report.clear()
