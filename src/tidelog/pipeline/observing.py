"""Whoever wants to know of runs: when they begin, what they did, why they failed.

An observer must not break a run: what goes wrong in one is a warning in the log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from tidelog.pipeline.report import Outcome

__all__ = ["Clock", "Observer", "observed"]

_LOG = logging.getLogger("tidelog")


class Observer(Protocol):
    """Hears of every run, and of every batch of a stream, in the thread that does it."""

    def began(self) -> None: ...

    def ended(self, outcome: Outcome) -> None: ...

    def failed(self, error: BaseException) -> None: ...


class Clock:
    """The seconds that the phases of a run take."""

    def __init__(self) -> None:
        self._phases: dict[str, float] = {}
        self._start = time.perf_counter()
        self.began = datetime.now(UTC)

    def begin(self) -> None:
        self._phases = {}
        self._start = time.perf_counter()
        self.began = datetime.now(UTC)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._phases[name] = self._phases.get(name, 0.0) + time.perf_counter() - start

    @property
    def seconds(self) -> dict[str, float]:
        """Those of each phase, and `total`, which is at least their sum."""
        return {**self._phases, "total": time.perf_counter() - self._start}


def observed(observers: Sequence[Observer], work: Callable[[], Outcome]) -> Outcome:
    """Do the work of a run before the eyes of observers."""
    for observer in observers:
        _tell(observer, observer.began)
    try:
        outcome = work()
    except BaseException as error:
        for observer in observers:
            _tell(observer, partial(observer.failed, error))
        raise
    for observer in observers:
        _tell(observer, partial(observer.ended, outcome))
    return outcome


def _tell(observer: Observer, what: Callable[[], None]) -> None:
    try:
        what()
    except Exception as error:  # whatever goes wrong with a network, a disk or a library
        _LOG.warning("%s: %s: %s", type(observer).__name__, type(error).__name__, error)
