"""A commit watched while it works: interrupts, limits, and reports for whoever waits.

An engine at work can be left at some places only. At each of them `Watch.look` is called; it is cheap, and
what it raises ends the commit. It knows which rules are at work, so that an error can name them.

Memory is what the process holds (its resident set), since rows, indexes, lists and values in the making all
count; a commit is charged with what the process has grown by since it began, and with what it is about to
take where that is much.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from traceback import clear_frames
from typing import Final

from tidelog.errors import EngineError
from tidelog.progress import Progress, Report

__all__ = ["Limits", "Watch", "bytes_of", "memory_errors", "raise_limit"]

REPORT_EVERY: Final = 0.1  # seconds
_WEIGH_EVERY: Final = 0.01
_MUCH: Final = 1_000_000  # bytes that are worth a weighing of their own
_TAKING_IN: Final = "facts were being taken in, and no rule was at work"
_NAMED: Final = 3  # rules in a message
_UNITS: Final = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
}
_SIZE: Final = re.compile(rf"([0-9]+(?:\.[0-9]+)?)\s*({'|'.join(_UNITS)})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a commit may use before it is refused; `max_memory` is in bytes."""

    max_iterations: int | None = 100_000
    max_rows: int | None = None
    timeout: float | None = None
    max_memory: int | None = None


class Watch:
    """`check` is called at every look, `report` (if there is one) now and then.

    `at_work` are the texts of the rules at work, or of those that were last.
    """

    def __init__(self, limits: Limits, check: Callable[[], None], report: Report | None) -> None:
        self.start = time.perf_counter()
        self.at_work: tuple[str, ...] = ()
        self._limits = limits
        self._check = check
        self._report = report
        self._late = math.inf if limits.timeout is None else self.start + limits.timeout
        self._next_report = math.inf if report is None else self.start + REPORT_EVERY
        self._next_weighing = math.inf if limits.max_memory is None else self.start
        self._held = 0 if limits.max_memory is None else _resident()

    def look(self, where: Callable[[], Progress], ahead: int = 0) -> None:
        """End the commit if it is to end, and tell how far it is, if it is time for that.

        `ahead` is how many bytes are about to be taken.
        """
        self._check()
        now = self.expect_time()
        if now >= self._next_weighing or ahead > _MUCH:
            self._next_weighing = now + _WEIGH_EVERY
            self._weigh(ahead)
        if now >= self._next_report and self._report is not None:
            self._next_report = now + REPORT_EVERY
            self._report(where())

    def expect_time(self) -> float:
        """EngineError if time is up; the time."""
        now = time.perf_counter()
        if now > self._late:
            most = f"{self._limits.timeout:g} s"
            raise EngineError(f"the commit took more than {most}; {self.blame()}; {raise_limit('timeout')}")
        return now

    def blame(self) -> str:
        """Which rules were at work, for a message."""
        if not self.at_work:
            return _TAKING_IN
        shown = " and ".join(f"`{rule}`" for rule in self.at_work[:_NAMED])
        if len(self.at_work) == 1:
            return f"the rule at work was {shown}"
        more = f" and {len(self.at_work) - _NAMED} more" if len(self.at_work) > _NAMED else ""
        return f"the rules at work were {shown}{more}"

    def _weigh(self, ahead: int) -> None:
        most = self._limits.max_memory
        if most is None:
            return
        grown = _resident() - self._held + ahead
        if grown > most:
            raise EngineError(
                f"the commit {'would take' if ahead else 'took'} {_size_text(grown)} of memory, "
                f"and its limit is {_size_text(most)}; {self.blame()}; {raise_limit('max_memory')}"
            )


@contextmanager
def memory_errors(blame: Callable[[], str] = lambda: _TAKING_IN) -> Iterator[None]:
    """Memory that runs out inside is an EngineError; what was being worked with is let go of."""
    try:
        yield
    except MemoryError as error:
        clear_frames(error.__traceback__)
        raise EngineError(
            f"there is no memory left; {blame()}; with `max_memory`, a commit that takes too much ends sooner"
        ) from None


def raise_limit(name: str) -> str:
    """How to allow more of something, for a message."""
    return f"to allow more, raise `{name}` (`--{name.replace('_', '-')}` of `tidelog run`)"


def bytes_of(text: str) -> int | None:
    """The number of bytes that a text such as "4GB" or "1.5 GiB" stands for; None if it is no such text."""
    found = _SIZE.fullmatch(text.strip())
    return int(float(found[1]) * _UNITS[found[2].lower()]) if found else None


def _size_text(size: int) -> str:
    """A number of bytes as people write it."""
    for unit in ("GB", "MB", "kB"):
        if size >= _UNITS[unit.lower()]:
            return f"{size / _UNITS[unit.lower()]:,.1f} {unit}"
    return f"{size} bytes"


def _resident() -> int:
    """The bytes of memory that this process holds."""
    import psutil  # takes 20 ms, which commits without a limit need not

    return int(psutil.Process().memory_info().rss)
