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

__all__ = ["interrupts_noted"]


@contextmanager
def interrupts_noted() -> Iterator[Callable[[], None]]:
    """Inside, an interrupt happens only where the function is called that this gives."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda: None
        return
    noted: list[FrameType | None] = []

    def check() -> None:
        if noted:
            handler(signal.SIGINT, noted.pop())

    signal.signal(signal.SIGINT, lambda _, frame: noted.append(frame))
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, handler)
    check()
