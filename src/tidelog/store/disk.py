"""The store's disk operations. The machine may stop before or after any of their steps.

Guarantees once an operation has returned:

- `create`, `create_new`: the complete file is on disk under its name. Until then it has another name. If
  writing fails, the partial file is removed, and an existing file of that name is unchanged.
- `remove`: the file is deleted, at the latest after the next `create` in its folder.

`step` is called before every system call and does nothing here. Tests override it to stop the machine or to
fill the disk.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

from tidelog.store.files import Created, Output, Uncertain

__all__ = ["UNFINISHED", "Created", "Disk", "Output", "try_lock"]

UNFINISHED: Final = ".unfinished"
_WITHOUT_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


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

    def create_new(self, file: Path, content: bytes) -> None:
        """Create a file that does not exist yet. Of several processes, one succeeds.

        Raises FileExistsError, or Uncertain if the file is there and could be neither completed nor removed.
        """
        own = uuid4().hex[:8]  # for disks whose locks do nothing
        unfinished = file.with_name(f"{file.name}.{own}{UNFINISHED}")
        try:
            self._write(unfinished, lambda out: out.write(content))
            self.step("link", file)
            _link(unfinished, file)
        except Exception:
            with suppress(OSError):
                self.remove(unfinished)
            raise
        with suppress(OSError):
            self.remove(unfinished)
        try:
            self.step("sync folder", file.parent)
            _sync_folder(file.parent)
        except OSError as error:
            self._withdraw(file, error)
            raise
        self.step("created", file)

    def _withdraw(self, file: Path, error: OSError) -> None:
        try:
            self.remove(file)
        except OSError:
            raise Uncertain(error.errno, f"{error.strerror}; {file} could not be removed") from None

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
        """Hook, called before each system call and after the last one of `create` and `create_new`."""


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


def _link(unfinished: Path, file: Path) -> None:
    """Give a file its name, if the name is free."""
    try:
        os.link(unfinished, file)
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        if os.path.lexists(file):  # a disk without hard links: there, only the lock keeps others away
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file)) from None
        unfinished.replace(file)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # where folders cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
