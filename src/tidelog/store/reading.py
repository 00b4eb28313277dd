"""Reading the last version of a store: without a lock, and possible until two commits later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidelog.errors import StoreError
from tidelog.program.declared import Relation
from tidelog.store.files import Files
from tidelog.store.log import Head, read_head
from tidelog.store.manifest import MANIFESTS, SEGMENTS, Manifest
from tidelog.store.marker import SHOWN, has_commits, shown
from tidelog.store.matching import matching
from tidelog.store.places import Place, files_at
from tidelog.store.segments import Segment, read_changes, read_segments
from tidelog.store.sidecars import Kept
from tidelog.store.verifying import Verifier
from tidelog.tables.signed import SIGN, signed_schema, total

__all__ = ["StoredVersion", "latest", "lost", "opened", "unopened"]


def latest(place: Place | Files) -> Manifest | None:
    """The last commit of a store, for readers; None if there is none. Raises StoreError if it was lost."""
    files = files_at(place)
    try:
        return opened(files).manifest
    except OSError as error:
        raise unopened(files, error) from None


def opened(files: Files) -> Head:
    """The end of the log. Raises StoreError if the last commit was lost."""
    before, had_commits = shown(files), has_commits(files)  # first, since a commit may happen in between
    head = read_head(files)
    if head.manifest is None:
        if had_commits:
            raise lost(files)
        return head
    if before is not None and before.commit > head.manifest.commit:
        manifest = files.where(before.manifest or f"{MANIFESTS}/{before.commit:012}.json")
        raise StoreError(
            f"{manifest} is missing: restore it from a backup, or delete {files.where(SHOWN)} to "
            f"continue from commit {head.manifest.commit}"
        )
    return head


class StoredVersion:
    """The relations of a store at one version; `current` is None if there are no commits."""

    def __init__(self, place: Place | Files, current: Manifest | None) -> None:
        self.at = files_at(place)
        self.current = current
        self.verifier = Verifier(self.at)

    @property
    def place(self) -> str:
        return self.at.place

    def table(self, relation: Relation) -> Any:
        """The content of a relation at the last commit."""
        return self._read(relation, self.segments(relation.name))

    def paths(self, segments: Sequence[Segment]) -> tuple[Path, ...]:
        """Segments of a local store, verified, for other Parquet readers."""
        return tuple(map(self._verified, segments))

    def segments(self, name: str) -> tuple[Segment, ...]:
        """The segments of a relation."""
        stored = self.current.relations.get(name) if self.current is not None else None
        return () if stored is None else stored.segments

    def changes_segments(self, name: str) -> tuple[Segment, ...]:
        """The segments with the changes of the last commit to a relation; none if there are no changes."""
        return self.current.changes.get(name, ()) if self.current is not None else ()

    def log(self, name: str) -> tuple[Segment, ...]:
        """The segments with the changes of a relation's asserted facts since the saved state."""
        state = self.current.state if self.current is not None else None
        return () if state is None else state.log.get(name, ())

    def asserted_since(self, relation: Relation) -> Any:
        """The changes of a relation's asserted facts since the saved state, as signed rows."""
        return read_changes(relation, self.log(relation.name), self.verifier)

    def matching(self, relation: Relation, asked: Any) -> Any:
        """The rows of a relation at the last commit with the values of one of the rows of `asked`."""
        files = (
            self.verifier.verified(f"{SEGMENTS}/{s.file}", s.size, s.digest)
            for s in self.segments(relation.name)
        )
        found = [rows for file in files for rows in matching(file, asked)]
        return total(pa.concat_tables([signed_schema(relation).empty_table(), *found])).drop_columns([SIGN])

    def sidecar(self, name: str, kind: str) -> Kept | None:
        """What is known of the rows of an input relation, beside the relation itself."""
        found = {} if self.current is None else self.current.sidecars.get(name, {})
        return Kept(found[kind], self.verifier) if kind in found else None

    def _read(self, relation: Relation, segments: Sequence[Segment]) -> Any:
        return read_segments(relation, segments, self.verifier)

    def _verified(self, segment: Segment) -> Path:
        assert self.at.folder is not None, "only local files can be read by others"
        self.verifier.verify(f"{SEGMENTS}/{segment.file}", segment.size, segment.digest)
        return self.at.folder / SEGMENTS / segment.file


def lost(files: Files) -> StoreError:
    """The error for a store without its manifests."""
    return StoreError(
        f"the store {files.place} has segments but no manifest: {files.where(MANIFESTS)} was lost; "
        "restore it from a backup, or use a new store"
    )


def unopened(files: Files, error: OSError) -> StoreError:
    return StoreError(f"the store {files.place} cannot be opened: {error.strerror or error}")
