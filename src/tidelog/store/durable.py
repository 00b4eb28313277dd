"""The store: relations on the disk, in versions, of which the last complete one is always readable.

A folder with a marker, `manifests/`, one file for each commit, `segments/`, with a folder for each relation,
and `states/`, from which whoever works the relations out may go on:

- A commit writes its segments, now and then a state, then its manifest. Stopped before the manifest has its
  name, it has not happened, and what it wrote belongs to nobody; stopped after, it has.
- One process writes at a time: it holds a lock that the system takes back when the process ends, however.
  Readers need no lock; a version stays readable until two commits later.
- A commit that fails, as on a full disk, leaves the last one; what it wrote belongs to nobody.
- What belongs to nobody is removed when a store is opened for writing, and after each commit: files that have
  names of the store's own making and that no kept version needs. Everything else stays.
- Every file is compared with its digest when it is first read (`verifying`).

What has to happen outside of the store once a commit has (a sink to be written, a link to be turned) is done
again until it is marked as done: `is_shown`, `mark_shown`.
"""

from __future__ import annotations

import fcntl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

from tidelog.errors import StoreError
from tidelog.program.text import print_relation
from tidelog.program.typed import Relation, Role
from tidelog.store.disk import Disk
from tidelog.store.manifest import (
    FOLDER,
    SEGMENTS,
    Batch,
    Manifest,
    StoredRelation,
    Written,
    file_of,
    find_commits,
    find_files,
    read_manifest,
    to_bytes,
)
from tidelog.store.marker import (
    MARKER,
    SHOWN,
    has_commits,
    marker_bytes,
    shown_bytes,
    shown_commit,
    was_shown_before,
)
from tidelog.store.segments import Segment, is_long, read_changes, read_segments, write_segment
from tidelog.store.states import KeptState, Offer, is_old, with_changes, write_state
from tidelog.store.verifying import Verifier
from tidelog.tables.signed import signed

__all__ = ["Store", "Update", "latest"]

KEPT: Final = 2
_LOCK: Final = "lock"


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
    """The last commit of a store, for readers; None if there is none. StoreError if it was lost."""
    shown = shown_commit(folder)  # before the manifests are listed: a commit may be made meanwhile
    commits = find_commits(folder)
    if not commits:
        if has_commits(folder):
            raise _lost(folder)
        return None
    if shown is not None and shown > commits[-1]:
        raise StoreError(
            f"{file_of(folder, shown)} is missing: restore it from a backup, or delete {folder / SHOWN} to "
            f"go on from commit {commits[-1]}"
        )
    return read_manifest(folder, commits[-1])


class Store:
    """A store opened for writing; use it in a `with` block, or close it."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()
        self._verifier = Verifier()
        try:
            self._disk.make_folder(folder)
            self._lock = _locked(folder / _LOCK)
        except OSError as error:
            raise _unopened(folder, error) from None
        try:
            self.current = latest(folder)
            self._mark()
            self._disk.make_folder(folder / FOLDER)
            self._disk.make_folder(folder / SEGMENTS)
            self._sweep()
        except OSError as error:
            self.close()
            raise _unopened(folder, error) from None
        except BaseException:
            self.close()
            raise

    def _mark(self) -> None:
        """Have a marker that says whether there are commits. A folder that may have lost them gets none."""
        marked, wanted = has_commits(self.folder), self.current is not None
        if marked is None and not wanted and any(find_files(self.folder)):
            raise _lost(self.folder)
        if marked is not wanted:
            content = marker_bytes(has_commits=wanted)
            self._disk.create(self.folder / MARKER, lambda out: out.write(content))

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
        return self._read(relation, self._segments(relation.name))

    def files(self, name: str) -> tuple[Path, ...]:
        """The segments of a relation, for whoever reads Parquet by other means; they are verified here."""
        return tuple(self._verified(segment) for segment in self._segments(name))

    def changes_file(self, name: str) -> Path | None:
        """The segment with what the last commit changed in a relation; None if it changed nothing."""
        found = self.current.changes.get(name) if self.current is not None else None
        return None if found is None else self._verified(found)

    def asserted_since(self, relation: Relation) -> Any:
        """What was asserted of a relation since the state that is kept: signed rows."""
        state = self.current.state if self.current is not None else None
        log = () if state is None else state.log.get(relation.name, ())
        return read_changes(self.folder / SEGMENTS, relation, log, self._verifier)

    def _read(self, relation: Relation, segments: Sequence[Segment]) -> Any:
        return read_segments(self.folder / SEGMENTS, relation, segments, self._verifier)

    def _verified(self, segment: Segment) -> Path:
        file = self.folder / SEGMENTS / segment.file
        self._verifier.verify(file, segment.size, segment.digest)
        return file

    def _segments(self, name: str) -> tuple[Segment, ...]:
        stored = self.current.relations.get(name) if self.current is not None else None
        return () if stored is None else stored.segments

    # -- writing

    @property
    def next_commit(self) -> int:
        return 0 if self.current is None else self.current.commit + 1

    def commit(self, update: Update) -> Manifest:
        """Make a change of everything durable; it is when this returns. StoreError if the disk fails."""
        file = file_of(self.folder, self.next_commit)
        try:
            manifest = self._prepared(update)
            self._disk.create(file, lambda out: out.write(to_bytes(manifest)))
        except OSError as error:
            raise self._undone(file, error) from None
        except BaseException:
            if file.exists():  # interrupted when it was made already
                self.current = latest(self.folder)
            raise
        self.current = manifest
        with suppress(OSError, StoreError):  # the commit is made; the next one tidies up
            self._mark()
            self._sweep()
        return manifest

    def _prepared(self, update: Update) -> Manifest:
        """The manifest of the next commit, with all that it names on the disk."""
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
        return Manifest(
            number, update.program, relations, written, update.sources, update.streams, update.sinks, state
        )

    def _undone(self, file: Path, error: OSError) -> StoreError:
        """What to say of a commit that could not write; whatever it wrote is removed if that can be done."""
        with suppress(OSError):
            self._disk.remove(file)  # its folder may have failed to sync after it got its name
        problem = (
            f"commit {self.next_commit} could not be written to {self.folder}: {error.strerror or error}"
        )
        if file.exists():
            return StoreError(f"{problem}; {file} is there all the same: run again")
        with suppress(OSError, StoreError):
            self._sweep()
        return StoreError(f"{problem}; the store is as it was: run again once this is put right")

    # -- after a commit

    @property
    def is_shown(self) -> bool:
        """Whether all that follows from the last commit outside of the store has been done."""
        if self.current is None:
            return True
        number = self.current.commit
        return shown_commit(self.folder) == number or was_shown_before(self.folder, number)

    def mark_shown(self) -> None:
        """Remember that all that follows from the last commit has been done."""
        if self.current is None:
            return
        content = shown_bytes(self.current.commit)
        try:
            self._disk.create(self.folder / SHOWN, lambda out: out.write(content))
        except OSError as error:
            raise StoreError(
                f"commit {self.current.commit} is in the store, but {self.folder / SHOWN} could not be "
                f"written: {error.strerror or error}; the next run writes the sinks again"
            ) from None

    def _extended(self, number: int, relation: Relation, change: Segment | None) -> tuple[Segment, ...]:
        """The segments of a relation with a change, as a new base if they have become many."""
        before = tuple(map(self._with_digest, self._segments(relation.name)))
        if change is None:
            return before
        segments = (*before, change)
        if not before:
            return (replace(change, is_base=True),)
        if not is_long(segments):
            return segments
        whole = signed(self._read(relation, segments), 1)
        return (self._write(number, relation.name, "base", whole),)

    def _with_digest(self, segment: Segment) -> Segment:
        """A segment as this format names it: earlier ones had no digest."""
        if segment.digest:
            return segment
        file = self.folder / SEGMENTS / segment.file
        return replace(segment, digest=self._verifier.verify(file, segment.size, ""))

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
        before = None if current is None else current.state
        if current is not None and before is not None and before.digest and not is_missed:
            asserted = {n: s for n, s in written.items() if update.relations[n].role is Role.INPUT}
            kept = with_changes(before, sum(s.rows for s in written.values()), asserted)
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
        self._verifier.forget(self.folder / SEGMENTS / file)
        return write_segment(self._disk, self.folder / SEGMENTS, file, rows, is_base=kind == "base")

    def _sweep(self) -> None:
        """Remove what no kept version needs: old manifests first, so that none names what is gone."""
        commits = find_commits(self.folder)
        for commit in commits[:-KEPT]:
            self._disk.remove(file_of(self.folder, commit))
        kept = [read_manifest(self.folder, commit) for commit in commits[-KEPT:]]
        needed = {self.folder / SEGMENTS / file for manifest in kept for file in manifest.files}
        needed |= {self.folder / m.state.file for m in kept if m.state is not None}
        for file in find_files(self.folder):
            if file not in needed:
                self._disk.remove(file)


def _declared(relations: Mapping[str, StoredRelation]) -> dict[str, str]:
    return {name: stored.declaration for name, stored in relations.items()}


def _lost(folder: Path) -> StoreError:
    return StoreError(
        f"the store {folder} has segments but no manifest: {folder / FOLDER} was lost; restore it from a "
        "backup, or use a new store"
    )


def _unopened(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"the store {folder} cannot be opened: {error.strerror or error}")


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
