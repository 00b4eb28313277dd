"""Fingerprints detect whether a source has changed since it was last read.

The fingerprint of files consists of their names, sizes and modification times, and of all that the spec says
about the source. Plain paths on this machine are listed directly. Spark lists other file systems, and
patterns that only Hadoop supports. All other sources (tables, JDBC, remote formats with their own log) have
no fingerprint and are read every time.

If files were only added, reading these is enough: a source is the union of its files, so no row can have been
removed, even if new rows also occur elsewhere. If a file was changed or removed, its rows may also be in
other files, so the whole source is read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidelog.pipeline.formats import format_of
from tidelog.pipeline.sources.paths import as_uri, is_pattern, local
from tidelog.pipeline.spec import Source, describe_source
from tidelog.program.text import print_relation
from tidelog.program.typed import Relation

__all__ = ["File", "Listing", "Look", "look"]

# formats whose rows depend on nothing outside their own file
# options that make files depend on each other, or that choose among them
_TOGETHER: Final = frozenset(
    "multiline basepath pathglobfilter recursivefilelookup modifiedbefore modifiedafter mergeschema".split()
)
_DIGITS: Final = 16
_HIDDEN: Final = ("_", ".")  # prefixes of files that Spark ignores
_ONLY_HADOOP: Final = re.compile(r"[\[\]{}\\]|\*\*")  # pattern syntax that Python lacks or reads differently


@dataclass(frozen=True, slots=True)
class File:
    """A file of a source, by its qualified path; `state` differs if the file was changed."""

    path: str
    size: int
    state: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def print(self) -> str:
        return hashlib.sha256(f"{self.path}\t{self.size}\t{self.state}".encode()).hexdigest()[:_DIGITS]


# lists the files at a path of a source by Spark; None if that fails
Listing = Callable[[Source, str], Iterable[File] | None]


@dataclass(frozen=True, slots=True)
class Look:
    """The current files of a source, by their prints; `described` is a digest of its spec.

    `is_apart` says that files can be read separately.
    """

    described: str
    files: Mapping[str, File]
    is_apart: bool

    @property
    def fingerprint(self) -> str:
        """A text that differs if the source has changed."""
        return " ".join([self.described, *sorted(self.files)])

    @property
    def size(self) -> int:
        """The total size of all files in bytes."""
        return sum(file.size for file in self.files.values())

    def added(self, before: str) -> Look | None:
        """The files added since the fingerprint `before`; None if anything else has changed."""
        described, *known = before.split(" ")
        if described != self.described or not self.is_apart or not self.files.keys() >= set(known):
            return None
        inserted = {p: self.files[p] for p in self.files.keys() - set(known)}
        inserted = {p: file for p, file in inserted.items() if not file.name.startswith(_HIDDEN)}
        is_plain = not any(is_pattern(file.path) for file in inserted.values())
        return Look(described, inserted, is_apart=True) if is_plain else None


def look(source: Source, relation: Relation, listing: Listing | None = None) -> Look | None:
    """The files of a source with qualified paths; None if they cannot be listed."""
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
    is_apart = format_of(source.format).is_apart and _TOGETHER.isdisjoint(map(str.lower, source.options))
    return Look(described.hexdigest(), {file.print: file for file in found}, is_apart and is_flat)


def _files(source: Source, path: str, listing: Listing | None) -> list[File] | None:
    """The files that Spark may read: those in a folder, at any depth, or those that match a pattern."""
    place = local(path)
    if place is not None and not _ONLY_HADOOP.search(path):
        return [_seen(file) for file in _local_files(place)]
    if listing is None or not format_of(source.format).is_apart:
        return None
    files = listing(source, path)
    return None if files is None else list(files)


def _local_files(pattern: Path) -> Iterable[Path]:
    for place in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
        yield from (f for f in place.rglob("*") if f.is_file()) if place.is_dir() else [place]


def _seen(file: Path) -> File:
    status = file.stat()
    return File(as_uri(file), status.st_size, f"{status.st_mtime_ns}\t{status.st_ino}")
