"""How far work has come, as a value and as a line on a terminal.

Whoever works makes a `Progress` now and then and gives it to a `Report`, which is any function. `Line` is the
report for a person who watches: one line that is written over and over, and gone when the work is done.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TextIO, TypeAlias

__all__ = ["Line", "Progress", "Report", "end"]

_ERASE: Final = "\r\x1b[2K"
_VERBS: Final = {"read": "reading", "write": "writing"}


@dataclass(frozen=True, slots=True)
class Progress:
    """The work is at `name`, number `number` of `total`.

    `task` is "read" or "write" for files, "derive" for relations that rules derive together. Of the latter,
    `round` counts rounds of a recursion, `delta` is how many tuples the last of them brought or took away,
    `rows` is what the relations have after it, and `rule` is at work. `seconds` is how long the commit has
    taken.
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

    def __str__(self) -> str:
        place = f"{self.number:,} of {self.total:,}"
        if self.task != "derive":
            return f"{_VERBS[self.task]} {self.name} ({place})"
        rounds = f"round {self.round:,}, delta {self.delta:,}, {self.rows:,} rows, " if self.round else ""
        rule = f": {self.rule}" if self.rule else ""
        return f"{self.name} ({place}), {rounds}{self.seconds:.1f} s{rule}"


Report: TypeAlias = Callable[[Progress], object]


class Line:
    """A line of a terminal that says what is going on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = False

    def __call__(self, progress: object) -> None:
        text = " ".join(str(progress).split())
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(_ERASE + (text if len(text) <= width else f"{text[: width - 1]}…"))
        self._stream.flush()
        self._is_shown = True

    def clear(self) -> None:
        """Leave the line as it was before."""
        if self._is_shown:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._is_shown = False


def end(report: Report | None) -> None:
    """There is nothing more to report for now."""
    if isinstance(report, Line):
        report.clear()
