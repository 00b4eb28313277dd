"""What tells whether a source is as it was when it was last read.

For files on this machine: their names, sizes and times of change, and all that the description says of the
source. Of everything else (tables, JDBC, other file systems) nothing is known beforehand, and it is read each
time.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from tidelog.pipeline.spec import Source, describe_source, is_local
from tidelog.program.text import print_relation
from tidelog.program.typed import Relation

__all__ = ["fingerprint", "size"]


def fingerprint(source: Source, relation: Relation) -> str:
    """A text that is another one if the source is; empty if nothing can be known."""
    files = _files(source)
    if files is None:
        return ""
    made = hashlib.sha256(f"{describe_source(source)}\n{print_relation(relation)}\n".encode())
    for file in sorted(files):
        status = file.stat()
        made.update(f"{file}\t{status.st_size}\t{status.st_mtime_ns}\t{status.st_ino}\n".encode())
    return made.hexdigest()


def size(source: Source) -> int | None:
    """The bytes of a source's files; None if nothing can be known."""
    files = _files(source)
    return None if files is None else sum(file.stat().st_size for file in files)


def _files(source: Source) -> list[Path] | None:
    """The files that Spark would read: those of a folder, at any depth, and those that a pattern matches."""
    if not source.paths or not all(is_local(path) for path in source.paths):
        return None
    found: list[Path] = []
    for path in source.paths:
        pattern = Path(path).absolute()
        for place in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
            found += [f for f in place.rglob("*") if f.is_file()] if place.is_dir() else [place]
    return found
