"""Ctrl-C at safe points.

A running engine can only be interrupted between its steps, and publication not at all. So while a commit
runs, an interrupt is recorded, and delivered where `check` is called. One that comes too late for that is
delivered when everything is done. Only the main thread gets interrupts; in other threads there is nothing to
do.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupts_noted", "is_interrupted", "let_interrupt"]

_noted: list[FrameType | None] = []  # interrupts that are not delivered yet
_checks: list[Callable[[], None]] = []  # of the blocks that the main thread is in


def _nothing() -> None:
    pass


def let_interrupt() -> None:
    """Deliver a recorded interrupt here, where the work can be abandoned."""
    if _checks and threading.current_thread() is threading.main_thread():
        _checks[-1]()


def is_interrupted() -> bool:
    """Whether an interrupt is recorded and not delivered yet; for use in other threads."""
    return bool(_noted)


@contextmanager
def interrupts_noted() -> Iterator[Callable[[], None]]:
    """Inside this block, interrupts are delivered only by calls of the function that it yields.

    Inside another such block, that one delivers them, after this one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield _nothing
        return
    if _checks:
        _checks.append(_nothing)
        try:
            yield _nothing
        finally:
            _checks.pop()
        return
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield _nothing
        return

    def check() -> None:
        if _noted:
            handler(signal.SIGINT, _noted.pop())

    _checks.append(check)
    signal.signal(signal.SIGINT, lambda _, frame: _noted.append(frame))
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, handler)
        _checks.pop()
    check()
