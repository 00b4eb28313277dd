"""Fingerprints detect whether a source has changed since it was last read.

The fingerprint of files consists of their names, sizes and modification times, and of all that the spec says
about the source. Plain paths on this machine are listed directly. Spark lists other file systems, and
patterns that only Hadoop supports. All other sources (tables, JDBC, remote formats with their own log) have
no fingerprint here.

A source is the union of its files, so the files that were added, removed or replaced say what to read: see
`ledger`. Which files a folder consists of follows Spark's rules: names that begin with `_` or `.` are hidden,
and folders in it are read only if all of them are named like `day=2026-01-31`, or with the option
`recursiveFileLookup`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidelog.errors import PipelineError
from tidelog.formats.folders import names_in
from tidelog.pipeline.formats import format_of
from tidelog.pipeline.sources.paths import as_uri, local, shown_path
from tidelog.pipeline.spec import Source, describe_source
from tidelog.program.declared import Relation
from tidelog.program.text import print_relation

__all__ = ["Changed", "File", "Listing", "Look", "digest", "look"]

# options that make files depend on each other, or give them columns by rules of Spark
_TOGETHER: Final = frozenset("multiline basepath mergeschema".split())
_CHOOSING: Final = frozenset("pathglobfilter modifiedbefore modifiedafter".split())
_RECURSIVE: Final = "recursivefilelookup"
_DIGITS: Final = 16
_ONLY_HADOOP: Final = re.compile(r"[\[\]{}\\]|\*\*")  # pattern syntax that Python lacks or reads differently


@dataclass(frozen=True, slots=True)
class File:
    """A file of a source, by its qualified path; `state` differs if the file was changed.

    `folders` is the path of its folder below the path of the source.
    """

    path: str
    size: int
    state: str
    folders: str = ""

    @property
    def print(self) -> str:
        return hashlib.sha256(f"{self.path}\t{self.size}\t{self.state}".encode()).hexdigest()[:_DIGITS]


# lists the files at a path of a source by Spark; None if that fails
Listing = Callable[[Source, str], Iterable[File] | None]


@dataclass(frozen=True, slots=True)
class Changed:
    """The files added since a fingerprint, and the prints of those removed; a replaced file is in both."""

    added: Mapping[str, File]
    removed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Look:
    """The current files of a source, by their prints; `described` is a digest of its spec.

    `is_apart` says that files can be read separately, and that there may be several. `folders` are the
    columns in the names of folders.
    """

    described: str
    files: Mapping[str, File]
    is_apart: bool
    folders: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """A text that differs if the source has changed."""
        return " ".join([self.described, *sorted(self.files)])

    @property
    def size(self) -> int:
        """The total size of all files in bytes."""
        return sum(file.size for file in self.files.values())

    def since(self, before: str) -> Changed | None:
        """The files that differ from the fingerprint `before`; None if the source is described otherwise."""
        described, *known = before.split(" ")
        if described != self.described or not self.is_apart:
            return None
        added = {p: self.files[p] for p in self.files.keys() - set(known)}
        return Changed(added, frozenset(known) - self.files.keys())


def digest(source: Source, relation: Relation) -> str:
    """A digest of all that determines what the rows of a source mean."""
    return hashlib.sha256(f"{describe_source(source)}\n{print_relation(relation)}".encode()).hexdigest()


def look(source: Source, relation: Relation, listing: Listing | None = None) -> Look | None:
    """The files of a source with qualified paths; None if they cannot be listed. Raises PipelineError."""
    found: list[File] = []
    is_plain = len(source.paths) == 1
    for path in source.paths:
        files = _files(source, path, listing)
        if files is None:
            return None
        is_plain = is_plain and [file.path for file in files] == [path]
        found += files
    if not found:
        return None
    folders = _folders(f"sources.{relation.name}", source, found)
    is_apart = format_of(source.format).is_apart and _TOGETHER.isdisjoint(_options(source))
    files_by_print = {file.print: file for file in found}
    return Look(digest(source, relation), files_by_print, is_apart and not is_plain, folders)


def _options(source: Source) -> dict[str, str]:
    return {name.lower(): value for name, value in source.options.items()}


def _folders(place: str, source: Source, files: list[File]) -> tuple[str, ...]:
    """The columns in the names of folders, which all files must have."""
    if _is_recursive(source) or not {"basepath"}.isdisjoint(_options(source)):
        return ()
    wanted = names_in(files[0].folders)
    for file in files:
        found = names_in(file.folders)
        if found != wanted:
            said = [f"{shown_path(f.path)} {_said(n)}" for f, n in ((files[0], wanted), (file, found))]
            raise PipelineError(
                f"{place}: {said[0]}, but {said[1]}; put all files into folders of the same form, such as "
                f"{'/'.join(f'{name}=…' for name in wanted or found)}"
            )
    return wanted


def _said(names: tuple[str, ...]) -> str:
    return f"is in folders for {', '.join(names)}" if names else "is in no folder like day=…"


def _is_recursive(source: Source) -> bool:
    return _options(source).get(_RECURSIVE, "").lower() == "true"


def _files(source: Source, path: str, listing: Listing | None) -> list[File] | None:
    """The files that Spark would read: those in a folder, or those that match a pattern."""
    place = local(path)
    is_listed = _CHOOSING.isdisjoint(_options(source)) and not _ONLY_HADOOP.search(path)
    if place is not None and is_listed:
        found = list(_local_files(place))
    elif listing is None or not format_of(source.format).is_apart:
        return None
    else:
        listed = listing(source, path)
        if listed is None:
            return None
        found = list(listed)
    return _chosen(source, found)


def _chosen(source: Source, files: list[File]) -> list[File]:
    """The files that aren't hidden, in folders that are read."""
    if not format_of(source.format).is_apart:
        return files  # its own log is one of them
    seen = [file for file in files if not any(map(_is_hidden, (*file.folders.split("/"), _name(file))))]
    if _is_recursive(source) or any(names_in(file.folders) for file in seen):
        return seen
    return [file for file in seen if not file.folders]


def _name(file: File) -> str:
    return file.path.rpartition("/")[2]


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _local_files(pattern: Path) -> Iterator[File]:
    for place in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
        if not place.is_dir():
            yield _seen(place, "")
            continue
        for file in place.rglob("*"):
            if file.is_file():
                folders = file.parent.relative_to(place).as_posix()
                yield _seen(file, "" if folders == "." else folders)


def _seen(file: Path, folders: str) -> File:
    status = file.stat()
    return File(as_uri(file), status.st_size, f"{status.st_mtime_ns}\t{status.st_ino}", folders)
