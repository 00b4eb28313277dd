"""What files contain, looked at again and again: a digest of each.

A file is read again if its size, its time or its identity has changed, or if it was written so lately that
its time could be the same after another write. So an edit is never missed, and touching a file is no edit.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

__all__ = ["Contents", "Digests"]

Digests: TypeAlias = Mapping[Path, bytes]  # of the files that exist
_LATELY: Final = 3.0  # seconds; file systems keep times to two seconds or better


class _Known(NamedTuple):
    status: tuple[int, int, int]
    digest: bytes
    is_final: bool


class Contents:
    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}

    def look(self, files: Iterable[Path], folders: Iterable[Path]) -> Digests:
        """The digests of these files, and of all files in these folders."""
        wanted = dict.fromkeys(files)
        for folder in folders:
            wanted |= dict.fromkeys(_inside(folder))
        self._known = {path: found for path in wanted if (found := self._look(path)) is not None}
        return {path: found.digest for path, found in self._known.items()}

    def _look(self, path: Path) -> _Known | None:
        try:
            found = path.stat()
            status = found.st_mtime_ns, found.st_size, found.st_ino
            known = self._known.get(path)
            if known is not None and known.status == status and known.is_final:
                return known
            is_final = abs(time.time() - found.st_mtime) > _LATELY
            with path.open("rb") as file:
                return _Known(status, hashlib.file_digest(file, "blake2b").digest(), is_final)
        except (OSError, ValueError):  # it does not exist, or cannot be read, which whoever reads it reports
            return None


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    except OSError:
        return []
