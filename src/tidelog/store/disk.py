"""How the store touches the disk: few steps, each of which may be the last one before the machine stops.

What a step promises when it has returned:

- `create`: the file is there under its name, whole and on the disk. Before that, it has another name.
- `remove`: the file is gone, or will be after the next `create` in its folder.

Every system call goes through `step`, which does nothing here; tests stop the machine there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["UNFINISHED", "Disk"]

UNFINISHED: Final = ".unfinished"


class Disk:
    def create(self, file: Path, write: Callable[[BinaryIO], object]) -> int:
        """Make a file, or put it in the place of the one of this name; its size in bytes."""
        unfinished = file.with_name(file.name + UNFINISHED)
        self.step("open", unfinished)
        with unfinished.open("wb") as out:
            write(out)
            size = out.tell()
            self.step("flush", unfinished)
            out.flush()
            self.step("sync", unfinished)
            os.fsync(out.fileno())
        self.step("replace", file)
        unfinished.replace(file)
        self.step("sync folder", file.parent)
        _sync_folder(file.parent)
        self.step("created", file)
        return size

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
