"""What tells whether a source is as it was when it was last read.

For files on this machine: their names, sizes and times of change, and all that the description says of the
source. Of everything else (tables, JDBC, other file systems) nothing is known beforehand, and it is read each
time.

If all files are as they were and others came, only those have to be read: a source is the union of its files,
so that nothing can have gone, wherever else the new rows occur. A file that changed or is gone says nothing
about which of its rows other files have too; then the whole source is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidelog.pipeline.spec import Source, describe_source, is_local
from tidelog.program.text import print_relation
from tidelog.program.typed import Relation

__all__ = ["Look", "look"]

_APART: Final = ("csv", "json", "text", "ntriples", "parquet", "orc")  # a file's rows depend on no other file
# options by which files depend on each other, or by which Spark chooses among them
_TOGETHER: Final = frozenset(
    "multiline basepath pathglobfilter recursivefilelookup modifiedbefore modifiedafter mergeschema".split()
)
_DIGITS: Final = 16
_PATTERN: Final = frozenset("*?[]{}\\")
_HIDDEN: Final = ("_", ".")  # how files begin that Spark passes over


@dataclass(frozen=True, slots=True)
class Look:
    """The files of a source, as they are now, by their prints; `described` is what the description says.

    `is_apart` says that files can be read one by one.
    """

    described: str
    files: Mapping[str, Path]
    is_apart: bool

    @property
    def fingerprint(self) -> str:
        """A text that is another one if the source is."""
        return " ".join([self.described, *sorted(self.files)])

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.stat().st_size for file in self.files.values())

    def added(self, before: str) -> Look | None:
        """The files that came, if the source had this fingerprint and nothing else changed; else None."""
        described, *known = before.split(" ")
        if described != self.described or not self.is_apart or not self.files.keys() >= set(known):
            return None
        came = {p: self.files[p] for p in self.files.keys() - set(known)}
        came = {p: file for p, file in came.items() if not file.name.startswith(_HIDDEN)}
        is_plain = all(_PATTERN.isdisjoint(str(file)) for file in came.values())
        return Look(described, came, is_apart=True) if is_plain else None


def look(source: Source, relation: Relation) -> Look | None:
    """The files of a source; None if nothing can be known."""
    if not source.paths or not all(is_local(path) for path in source.paths):
        return None
    described = hashlib.sha256(f"{describe_source(source)}\n{print_relation(relation)}".encode())
    files, is_flat = _files(source)
    is_apart = source.format in _APART and _TOGETHER.isdisjoint(map(str.lower, source.options))
    return Look(described.hexdigest(), {_print(file): file for file in files}, is_apart and is_flat)


def _print(file: Path) -> str:
    status = file.stat()
    text = f"{file}\t{status.st_size}\t{status.st_mtime_ns}\t{status.st_ino}"
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _files(source: Source) -> tuple[list[Path], bool]:
    """The files that Spark may read: those of a folder, at any depth, and those that a pattern matches.

    And whether none is deeper: folders in a folder can be columns, of all files together.
    """
    found: list[Path] = []
    is_flat = True
    for path in source.paths:
        pattern = Path(path).absolute()
        for place in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
            files = [f for f in place.rglob("*") if f.is_file()] if place.is_dir() else [place]
            is_flat = is_flat and all(f.parent == place or f == place for f in files)
            found += files
    return found, is_flat
