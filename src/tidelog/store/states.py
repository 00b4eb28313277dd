"""Saved engine states: a shortcut for resuming, never the source of truth.

The content of a relation is in its segments. How it was derived (how often each rule supports a tuple,
indexes) takes as long to recompute as the results took. It is saved in a file that is opaque to the store:
the store only checks that the file is intact and who can read it (its *stamp*). A state belongs to one
commit. The facts asserted since are its *log*, which consists of segments that exist anyway. So state and log
together are the last commit.

The state is as large as the engine's memory and is written only occasionally. If it is missing, damaged or
has another stamp, everything can be recomputed without it.

The state of data in DataFrames consists of several files, since tasks write it. The manifest names all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tidelog.store.files import Files, identity
from tidelog.store.segments import MAX_SEGMENTS, MAX_SHARE, Segment

__all__ = [
    "IN_FRAMES",
    "IN_THE_DRIVER",
    "STATES",
    "KeptState",
    "Offer",
    "StatePart",
    "StateParts",
    "Unusable",
    "is_old",
    "part_name",
    "usable_state",
    "with_changes",
    "write_state",
]

STATES: Final = "states"
IN_THE_DRIVER: Final = "driver"
IN_FRAMES: Final = "DataFrames"


class Unusable(Exception):
    """A state that cannot be resumed from; the message gives the reason to users."""


@dataclass(frozen=True, slots=True)
class StatePart:
    """A further file of a state; `size` (bytes) and `digest` show whether it is intact."""

    file: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A state that may be saved with a commit: `write` writes it to a file.

    `write_parts`, if there is one, first writes further files, with names that `part_name` makes.
    With `is_missed`, the saved state is unusable, so this one is always saved.
    """

    write: Callable[[Any], object]
    stamp: str
    is_missed: bool = False
    place: str = IN_THE_DRIVER
    write_parts: Callable[[Files, str], Sequence[StatePart]] | None = None


@dataclass(frozen=True, slots=True)
class KeptState:
    """A saved state: its commit, the program text and the total number of rows at that commit.

    `changes` counts the rows inserted and deleted since, in all relations. `log` has the changes of the
    asserted facts. `place` says where the data was. `parts` are the other files of the state: those of data
    in DataFrames, which tasks write and read. A state without a digest was written in an earlier format and
    cannot be used.
    """

    file: str
    size: int
    digest: str
    stamp: str
    commit: int
    program: str
    rows: int
    changes: int = 0
    log: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    parts: tuple[StatePart, ...] = ()
    place: str = IN_THE_DRIVER

    @property
    def files(self) -> frozenset[str]:
        """All files of the state."""
        return frozenset((self.file, *(part.file for part in self.parts)))

    def known(self, files: Files) -> StateParts:
        """Its further files, in the files of its store."""
        return StateParts(files, {part.file: part for part in self.parts})

    @property
    def all_bytes(self) -> int:
        return self.size + sum(part.size for part in self.parts)


def write_state(
    files: Files, file: str, offer: Offer, *, commit: int, program: str, rows: int
) -> KeptState | None:
    """Save a state; None if the disk fails, which is not an error."""
    try:
        parts = () if offer.write_parts is None else tuple(offer.write_parts(files, file))
        size, digest = files.put(file, offer.write)
    except OSError:
        return None
    return KeptState(file, size, digest, offer.stamp, commit, program, rows, parts=parts, place=offer.place)


@dataclass(frozen=True, slots=True)
class StateParts:
    """The further files of a state; `known` has those that the manifest names. It can be sent to tasks."""

    files: Files
    known: Mapping[str, StatePart]

    def content(self, name: str) -> bytes:
        """The content of a file. Raises Unusable if it is not what was written."""
        where = self.files.where(name)
        if name not in self.known:
            raise Unusable(f"the saved state names {where}, which the manifest does not")
        try:
            content = self.files.read(name)
        except OSError as error:
            raise Unusable(f"the saved state {where} cannot be read: {error.strerror}") from None
        if identity(content) != (self.known[name].size, self.known[name].digest):
            raise Unusable(f"the saved state {where} is corrupt: its digest differs from the manifest")
        return content

    def some(self, names: Iterable[str]) -> StateParts:
        """Only these files, for a task."""
        return StateParts(self.files, {name: self.known[name] for name in names if name in self.known})


def part_name(state: str) -> str:
    """A new name for a file of a state; every attempt of a task makes its own."""
    return f"{state}-{uuid4().hex}"


def with_changes(kept: KeptState, changes: int, asserted: Mapping[str, tuple[Segment, ...]]) -> KeptState:
    """The same state, one commit later."""
    log = {**kept.log, **{name: (*kept.log.get(name, ()), *segments) for name, segments in asserted.items()}}
    return replace(kept, changes=kept.changes + changes, log=log)


def is_old(kept: KeptState, commit: int) -> bool:
    """Whether a new state is due: there were many commits or many changes since."""
    return commit - kept.commit >= MAX_SEGMENTS or kept.changes > MAX_SHARE * kept.rows


def usable_state(files: Files, kept: KeptState, stamp: str) -> Path | bytes:
    """A state: its file, if that is on a local disk, or its content. Raises Unusable."""
    file = files.where(kept.file)
    if kept.stamp != stamp:
        raise Unusable(f"the saved state was written by {kept.stamp}; this is {stamp}")
    if not kept.digest:
        raise Unusable("the saved state was written in the format of an earlier version of Tidelog")
    try:
        if files.folder is None:
            content = files.read(kept.file)
            found = identity(content)
        else:
            content, found = b"", files.digest(kept.file)
    except OSError as error:
        raise Unusable(f"the saved state {file} cannot be read: {error.strerror}") from None
    if found != (kept.size, kept.digest):
        raise Unusable(f"the saved state {file} is corrupt: its digest differs from the manifest")
    return content if files.folder is None else files.folder / kept.file
