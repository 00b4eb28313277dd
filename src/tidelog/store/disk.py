"""How the store touches the disk: few steps, each of which may be the last one before the machine stops.

What a step promises when it has returned:

- `create`: the file is there under its name, whole and on the disk. Before that, it has another name. If
  writing fails, what was written is removed and a file that had the name is as it was.
- `remove`: the file is gone, or will be after the next `create` in its folder.

Every system call goes through `step`, which does nothing here. Tests stop the machine there, or fill the
disk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

__all__ = ["UNFINISHED", "Created", "Disk", "Output"]

UNFINISHED: Final = ".unfinished"


class Created(NamedTuple):
    """What a file is known by: its size in bytes, and the SHA-256 digest of its content."""

    size: int
    digest: str


class Output:
    """A file that is being written, with the digest of what was."""

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
        """Nothing is flushed before all of it is there."""

    def close(self) -> None:
        """Whoever opened the file closes it."""

    @property
    def closed(self) -> bool:
        return self._out.closed

    @property
    def created(self) -> Created:
        return Created(self._size, self._digest.hexdigest())


class Disk:
    def create(self, file: Path, write: Callable[[Output], object]) -> Created:
        """Make a file, or put it in the place of the one of this name."""
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
        """Make a folder and those above it, if they are not there."""
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
        """Called before each system call, and after the last one of `create`."""


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
