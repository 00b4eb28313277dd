"""Ctrl-C at safe points.

A running engine can only be interrupted between its steps, and publication not at all. So while a commit
runs, an interrupt is recorded, and delivered where `check` is called. One that comes too late for that is
delivered when everything is done. Only the main thread gets interrupts; in other threads there is nothing to
do.
"""

from __future__ import annotations

import threading

# those of `signal` convert handlers to enumerations and back, which takes longer than a small commit may
from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found, unused-ignore]
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import FrameType
from typing import Any

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


def interrupts_noted() -> AbstractContextManager[Callable[[], None]]:
    """Inside this block, interrupts are delivered only by calls of the function that it yields.

    Inside another such block, that one delivers them, after this one.
    """
    return _Noting()


class _Noting(AbstractContextManager[Callable[[], None]]):
    """Such a block. An interrupt at any moment of its beginning and its end is delivered or recorded."""

    __slots__ = ("_handler", "_is_main")

    def __init__(self) -> None:
        self._is_main = threading.current_thread() is threading.main_thread()
        self._handler: Any = None

    def __enter__(self) -> Callable[[], None]:
        if not self._is_main:
            return _nothing
        check, handler = _nothing, None if _checks else getsignal(SIGINT)
        if callable(handler):
            check, self._handler = partial(_deliver, handler), handler
            signal(SIGINT, _note)
        _checks.append(check)
        return check

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._is_main:
            return
        check = _checks.pop()
        if self._handler is not None:
            signal(SIGINT, self._handler)
        if kind is None:
            check()


def _note(_: int, frame: FrameType | None) -> None:
    _noted.append(frame)


def _deliver(handler: Callable[[int, FrameType | None], object]) -> None:
    if _noted:
        handler(SIGINT, _noted.pop())
