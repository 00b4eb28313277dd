"""Files that the tasks of a session keep between commits, in a folder that all of them can access.

A file is written once, under a unique name, which it gets when it is complete. Several attempts of a task
write several files; the answer that Spark accepts names the right one. On a single machine, the folder is
temporary and files are memory-mapped. On a cluster, it is in the session's checkpoint folder.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyarrow import fs

from tidelog.engine.local.storage.record import Record, map_record, read_record, write_record

__all__ = ["Scratch"]


class Scratch:
    """`folder` is a local path, or an address that PyArrow supports; None creates a temporary folder."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder if folder is not None else tempfile.mkdtemp(prefix="tidelog-")
        self._is_local = folder is None or folder.startswith("/")
        if folder is None:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @classmethod
    def under(cls, place: str) -> Scratch:
        """A new folder in a shared place, removed when it is no longer in use."""
        made = cls(f"{place}/tidelog-{uuid.uuid4().hex}")
        weakref.finalize(made, _remove, made.folder)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, (self.folder,)

    # -- in tasks

    def write(self, record: Record) -> str:
        """Write a record to a new file; returns its name."""
        name = uuid.uuid4().hex
        system, root = self._place()
        system.create_dir(root, recursive=True)
        with system.open_output_stream(f"{root}/.{name}", compression=None) as out:
            write_record(out, record)
        system.move(f"{root}/.{name}", f"{root}/{name}")
        return name

    def read(self, name: str) -> Record:
        """The record in a file; the caller may modify it."""
        if self._is_local:
            return map_record(Path(self.folder) / name)
        system, root = self._place()
        with system.open_input_stream(f"{root}/{name}", compression=None) as content:
            return read_record(content.read())

    # -- in the driver

    def keep(self, names: Iterable[str]) -> None:
        """Remove all other files. A task that is still writing one is too late: its answer is ignored."""
        system, root = self._place()
        kept = set(names)
        for found in system.get_file_info(fs.FileSelector(root, allow_not_found=True)):
            if found.base_name not in kept:
                with suppress(FileNotFoundError):  # a task that was too late has just renamed it
                    system.delete_file(found.path)

    def _place(self) -> tuple[Any, str]:
        if self._is_local:
            return fs.LocalFileSystem(), self.folder
        system, root = fs.FileSystem.from_uri(self.folder)
        return system, root


def _remove(folder: str) -> None:
    with suppress(OSError):  # nothing was written, or the place is no longer accessible
        system, root = Scratch(folder)._place()
        system.delete_dir(root)
