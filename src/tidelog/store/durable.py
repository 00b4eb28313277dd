"""The store: relations on the disk, in versions, of which the last complete one is always readable.

A folder with `manifests/`, one file for each commit, `segments/`, with a folder for each relation, and
`states/`, from which whoever works the relations out may go on:

- A commit writes its segments, now and then a state, then its manifest. Stopped before the manifest has its
  name, it has not happened, and what it wrote belongs to nobody; stopped after, it has.
- One process writes at a time: it holds a lock that the system takes back when the process ends, however.
  Readers need no lock; a version stays readable until two commits later.
- What belongs to nobody is removed when a store is opened for writing, and after each commit.

What has to happen outside of the store once a commit has (a sink to be written, a link to be turned) is done
again until it is marked as done: `is_shown`, `mark_shown`.
"""

from __future__ import annotations

import fcntl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

from tidelog.errors import StoreError
from tidelog.program.text import print_relation
from tidelog.program.typed import Relation, Role
from tidelog.store.disk import UNFINISHED, Disk
from tidelog.store.manifest import (
    FOLDER,
    Batch,
    Manifest,
    StoredRelation,
    Written,
    file_of,
    find_commits,
    read_manifest,
    to_bytes,
)
from tidelog.store.segments import (
    Segment,
    is_long,
    read_changes,
    read_segments,
    signed,
    write_segment,
)
from tidelog.store.states import STATES, KeptState, Offer, is_old, with_changes, write_state

__all__ = ["Store", "Update", "latest"]

KEPT: Final = 2
_SEGMENTS: Final = "segments"
_LOCK: Final = "lock"
_SHOWN: Final = "shown"


@dataclass(frozen=True, slots=True)
class Update:
    """What a commit changes: `changes` are signed rows; relations that it does not name stay as they are.

    `relations` are all that the store is to have; one that was there and is not named is dropped. `state` is
    kept if it is time for a new one.
    """

    program: str
    relations: Mapping[str, Relation]
    changes: Mapping[str, Any]
    sources: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, Batch] = field(default_factory=dict)
    sinks: Mapping[str, Written] = field(default_factory=dict)
    state: Offer | None = None


def latest(folder: Path) -> Manifest | None:
    """The last commit of a store, for readers; None if there is none."""
    commits = find_commits(folder)
    return read_manifest(folder, commits[-1]) if commits else None


class Store:
    """A store opened for writing; use it in a `with` block, or close it."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()
        try:
            self._disk.make_folder(folder / FOLDER)
            self._disk.make_folder(folder / _SEGMENTS)
            self._lock = _locked(folder / _LOCK)
        except OSError as error:
            raise StoreError(f"the store {folder} cannot be opened: {error.strerror}") from None
        try:
            self.current = latest(folder)
            self._sweep()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- reading

    def table(self, relation: Relation) -> Any:
        """What a relation holds at the last commit."""
        return read_segments(self.folder / _SEGMENTS, relation, self._segments(relation.name))

    def files(self, name: str) -> tuple[Path, ...]:
        """The segments of a relation, for whoever reads Parquet by other means."""
        return tuple(self.folder / _SEGMENTS / s.file for s in self._segments(name))

    def changes_file(self, name: str) -> Path | None:
        """The segment with what the last commit changed in a relation; None if it changed nothing."""
        found = self.current.changes.get(name) if self.current is not None else None
        return None if found is None else self.folder / _SEGMENTS / found.file

    def asserted_since(self, relation: Relation) -> Any:
        """What was asserted of a relation since the state that is kept: signed rows."""
        state = self.current.state if self.current is not None else None
        log = () if state is None else state.log.get(relation.name, ())
        return read_changes(self.folder / _SEGMENTS, relation, log)

    def _segments(self, name: str) -> tuple[Segment, ...]:
        stored = self.current.relations.get(name) if self.current is not None else None
        return () if stored is None else stored.segments

    # -- writing

    @property
    def next_commit(self) -> int:
        return 0 if self.current is None else self.current.commit + 1

    def commit(self, update: Update) -> Manifest:
        """Make a change of everything durable; it is when this returns."""
        number = self.next_commit
        changes = {name: rows for name, rows in update.changes.items() if rows.num_rows}
        written = {name: self._write(number, name, "changes", rows) for name, rows in changes.items()}
        relations = {
            name: StoredRelation(
                print_relation(relation), self._extended(number, relation, written.get(name))
            )
            for name, relation in update.relations.items()
        }
        state = self._state(update, relations, written)
        manifest = Manifest(
            number, update.program, relations, written, update.sources, update.streams, update.sinks, state
        )
        self._disk.create(file_of(self.folder, number), lambda out: out.write(to_bytes(manifest)))
        self.current = manifest
        self._sweep()
        return manifest

    # -- after a commit

    @property
    def is_shown(self) -> bool:
        """Whether all that follows from the last commit outside of the store has been done."""
        if self.current is None:
            return True
        file = self.folder / _SHOWN
        return file.exists() and file.read_text() == str(self.current.commit)

    def mark_shown(self) -> None:
        """Remember that all that follows from the last commit has been done."""
        if self.current is not None:
            number = str(self.current.commit).encode()
            self._disk.create(self.folder / _SHOWN, lambda out: out.write(number))

    def _extended(self, number: int, relation: Relation, change: Segment | None) -> tuple[Segment, ...]:
        """The segments of a relation with a change, as a new base if they have become many."""
        before = self._segments(relation.name)
        if change is None:
            return before
        segments = (*before, change)
        if not before:
            return (replace(change, is_base=True),)
        if not is_long(segments):
            return segments
        whole = signed(read_segments(self.folder / _SEGMENTS, relation, segments), 1)
        return (self._write(number, relation.name, "base", whole),)

    def _state(
        self,
        update: Update,
        relations: Mapping[str, StoredRelation],
        written: Mapping[str, Segment],
    ) -> KeptState | None:
        """The state to go on from after this commit: the one that there is, with a longer log, or a new one.

        A state knows relations by their names: when some come or go, a log would say too little.
        """
        current, number = self.current, self.next_commit
        is_missed = update.state is not None and update.state.is_missed
        if current is not None and current.state is not None and not is_missed:
            asserted = {n: s for n, s in written.items() if update.relations[n].role is Role.INPUT}
            kept = with_changes(current.state, sum(s.rows for s in written.values()), asserted)
            if _declared(relations) == _declared(current.relations) and not is_old(kept, number):
                return kept
        if update.state is None:
            return None
        rows = sum(segment.rows for stored in relations.values() for segment in stored.segments)
        return write_state(
            self._disk, self.folder, update.state, commit=number, program=update.program, rows=rows
        )

    def _write(self, number: int, name: str, kind: str, rows: Any) -> Segment:
        file = f"{name.replace('::', '.')}/{number:012}-{kind}.parquet"
        return write_segment(self._disk, self.folder / _SEGMENTS, file, rows, is_base=kind == "base")

    def _sweep(self) -> None:
        """Remove what no kept version needs: old manifests first, so that none names what is gone."""
        commits = find_commits(self.folder)
        for commit in commits[:-KEPT]:
            self._disk.remove(file_of(self.folder, commit))
        kept = [read_manifest(self.folder, commit) for commit in commits[-KEPT:]]
        needed = {self.folder / _SEGMENTS / file for manifest in kept for file in manifest.files}
        needed |= {self.folder / m.state.file for m in kept if m.state is not None}
        unfinished = (self.folder / FOLDER).glob(f"*{UNFINISHED}")
        found = (*(self.folder / _SEGMENTS).glob("*/*"), *(self.folder / STATES).glob("*"))
        for file in (*unfinished, *(f for f in found if f not in needed)):
            self._disk.remove(file)


def _declared(relations: Mapping[str, StoredRelation]) -> dict[str, str]:
    return {name: stored.declaration for name, stored in relations.items()}


def _locked(file: Path) -> BinaryIO:
    """An open file that no other process has locked, locked."""
    lock = file.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise StoreError(
            f"another run is writing to the store {file.parent}; wait until it has ended"
        ) from None
    return lock
