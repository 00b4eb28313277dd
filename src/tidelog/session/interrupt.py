"""Ctrl-C at the right moment.

An engine at work can be left only between its steps, and publishing not at all. So while a commit runs, an
interrupt is noted, and acted upon where `check` is called; one that comes too late for that is delivered when
everything is done. Only the main thread gets interrupts; elsewhere there is nothing to do.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupts_noted", "is_interrupted", "let_interrupt"]

_noted: list[FrameType | None] = []  # interrupts that were not acted upon so far
_checks: list[Callable[[], None]] = []  # of the blocks that the main thread is in


def let_interrupt() -> None:
    """Have a noted interrupt happen here, where what is being done can be left."""
    if _checks and threading.current_thread() is threading.main_thread():
        _checks[-1]()


def is_interrupted() -> bool:
    """Whether an interrupt waits to be acted upon; for other threads than the one that waits."""
    return bool(_noted)


@contextmanager
def interrupts_noted() -> Iterator[Callable[[], None]]:
    """Inside, an interrupt happens only where the function is called that this gives."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda: None
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
