"""The store: versioned relations on disk. The last complete version is always readable.

A store is a folder with a marker, `manifests/` (one file per commit), `segments/` (one folder per relation),
`sidecars/` (what is known of the rows of inputs), `states/` (engine states to resume from) and `history/`
(see `history`):

- A commit writes its segments, occasionally a state, then its manifest. If it stops before the manifest is
  renamed to its final name, it did not happen, and its files are orphans. If it stops later, it happened.
- One process writes at a time. It holds a lock, which the system releases when the process ends, however it
  ends. Readers need no lock; a version stays readable until two commits later.
- A commit that fails, for example on a full disk, keeps the previous version; its files are orphans.
- Orphans are removed when the store is opened for writing and after each commit. An orphan is a file that is
  named like a file of the store and that no retained version needs. All other files are left alone.
- Every file is checked against its digest when it is first read (`verifying`).

Actions outside the store that follow a commit (writing a sink, switching a link) are repeated until they are
marked as done: `is_shown`, `mark_shown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

from tidelog.data.file_names import file_name
from tidelog.errors import StoreError
from tidelog.program.text import print_relation
from tidelog.program.typed import Relation, Role
from tidelog.store.disk import Disk, try_lock
from tidelog.store.history import remember
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
from tidelog.store.reading import StoredVersion, latest, lost
from tidelog.store.segments import Segment, is_long, write_segment
from tidelog.store.sidecars import Sidecar, SidecarChange, with_change
from tidelog.store.states import KeptState, Offer, is_old, with_changes, write_state
from tidelog.tables.signed import signed

__all__ = ["Store", "Update", "latest"]

KEPT: Final = 2
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class Update:
    """The content of a commit: `changes` are signed rows; relations without changes stay as they are.

    `relations` are all relations of the store after the commit; any other relation is dropped. `state` is
    saved if a new one is due. `sidecars` are changes to those of some input relations, by their kinds: a
    relation that is named loses the kinds that aren't, and all others keep theirs.
    """

    program: str
    relations: Mapping[str, Relation]
    changes: Mapping[str, Any]
    sources: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, Batch] = field(default_factory=dict)
    sinks: Mapping[str, Written] = field(default_factory=dict)
    state: Offer | None = None
    sidecars: Mapping[str, Mapping[str, SidecarChange]] = field(default_factory=dict)


class Store(StoredVersion):
    """A store opened for writing. Use it in a `with` block, or close it."""

    def __init__(self, folder: Path, disk: Disk | None = None, history: int = 0) -> None:
        """The facts of so many commits are kept for explanations, even if nothing else needs them."""
        super().__init__(folder, None)
        self._history = history
        self._disk = disk or Disk()
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
        """Write the marker, which says whether there are commits. Raises StoreError if they may be lost."""
        marked, wanted = has_commits(self.folder), self.current is not None
        if marked is None and not wanted and any(find_files(self.folder)):
            raise lost(self.folder)
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

    # -- writing

    @property
    def next_commit(self) -> int:
        return 0 if self.current is None else self.current.commit + 1

    def commit(self, update: Update) -> Manifest:
        """Commit an update. It is durable once this returns. Raises StoreError if the disk fails."""
        file = file_of(self.folder, self.next_commit)
        try:
            manifest = self._prepared(update)
            self._disk.create(file, lambda out: out.write(to_bytes(manifest)))
        except OSError as error:
            raise self._undone(file, error) from None
        except BaseException:
            if file.exists():  # interrupted after the commit was made
                self.current = latest(self.folder)
            raise
        self.current = manifest
        with suppress(OSError, StoreError):  # the commit is made; the next one cleans up
            self._mark()
            self._sweep()
        return manifest

    def _prepared(self, update: Update) -> Manifest:
        """The manifest of the next commit, after writing all files that it names."""
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
        sidecars = self._sidecars(number, update)
        return Manifest(
            number,
            update.program,
            relations,
            written,
            update.sources,
            update.streams,
            update.sinks,
            state,
            sidecars,
        )

    def _sidecars(self, number: int, update: Update) -> dict[str, Mapping[str, Sidecar]]:
        before = {} if self.current is None else self.current.sidecars
        made = {name: kinds for name, kinds in before.items() if name in update.relations}
        for name, changes in update.sidecars.items():
            made[name] = {
                kind: with_change(
                    self._disk,
                    self.folder,
                    (number, name, kind),
                    before.get(name, {}).get(kind),
                    change,
                    self.verifier,
                )
                for kind, change in changes.items()
            }
        return {name: kinds for name, kinds in made.items() if kinds}

    def _undone(self, file: Path, error: OSError) -> StoreError:
        """The error for a commit that could not be written. Its files are removed if possible."""
        with suppress(OSError):
            self._disk.remove(file)  # the folder sync may have failed after the rename
        problem = (
            f"commit {self.next_commit} could not be written to {self.folder}: {error.strerror or error}"
        )
        if file.exists():
            return StoreError(f"{problem}; {file} could not be removed: run again")
        with suppress(OSError, StoreError):
            self._sweep()
        return StoreError(f"{problem}; the store is unchanged: fix the cause and run again")

    # -- after a commit

    @property
    def is_shown(self) -> bool:
        """Whether all actions outside the store that follow the last commit are done."""
        if self.current is None:
            return True
        number = self.current.commit
        return shown_commit(self.folder) == number or was_shown_before(self.folder, number)

    def mark_shown(self) -> None:
        """Record that all actions that follow the last commit are done."""
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
        """The segments of a relation after a change, merged into a new base if they are many."""
        before = tuple(map(self._with_digest, self.segments(relation.name)))
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
        """The segment with its digest, which earlier formats did not have."""
        if segment.digest:
            return segment
        file = self.folder / SEGMENTS / segment.file
        return replace(segment, digest=self.verifier.verify(file, segment.size, ""))

    def _state(
        self,
        update: Update,
        relations: Mapping[str, StoredRelation],
        written: Mapping[str, Segment],
    ) -> KeptState | None:
        """The state to resume from after this commit: the existing one with a longer log, or a new one.

        A log is not enough if relations are declared or dropped, since a state identifies them by name.
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
        file = f"{file_name(name)}/{number:012}-{kind}.parquet"
        self.verifier.forget(self.folder / SEGMENTS / file)
        return write_segment(self._disk, self.folder / SEGMENTS, file, rows, is_base=kind == "base")

    def _sweep(self) -> None:
        """Remove files that no retained version needs: manifests first, so that none names a deleted file."""
        commits = find_commits(self.folder)
        kept = [read_manifest(self.folder, commit) for commit in commits[-KEPT:]]
        files = frozenset(file for manifest in kept for file in manifest.files)
        files |= self._remembered(commits[:-KEPT], files)
        for commit in commits[:-KEPT]:
            self._disk.remove(file_of(self.folder, commit))
        needed = {self.folder / SEGMENTS / file for file in files}
        needed |= {self.folder / m.state.file for m in kept if m.state is not None}
        needed |= {self.folder / part.file for m in kept for part in m.parts}
        for file in find_files(self.folder):
            if file not in needed:
                self._disk.remove(file)

    def _remembered(self, past: Sequence[int], needed: frozenset[str]) -> frozenset[str]:
        """Add commits to the history; returns the files that it needs."""
        manifests = [read_manifest(self.folder, commit) for commit in past]
        since = self.next_commit - self._history
        return remember(self._disk, self.folder, manifests, needed, since)


def _declared(relations: Mapping[str, StoredRelation]) -> dict[str, str]:
    return {name: stored.declaration for name, stored in relations.items()}


def _unopened(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"the store {folder} cannot be opened: {error.strerror or error}")


def _locked(file: Path) -> BinaryIO:
    """The lock file, opened and locked. Raises StoreError if another process holds the lock."""
    lock = file.open("ab")
    try:
        try_lock(lock)
    except BlockingIOError:
        lock.close()
        raise StoreError(f"another run is writing to the store {file.parent}; wait until it ends") from None
    return lock
