"""The state of whoever worked the relations out, kept beside them: a shortcut, never the truth.

What a relation holds is in its segments. How it came about (which rule supports a tuple how often, indexes)
takes as long to find out as the results took, and is kept as a file of which the store knows only whether it
is the one that was written, and by whom it can be read (its *stamp*). It is of one commit, and what was
asserted since is its *log*: segments that are there anyway. So state and log together are the last commit.

The file is as large as the work's memory and is written now and then only. If it is missing, damaged or of
somebody else, everything is there to do without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tidelog.store.disk import Disk
from tidelog.store.segments import MAX_SEGMENTS, MAX_SHARE, Segment
from tidelog.store.verifying import digest_of_file

__all__ = ["STATES", "KeptState", "Offer", "Unusable", "is_old", "usable_file", "with_changes", "write_state"]

STATES: Final = "states"


class Unusable(Exception):
    """A state that cannot be gone on from; the reason, for people."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A state that may be kept with a commit: `write` writes it to a file.

    It `is_missed` if the one that is kept cannot be used: then it is time for it in any case.
    """

    write: Callable[[Any], object]
    stamp: str
    is_missed: bool = False


@dataclass(frozen=True, slots=True)
class KeptState:
    """`commit` is the one that it is of, `program` the text then; `rows` is what all relations had together.

    `changes` counts the rows that came and went since, in all relations; `log` are those of what is asserted.
    A state without a digest was written in an earlier format, and is of no use.
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


def write_state(
    disk: Disk, root: Path, offer: Offer, *, commit: int, program: str, rows: int
) -> KeptState | None:
    """Keep a state; None if the disk does not take it, which is no reason to fail."""
    file = f"{STATES}/{commit:012}"
    try:
        disk.make_folder(root / STATES)
        size, digest = disk.create(root / file, offer.write)
    except OSError:
        return None
    return KeptState(file, size, digest, offer.stamp, commit, program, rows)


def with_changes(kept: KeptState, changes: int, asserted: Mapping[str, Segment]) -> KeptState:
    """The same state, one commit later."""
    log = {**kept.log, **{name: (*kept.log.get(name, ()), segment) for name, segment in asserted.items()}}
    return replace(kept, changes=kept.changes + changes, log=log)


def is_old(kept: KeptState, commit: int) -> bool:
    """Whether it is time for a new state: what happened since is much, or long."""
    return commit - kept.commit >= MAX_SEGMENTS or kept.changes > MAX_SHARE * kept.rows


def usable_file(root: Path, kept: KeptState, stamp: str) -> Path:
    """The file of a state, or Unusable."""
    if kept.stamp != stamp:
        raise Unusable(f"the saved state is of {kept.stamp}; this is {stamp}")
    if not kept.digest:
        raise Unusable("the saved state has the format of an earlier version of Tidelog")
    file = root / kept.file
    try:
        found = digest_of_file(file)
    except OSError as error:
        raise Unusable(f"the saved state {file} cannot be read: {error.strerror}") from None
    if found != (kept.size, kept.digest):
        raise Unusable(f"the saved state {file} is corrupt: its digest differs from the manifest")
    return file
