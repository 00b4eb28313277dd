"""The store: versioned relations in files. The last complete version is always readable.

A store is a folder, on a local disk or in an object store, with a marker, `manifests/` (the log, see `log`),
`segments/` (one folder per relation), `sidecars/` (what is known of the rows of inputs), `states/` (engine
states to resume from, and positions of streams) and `history/` (see `history`):

- A commit writes its segments, occasionally a state, then its manifest. If it stops before the manifest is
  the next entry of the log, it did not happen, and its files are orphans. If it stops later, it happened.
- One process writes at a time. Before it writes or deletes anything, it claims the next commit, which keeps
  all earlier writers from committing; their commits fail. On a local disk it also holds a lock, which the
  system releases when the process ends, however it ends, so that a second writer fails at once. Readers need
  neither; a version stays readable until two commits later.
- A commit that fails, for example on a full disk, keeps the previous version; its files are orphans.
- Orphans are removed after a claim and after each commit, on a local disk also when the store is opened. An
  orphan is a file that is named like a file of the store, that no retained version needs, and that no later
  writer has made: the name says whose it is. All other files are left alone.
- Every file is checked against its digest when it is first read (`verifying`).

Actions outside the store that follow a commit (writing a sink, switching a link) are repeated until they are
marked as done: `is_shown`, `mark_shown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, NamedTuple

from tidelog.data.file_names import file_name
from tidelog.errors import StoreError
from tidelog.program.declared import Relation, Role
from tidelog.program.text import print_relation
from tidelog.store.claiming import LogWriter
from tidelog.store.distributed import Workers
from tidelog.store.files import Files, Uncertain
from tidelog.store.history import History, Remembered
from tidelog.store.log import Slot, find_slots, last_manifests
from tidelog.store.manifest import (
    HISTORY,
    MANIFESTS,
    SEGMENTS,
    Batch,
    Manifest,
    StoredRelation,
    Written,
    epoch_of,
)
from tidelog.store.marker import (
    MARKER,
    SHOWN,
    has_commits,
    marker_bytes,
    shown,
    shown_bytes,
    was_shown_before,
)
from tidelog.store.places import Place
from tidelog.store.reading import StoredVersion, latest, lost, opened, unopened
from tidelog.store.segments import Segment, is_long, write_segments
from tidelog.store.sidecars import SIDECARS, Sidecar, SidecarChange, with_change
from tidelog.store.states import STATES, KeptState, Offer, is_old, part_name, with_changes, write_state
from tidelog.store.verifying import Verifier
from tidelog.tables.signed import signed

__all__ = ["Store", "Update", "latest"]

KEPT: Final = 2
_ANY: Final = 1 << 62  # of any epoch


@dataclass(frozen=True, slots=True)
class Update:
    """The content of a commit: `changes` are signed rows, tables or distributed; relations without changes
    stay as they are.

    `relations` are all relations of the store after the commit; any other relation is dropped. `state` is
    saved if a new one is due. `sidecars` are changes to those of some input relations, by their kinds: a
    relation that is named loses the kinds that aren't, and all others keep theirs. `workers` do what takes
    too many rows for this process, if there are any. `positions` are what Spark needs to go on after a batch
    in `streams`, if the store is to keep that.
    """

    program: str
    relations: Mapping[str, Relation]
    changes: Mapping[str, Any]
    sources: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, Batch] = field(default_factory=dict)
    sinks: Mapping[str, Written] = field(default_factory=dict)
    state: Offer | None = None
    sidecars: Mapping[str, Mapping[str, SidecarChange]] = field(default_factory=dict)
    workers: Workers | None = None
    positions: Mapping[str, bytes] = field(default_factory=dict)


class _Obsolete(NamedTuple):
    """What is to be removed from a store: entries of the log, once `history` has them, and other files."""

    history: Remembered
    slots: list[Slot]
    files: list[str]

    @property
    def is_anything(self) -> bool:
        return bool(self.slots or self.files or self.history.removed)


class Store(StoredVersion):
    """A store opened for writing. Use it in a `with` block, or close it."""

    def __init__(self, place: Place | Files, history: int = 0) -> None:
        """The facts of so many commits are kept for explanations, even if nothing else needs them."""
        super().__init__(place, None)
        self.verifier = Verifier(self.at, self._expect_last)
        self._history = History(self.at, history)
        try:
            self._release = self.at.lock()
        except BlockingIOError:
            raise StoreError(
                f"another run is writing to the store {self.place}; wait until it ends"
            ) from None
        except OSError as error:
            raise unopened(self.at, error) from None
        try:
            self._log = LogWriter(self.at, opened(self.at))
            self.current = self._log.manifest
            self._mark()
            self.at.make_folders(MANIFESTS, SEGMENTS)
            self._make_room()
        except OSError as error:
            self.close()
            raise unopened(self.at, error) from None
        except BaseException:
            self.close()
            raise

    def _make_room(self) -> None:
        """Remove what interrupted commits left, if a lock says that they have ended."""
        if self.at.folder is None or not self._obsolete(_ANY).is_anything:
            return
        try:
            self._log.claim()
        except OSError:  # the disk may be full: then the lock has to be enough
            self._sweep(_ANY)
        else:
            self._sweep(self._log.epoch)

    def _mark(self) -> None:
        """Write the marker, which says whether there are commits. Raises StoreError if they may be lost."""
        marked = has_commits(self.at)
        if marked is None and self.current is None:
            if any(self._written()) and has_commits(self.at) is None:
                raise lost(self.at)
            self._put_marker(has_commits=False)
        # look again: another writer may have made the first commit meanwhile, before the marker was put
        if not marked and (self.current is not None or last_manifests(self.at, find_slots(self.at), 1)):
            self._put_marker(has_commits=True)

    def _put_marker(self, *, has_commits: bool) -> None:
        content = marker_bytes(has_commits=has_commits)
        self.at.put(MARKER, lambda out: out.write(content))

    def close(self) -> None:
        self._release()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- writing

    @property
    def next_commit(self) -> int:
        return self._log.number

    def claim(self) -> None:
        """Claim the next commit, which keeps earlier writers from making it; `commit` does so if need be.

        Raises StoreError if another run has committed since this one opened the store.
        """
        try:
            self._claim()
        except OSError as error:
            raise self._failed(error) from None

    def commit(self, update: Update) -> Manifest:
        """Commit an update. It is durable once this returns.

        Raises StoreError if writing fails, or if another run has taken over the store.
        """
        manifest = None
        try:
            self._claim()
            manifest = self._prepared(update)
            self._log.append(manifest)
        except OSError as error:
            raise self._failed(error) from None
        except BaseException:
            self._log.after_interrupt(manifest)
            self.current = self._log.manifest
            raise
        self.current = manifest
        with suppress(OSError, StoreError):  # the commit is made; the next one cleans up
            self._mark()
            self._sweep(self._log.epoch)
        return manifest

    def rebase(self, manifest: Manifest, contents: Mapping[str, tuple[Relation, Any]]) -> None:
        """Continue from another last commit: `manifest`, with other contents of some relations.

        It becomes durable with the next commit, and is forgotten if that fails.
        """
        try:
            self._claim()
            relations = {
                name: StoredRelation(print_relation(relation), self._base(manifest.commit, relation, rows))
                for name, (relation, rows) in contents.items()
            }
        except OSError as error:
            raise self._failed(error) from None
        self.current = replace(manifest, relations={**manifest.relations, **relations})

    def restore(self) -> None:
        """Continue from the last commit."""
        self.current = self._log.manifest

    def _base(self, number: int, relation: Relation, rows: Any) -> tuple[Segment, ...]:
        """A new base as of an earlier commit: the next one may write another."""
        return self._write(number, relation.name, "base", signed(rows, 1)) if len(rows) else ()

    def is_last(self) -> bool:
        """Whether no other run has claimed a commit since the last one, as far as can be known."""
        try:
            return self._log.is_last()
        except OSError:
            return False

    def _expect_last(self) -> None:
        """Raise StoreError if a later writer has added to the log: it may have removed files."""
        with suppress(OSError):
            self._log.expect_last()

    def _claim(self) -> None:
        if not self._log.epoch:
            self._log.claim()
            with suppress(OSError, StoreError):
                self._sweep(self._log.epoch)

    def _failed(self, error: OSError) -> StoreError:
        """The error for a commit that could not be written. Its files are removed if possible."""
        problem = f"commit {self.next_commit} could not be written to {self.place}: {error.strerror or error}"
        if isinstance(error, Uncertain):
            self._log.give_up()
            return StoreError(f"{problem}; it may have been made or not: run again, to find out")
        if self._log.epoch:
            with suppress(OSError, StoreError):
                self._sweep(self._log.epoch)
        self._log.give_up()
        return StoreError(f"{problem}; the store is unchanged: fix the cause and run again")

    def _prepared(self, update: Update) -> Manifest:
        """The manifest of the next commit, after writing all files that it names."""
        number = self.next_commit
        changes = {name: rows for name, rows in update.changes.items() if rows.num_rows}
        written = {name: self._write(number, name, "changes", rows) for name, rows in changes.items()}
        relations = {
            name: StoredRelation(
                print_relation(relation),
                self._extended(number, relation, written.get(name, ()), update.workers),
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
            self._streams(number, update),
            update.sinks,
            state,
            self._log.writer,
            sidecars,
        )

    def _streams(self, number: int, update: Update) -> dict[str, Batch]:
        """The batches of streams, after writing their positions."""
        made = dict(update.streams)
        for name, content in update.positions.items():
            file = part_name(f"{STATES}/{number:012}-{self._log.epoch}")
            size, digest = self.at.put(file, lambda out, content=content: out.write(content))  # type: ignore[misc]
            made[name] = replace(made[name], file=file, size=size, digest=digest)
        return made

    def _sidecars(self, number: int, update: Update) -> dict[str, Mapping[str, Sidecar]]:
        before = {} if self.current is None else self.current.sidecars
        made = {name: kinds for name, kinds in before.items() if name in update.relations}
        for name, changes in update.sidecars.items():
            made[name] = {
                kind: with_change(
                    self.at,
                    (f"{number:012}", name, kind, self._log.epoch),
                    before.get(name, {}).get(kind),
                    change,
                    self.verifier,
                    update.workers,
                )
                for kind, change in changes.items()
            }
        return {name: kinds for name, kinds in made.items() if kinds}

    # -- after a commit

    @property
    def is_shown(self) -> bool:
        """Whether all actions outside the store that follow the last commit are done."""
        if self.current is None:
            return True
        number = self.current.commit
        try:
            found = shown(self.at)
        except OSError:  # showing again does no harm
            return False
        return (found is not None and found.commit == number) or was_shown_before(self.at, number)

    def mark_shown(self) -> None:
        """Record that all actions that follow the last commit are done."""
        if self.current is None:
            return
        try:
            content = shown_bytes(self.current.commit, self._log.manifest_name)
            self.at.put(SHOWN, lambda out: out.write(content))
        except OSError as error:
            raise StoreError(
                f"commit {self.current.commit} is in the store, but {self.at.where(SHOWN)} could not be "
                f"written: {error.strerror or error}; the next run writes the sinks again"
            ) from None

    def _extended(
        self, number: int, relation: Relation, change: tuple[Segment, ...], workers: Workers | None
    ) -> tuple[Segment, ...]:
        """The segments of a relation after a change, merged into a new base if they are many."""
        before = tuple(map(self._with_digest, self.segments(relation.name)))
        segments = (*before, *change)
        if not change:
            return before
        if not before:
            return tuple(replace(segment, is_base=True) for segment in change)
        if not is_long(segments):
            return segments
        if workers is not None and workers.takes(sum(segment.rows for segment in segments)):
            return self._write(number, relation.name, "base", workers.base(relation, segments))
        return self._write(number, relation.name, "base", signed(self._read(relation, segments), 1))

    def _with_digest(self, segment: Segment) -> Segment:
        """The segment with its digest, which earlier formats did not have."""
        if segment.digest:
            return segment
        name = f"{SEGMENTS}/{segment.file}"
        return replace(segment, digest=self.verifier.verify(name, segment.size, ""))

    def _state(
        self,
        update: Update,
        relations: Mapping[str, StoredRelation],
        written: Mapping[str, tuple[Segment, ...]],
    ) -> KeptState | None:
        """The state to resume from after this commit: the existing one with a longer log, or a new one.

        A log is not enough if relations are declared or dropped, since a state identifies them by name.
        """
        current, number = self.current, self.next_commit
        is_missed = update.state is not None and update.state.is_missed
        before = None if current is None else current.state
        if current is not None and before is not None and before.digest and not is_missed:
            asserted = {n: s for n, s in written.items() if update.relations[n].role is Role.INPUT}
            kept = with_changes(before, sum(s.rows for found in written.values() for s in found), asserted)
            if _declared(relations) == _declared(current.relations) and not is_old(kept, number):
                return kept
        if update.state is None:
            return None
        rows = sum(segment.rows for stored in relations.values() for segment in stored.segments)
        file = f"{STATES}/{number:012}-{self._log.epoch}"
        return write_state(self.at, file, update.state, commit=number, program=update.program, rows=rows)

    def _write(self, number: int, name: str, kind: str, rows: Any) -> tuple[Segment, ...]:
        stem = f"{file_name(name)}/{number:012}-{kind}-{self._log.epoch}"
        self.verifier.forget(f"{SEGMENTS}/{stem}.parquet")
        return write_segments(self.at, stem, rows, is_base=kind == "base")

    def _sweep(self, epoch: int) -> None:
        """Remove what no retained version needs and writers up to an epoch have made."""
        obsolete = self._obsolete(epoch)
        end = self._history.add(obsolete.history)
        for slot in obsolete.slots:  # first, so that no manifest names a file that was removed
            if slot.commit < end:
                self.at.delete(slot.name)
        for name in (*obsolete.history.removed, *obsolete.files):
            self.at.delete(name)

    def _obsolete(self, epoch: int) -> _Obsolete:
        found = {name: epoch_of(name) or 0 for name in self._written()}
        slots = find_slots(self.at)  # after the files, so that it has all that names them
        kept = last_manifests(self.at, slots, KEPT)
        history = self._history.remembered(  # later writers may have made files since they were found
            slots, kept, lambda name: name in found or (epoch_of(name) or 0) > epoch
        )
        needed = {name for manifest in kept for name in manifest.needed} | history.pinned
        return _Obsolete(
            history,
            [slot for slot in slots if kept and slot.commit < kept[-1].commit],
            [name for name, made in found.items() if made <= epoch and name not in needed],
        )

    def _written(self) -> Iterator[str]:
        """The files that commits may have written, recognised by name; other files are not the store's."""
        for folder in (SEGMENTS, SIDECARS, STATES, MANIFESTS, HISTORY):
            yield from (name for name in self.at.list(folder) if epoch_of(name) is not None)


def _declared(relations: Mapping[str, StoredRelation]) -> dict[str, str]:
    return {name: stored.declaration for name, stored in relations.items()}
