"""Supervision of a running commit: interrupts, limits and progress reports.

An engine can only be stopped at certain points. At each of them it calls `Watch.look`, which is cheap; what
it raises ends the commit. The watch knows which rules are running, so errors can name them.

Memory is the resident set of the process, because rows, indexes, lists and intermediate values all count. A
commit is charged with the growth of the process since it began, plus any large allocation it is about to
make.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from traceback import clear_frames
from types import TracebackType
from typing import Final

from tidelog.errors import EngineError
from tidelog.progress import Progress, Report

__all__ = ["Limits", "Watch", "bytes_of", "memory_errors", "raise_limit"]

REPORT_EVERY: Final = 0.1  # seconds
_WEIGH_EVERY: Final = 0.01
_MUCH: Final = 1_000_000  # bytes; larger allocations are always checked
_TAKING_IN: Final = "facts were being loaded and no rule was running"
_NAMED: Final = 3  # at most so many rules in a message
_UNITS: Final = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
}
_SIZE: Final = re.compile(rf"([0-9]+(?:\.[0-9]+)?)\s*({'|'.join(_UNITS)})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a commit; `max_memory` is in bytes, and `max_threads` by default the number of cores."""

    max_iterations: int | None = 100_000
    max_rows: int | None = None
    timeout: float | None = None
    max_memory: int | None = None
    max_threads: int | None = None

    @property
    def threads(self) -> int:
        """How many threads a commit in this process may use."""
        if self.max_threads is not None:
            return self.max_threads
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Watch:
    """Supervises one commit: calls `check` at every look and `report`, if any, at intervals.

    `at_work` holds the texts of the rules that are running or ran last.
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
        """Raise if the commit must end; report progress if a report is due.

        `ahead` is the number of bytes about to be allocated.
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
        """Raise EngineError if the time limit is exceeded; otherwise return the current time."""
        now = time.perf_counter()
        if now > self._late:
            most = f"{self._limits.timeout:g} s"
            raise EngineError(
                f"the commit exceeded the time limit of {most}; {self.blame()}; {raise_limit('timeout')}"
            )
        return now

    def blame(self) -> str:
        """The rules that were running, for a message."""
        if not self.at_work:
            return _TAKING_IN
        shown = " and ".join(f"`{rule}`" for rule in self.at_work[:_NAMED])
        if len(self.at_work) == 1:
            return f"the running rule was {shown}"
        more = f" and {len(self.at_work) - _NAMED} more" if len(self.at_work) > _NAMED else ""
        return f"the running rules were {shown}{more}"

    def _weigh(self, ahead: int) -> None:
        most = self._limits.max_memory
        if most is None:
            return
        grown = _resident() - self._held + ahead
        if grown > most:
            raise EngineError(
                f"the commit exceeded the memory limit of {_size_text(most)}: "
                f"it {'needs' if ahead else 'uses'} {_size_text(grown)}; "
                f"{self.blame()}; {raise_limit('max_memory')}"
            )


def _taking_in() -> str:
    return _TAKING_IN


class _MemoryErrors(AbstractContextManager[None]):
    __slots__ = ("_blame",)

    def __init__(self, blame: Callable[[], str]) -> None:
        self._blame = blame

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, MemoryError):
            clear_frames(trace)
            remedy = "set `max_memory` to end such a commit before memory runs out"
            raise EngineError(f"out of memory; {self._blame()}; {remedy}") from None


def memory_errors(blame: Callable[[], str] = _taking_in) -> AbstractContextManager[None]:
    """Turn MemoryError into EngineError and release the memory that the failed frames hold."""
    return _MemoryErrors(blame)


def raise_limit(name: str) -> str:
    """How to raise a limit, for a message."""
    return f"raise it with `{name}` (`--{name.replace('_', '-')}` of `tidelog run`)"


def bytes_of(text: str) -> int | None:
    """Parse a size such as "4GB" or "1.5 GiB" into a number of bytes; None if it is not a size."""
    found = _SIZE.fullmatch(text.strip())
    return int(float(found[1]) * _UNITS[found[2].lower()]) if found else None


def _size_text(size: int) -> str:
    """Format a number of bytes, such as "1.5 GB"."""
    for unit in ("GB", "MB", "kB"):
        if size >= _UNITS[unit.lower()]:
            return f"{size / _UNITS[unit.lower()]:,.1f} {unit}"
    return f"{size} bytes"


def _resident() -> int:
    """The resident set size of this process in bytes."""
    import psutil  # imported here because it takes 20 ms, and commits without a limit do not need it

    return int(psutil.Process().memory_info().rss)
