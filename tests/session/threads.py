"""Running threads of a test to their end, with Python switching between them as often as wanted."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["in_threads", "switching"]

_PATIENCE: Final = 3600  # seconds; only so that a test that hangs ends


def in_threads(*works: Callable[[], None]) -> None:
    """Run all of them to their end; the first failure is raised."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=_PATIENCE)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


@contextmanager
def switching(seconds: float) -> Iterator[None]:
    """Python goes to another thread this often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
