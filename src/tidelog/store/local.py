"""The files of a store in a folder on a local disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from tidelog.store.disk import Disk, try_lock
from tidelog.store.files import Created, Output

__all__ = ["LocalFiles"]

_LOCK: Final = "lock"
_CHUNK: Final = 1 << 22


class LocalFiles:
    """`disk` does the writing; see `files.Files` for the methods."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with an absolute path: tasks may have another current folder."""
        return LocalFiles, (self.folder.absolute(), self._disk)

    @property
    def place(self) -> str:
        return str(self.folder)

    def where(self, name: str) -> str:
        return str(self.folder / name)

    def lock(self) -> Callable[[], None]:
        self._disk.make_folder(self.folder)
        return _locked(self.folder / _LOCK).close

    def make_folders(self, *folders: str) -> None:
        for folder in folders:
            self._disk.make_folder(self.folder / folder)

    def put_if_absent(self, name: str, content: bytes) -> None:
        self._disk.create_new(self.folder / name, content)

    def put(self, name: str, write: Callable[[Output], object]) -> Created:
        file = self.folder / name
        self._disk.make_folder(file.parent)
        return self._disk.create(file, write)

    def list(self, folder: str) -> Iterator[str]:
        for file in (self.folder / folder).rglob("*"):
            if not file.is_dir():
                yield file.relative_to(self.folder).as_posix()

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def digest(self, name: str) -> Created:
        """Reads in chunks."""
        digest = hashlib.sha256()
        size = 0
        with (self.folder / name).open("rb") as content:
            while part := content.read(_CHUNK):
                digest.update(part)
                size += len(part)
        return Created(size, digest.hexdigest())

    def delete(self, name: str) -> None:
        self._disk.remove(self.folder / name)


def _locked(file: Path) -> BinaryIO:
    """The lock file, opened and locked."""
    lock = file.open("ab")
    try:
        try_lock(lock)
    except BaseException:
        lock.close()
        raise
    return lock
