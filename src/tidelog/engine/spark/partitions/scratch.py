"""Files that the tasks of a session keep between commits, in a folder that all of them reach.

A file is written once, under a name of its own, and is whole when it has its name: several attempts of a task
write several files, and the one whose answer Spark takes is named in it. On a single machine the folder is a
temporary one and files are mapped; elsewhere it is where the session's checkpoints are.
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
    """`folder` is a path of this machine, or an address that PyArrow knows; None makes a temporary folder."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder if folder is not None else tempfile.mkdtemp(prefix="tidelog-")
        self._is_local = folder is None or folder.startswith("/")
        if folder is None:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @classmethod
    def under(cls, place: str) -> Scratch:
        """A new folder in a place that others use too, removed when nobody has it any more."""
        made = cls(f"{place}/tidelog-{uuid.uuid4().hex}")
        weakref.finalize(made, _remove, made.folder)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, (self.folder,)

    # -- in tasks

    def write(self, record: Record) -> str:
        """Write a record to a new file; its name."""
        name = uuid.uuid4().hex
        system, root = self._place()
        system.create_dir(root, recursive=True)
        with system.open_output_stream(f"{root}/.{name}", compression=None) as out:
            write_record(out, record)
        system.move(f"{root}/.{name}", f"{root}/{name}")
        return name

    def read(self, name: str) -> Record:
        """What is in a file; whoever reads it may change it."""
        if self._is_local:
            return map_record(Path(self.folder) / name)
        system, root = self._place()
        with system.open_input_stream(f"{root}/{name}", compression=None) as content:
            return read_record(content.read())

    # -- in the driver

    def keep(self, names: Iterable[str]) -> None:
        """Remove all other files; whoever is still writing one is too late, and its answer is not taken."""
        system, root = self._place()
        kept = set(names)
        for found in system.get_file_info(fs.FileSelector(root, allow_not_found=True)):
            if found.base_name not in kept:
                with suppress(FileNotFoundError):  # a task that was too late has just given it its name
                    system.delete_file(found.path)

    def _place(self) -> tuple[Any, str]:
        if self._is_local:
            return fs.LocalFileSystem(), self.folder
        system, root = fs.FileSystem.from_uri(self.folder)
        return system, root


def _remove(folder: str) -> None:
    with suppress(OSError):  # nothing was written, or the place cannot be reached any more
        system, root = Scratch(folder)._place()
        system.delete_dir(root)
