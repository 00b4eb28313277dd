"""The store's disk operations. The machine may stop before or after any of their steps.

Guarantees once an operation has returned:

- `create`: the complete file is on disk under its name. Until then it has another name. If writing fails, the
  partial file is removed, and an existing file of that name is unchanged.
- `remove`: the file is deleted, at the latest after the next `create` in its folder.

`step` is called before every system call and does nothing here. Tests override it to stop the machine or to
fill the disk.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

__all__ = ["UNFINISHED", "Created", "Disk", "Output", "try_lock"]

UNFINISHED: Final = ".unfinished"


class Created(NamedTuple):
    """The identity of a file: its size in bytes and the SHA-256 digest of its content."""

    size: int
    digest: str


class Output:
    """A file that is being written, with the digest of the content so far."""

    def __init__(self, out: BinaryIO, step: Callable[[], None]) -> None:
        self._out = out
        self._step = step
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, part: Any) -> int:
        self._step()
        self._out.write(part)
        self._digest.update(part)
        size = memoryview(part).nbytes
        self._size += size
        return size

    def flush(self) -> None:
        """Does nothing: the file is flushed once, when it is complete."""

    def close(self) -> None:
        """Does nothing: `Disk` closes the file."""

    @property
    def closed(self) -> bool:
        return self._out.closed

    @property
    def created(self) -> Created:
        return Created(self._size, self._digest.hexdigest())


class Disk:
    def create(self, file: Path, write: Callable[[Output], object]) -> Created:
        """Create a file, or atomically replace the existing one."""
        unfinished = file.with_name(file.name + UNFINISHED)
        try:
            created = self._write(unfinished, write)
            self.step("replace", file)
            unfinished.replace(file)
        except Exception:
            with suppress(OSError):
                self.remove(unfinished)
            raise
        self.step("sync folder", file.parent)
        _sync_folder(file.parent)
        self.step("created", file)
        return created

    def _write(self, file: Path, write: Callable[[Output], object]) -> Created:
        self.step("open", file)
        with file.open("wb") as out:
            output = Output(out, lambda: self.step("write", file))
            write(output)
            self.step("flush", file)
            out.flush()
            self.step("sync", file)
            os.fsync(out.fileno())
        return output.created

    def make_folder(self, folder: Path) -> None:
        """Create a folder and its parents, if they do not exist."""
        if folder.is_dir():
            return
        self.make_folder(folder.parent)
        self.step("make folder", folder)
        folder.mkdir(exist_ok=True)
        self.step("sync folder", folder.parent)
        _sync_folder(folder.parent)

    def remove(self, file: Path) -> None:
        self.step("remove", file)
        file.unlink(missing_ok=True)

    def step(self, what: str, path: Path) -> None:
        """Hook, called before each system call and after the last one of `create`."""


def try_lock(file: BinaryIO) -> None:
    """Lock an open file for this process. Raises BlockingIOError if another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "the file is locked") from None
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # where folders cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
