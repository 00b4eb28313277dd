"""The files of a store: a small interface to a folder on a local disk or in an object store.

Names are relative to the folder, with slashes. A file appears complete or not at all. Nothing is renamed, and
no file is changed after it was written, except for the two small ones that `put` replaces (see `marker`).
Only `put_if_absent` has to be atomic among several writers; all guarantees of the store rest on it (see
`log`).

Errors are OSErrors: FileNotFoundError and FileExistsError as on a disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

__all__ = ["Created", "Files", "Output", "Uncertain", "identity"]


class Uncertain(OSError):
    """No answer arrived: the file may be there, may appear later, or never."""


class Created(NamedTuple):
    """The identity of a file: its size in bytes and the SHA-256 digest of its content."""

    size: int
    digest: str


def identity(content: bytes) -> Created:
    return Created(len(content), hashlib.sha256(content).hexdigest())


class Output:
    """A file that is being written to `out`, with the digest of the content so far."""

    def __init__(self, out: Any, step: Callable[[], None] = lambda: None) -> None:
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
        """Does nothing: its owner closes the file."""

    @property
    def closed(self) -> bool:
        return False

    @property
    def created(self) -> Created:
        return Created(self._size, self._digest.hexdigest())


class Files(Protocol):
    """A folder of files. It can be pickled: tasks read with it what the driver wrote, and vice versa."""

    @property
    def place(self) -> str:
        """The folder as users write it, for messages."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder on a local disk; None if it is somewhere else."""
        ...

    def where(self, name: str) -> str:
        """The full address of a file, for messages."""
        ...

    def lock(self) -> Callable[[], None]:
        """Keep other processes on this machine from writing, if that is possible; returns what ends it.

        Raises BlockingIOError if another process holds the lock.
        """
        ...

    def make_folders(self, *folders: str) -> None:
        """Create folders, where a file cannot be created without them."""
        ...

    def put_if_absent(self, name: str, content: bytes) -> None:
        """Create a small file. Of several writers, exactly one succeeds.

        Raises FileExistsError if the file is there (also if an earlier attempt of the same call made it),
        Uncertain if no answer arrived, and any other OSError if the file was certainly not created.
        """
        ...

    def put(self, name: str, write: Callable[[Output], object]) -> Created:
        """Create a file, or replace the existing one, by calling `write`. If that fails, nothing changes."""
        ...

    def list(self, folder: str) -> Iterator[str]:
        """The names of all files in a folder of the store and the folders in it, in no order."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file."""
        ...

    def digest(self, name: str) -> Created:
        """The identity of a file, computed from its content."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        ...
