"""Runs a measurement in a separate process, with its own peak memory and a time limit."""

from __future__ import annotations

import gc
import multiprocessing
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

from tidelog.errors import TidelogError

__all__ = ["Failed", "isolated", "isolated_parts", "peak_memory", "reset_peak_memory"]

S = TypeVar("S")
T = TypeVar("T")
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_READY, _PART, _END = "ready", "part", "end"
_START = 300.0  # seconds for a process to get ready
_PARTING = 10.0  # seconds for a process to exit


class Failed(Exception):
    """A measurement without a result; the message is the reason."""


def isolated(work: Callable[[], T], timeout: float) -> T:
    """Call `work` in a new process and return its result; both must be picklable."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(work, there), daemon=True)
    process.start()
    there.close()
    try:
        if not here.poll(timeout):
            raise Failed(f"exceeded {timeout:g} s")
        done, value = here.recv()
    except EOFError:
        process.join()
        raise Failed(f"exited with code {process.exitcode}") from None
    finally:
        process.terminate()
        process.join()
        here.close()
    if not done:
        raise Failed(str(value))
    result: T = value
    return result


def isolated_parts(
    prepare: Callable[[], S], work: Callable[[S], Iterable[T]], timeout: float, take: Callable[[T], None]
) -> str | None:
    """Call `take` with each value that `work` yields within `timeout` seconds; if it stops early, return why.

    `prepare` runs first in the same process, with enough time to compile and to load.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work_in_parts, args=(prepare, work, there), daemon=True)
    process.start()
    there.close()
    allowed = _START
    try:
        while here.poll(allowed):
            kind, value = here.recv()
            if kind == _END:
                process.join(_PARTING)
                why: str | None = value
                return why
            if kind == _PART:
                take(value)
            allowed = timeout
    except EOFError:
        process.join()
        return f"exited with code {process.exitcode}"
    finally:
        process.terminate()
        process.join()
        here.close()
    return f"exceeded {allowed:g} s"


def _work_in_parts(
    prepare: Callable[[], S], work: Callable[[S], Iterable[object]], there: Connection
) -> None:
    try:
        prepared = prepare()
        there.send((_READY, None))
        for part in work(prepared):
            there.send((_PART, part))
        there.send((_END, None))
    except TidelogError as error:
        there.send((_END, str(error)))
    except BaseException as error:
        there.send((_END, f"{type(error).__name__}: {error}"))


def _work(work: Callable[[], object], there: Connection) -> None:
    try:
        there.send((True, work()))
    except Failed as failure:
        there.send((False, str(failure)))
    except BaseException as error:
        traceback.print_exc()
        there.send((False, f"{type(error).__name__}: {error}"))


def reset_peak_memory() -> int:
    """Lower the peak memory of this process to what it holds now, if the kernel can, and return the peak.

    Without this, memory that was needed only to make the input would hide the memory of what follows.
    """
    gc.collect()
    with suppress(OSError):
        _CLEAR.write_text("5")
    return peak_memory()


def peak_memory() -> int:
    """The peak memory of this process in bytes.

    The kernel's status is preferred, since `getrusage` includes the parent process.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
