"""What tells whether a source is as it was when it was last read.

For files: their names, sizes and times of change, and all that the description says of the source. Plain
paths of this machine are looked at directly; of other file systems, and of patterns that only Hadoop knows,
Spark lists the files. Of everything else (tables, JDBC, formats with a log of their own elsewhere) nothing is
known beforehand, and it is read each time.

If all files are as they were and others came, only those have to be read: a source is the union of its files,
so that nothing can have gone, wherever else the new rows occur. A file that changed or is gone says nothing
about which of its rows other files have too; then the whole source is read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidelog.pipeline.sources.paths import as_uri, is_pattern, local
from tidelog.pipeline.spec import Source, describe_source
from tidelog.program.text import print_relation
from tidelog.program.typed import Relation

__all__ = ["File", "Listing", "Look", "look"]

# a file's rows depend on no other file, and on nothing that is not in the files themselves
_APART: Final = ("csv", "tsv", "json", "text", "ntriples", "parquet", "orc")
# options by which files depend on each other, or by which Spark chooses among them
_TOGETHER: Final = frozenset(
    "multiline basepath pathglobfilter recursivefilelookup modifiedbefore modifiedafter mergeschema".split()
)
_DIGITS: Final = 16
_HIDDEN: Final = ("_", ".")  # how files begin that Spark passes over
_ONLY_HADOOP: Final = re.compile(r"[\[\]{}\\]|\*\*")  # in patterns that Python reads otherwise, or not at all


@dataclass(frozen=True, slots=True)
class File:
    """A file of a source, by its qualified path; `state` is another text if the file is another one."""

    path: str
    size: int
    state: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def print(self) -> str:
        return hashlib.sha256(f"{self.path}\t{self.size}\t{self.state}".encode()).hexdigest()[:_DIGITS]


# the files at a path of a source, as Spark finds them; None if it cannot
Listing = Callable[[Source, str], Iterable[File] | None]


@dataclass(frozen=True, slots=True)
class Look:
    """The files of a source, as they are now, by their prints; `described` is what the description says.

    `is_apart` says that files can be read one by one.
    """

    described: str
    files: Mapping[str, File]
    is_apart: bool

    @property
    def fingerprint(self) -> str:
        """A text that is another one if the source is."""
        return " ".join([self.described, *sorted(self.files)])

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files.values())

    def added(self, before: str) -> Look | None:
        """The files that came, if the source had this fingerprint and nothing else changed; else None."""
        described, *known = before.split(" ")
        if described != self.described or not self.is_apart or not self.files.keys() >= set(known):
            return None
        came = {p: self.files[p] for p in self.files.keys() - set(known)}
        came = {p: file for p, file in came.items() if not file.name.startswith(_HIDDEN)}
        is_plain = not any(is_pattern(file.path) for file in came.values())
        return Look(described, came, is_apart=True) if is_plain else None


def look(source: Source, relation: Relation, listing: Listing | None = None) -> Look | None:
    """The files of a source, whose paths are qualified; None if nothing can be known."""
    found: list[File] = []
    is_flat = True
    for path in source.paths:
        files = _files(source, path, listing)
        if files is None:
            return None
        folders = {path, path.rpartition("/")[0]}
        is_flat = is_flat and all(f.path == path or f.path.rpartition("/")[0] in folders for f in files)
        found += files
    if not found:
        return None
    described = hashlib.sha256(f"{describe_source(source)}\n{print_relation(relation)}".encode())
    is_apart = source.format in _APART and _TOGETHER.isdisjoint(map(str.lower, source.options))
    return Look(described.hexdigest(), {file.print: file for file in found}, is_apart and is_flat)


def _files(source: Source, path: str, listing: Listing | None) -> list[File] | None:
    """The files that Spark may read: those of a folder, at any depth, and those that a pattern matches."""
    place = local(path)
    if place is not None and not _ONLY_HADOOP.search(path):
        return [_seen(file) for file in _local_files(place)]
    if listing is None or source.format not in _APART:
        return None
    files = listing(source, path)
    return None if files is None else list(files)


def _local_files(pattern: Path) -> Iterable[Path]:
    for place in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
        yield from (f for f in place.rglob("*") if f.is_file()) if place.is_dir() else [place]


def _seen(file: Path) -> File:
    status = file.stat()
    return File(as_uri(file), status.st_size, f"{status.st_mtime_ns}\t{status.st_ino}")
