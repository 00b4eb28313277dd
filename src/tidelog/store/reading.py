"""Reading the last version of a store: without a lock, and possible until two commits later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidelog.errors import StoreError
from tidelog.program.typed import Relation
from tidelog.store.manifest import FOLDER, SEGMENTS, Manifest, file_of, find_commits, read_manifest
from tidelog.store.marker import SHOWN, has_commits, shown_commit
from tidelog.store.matching import matching
from tidelog.store.segments import Segment, read_changes, read_segments
from tidelog.store.sidecars import Kept
from tidelog.store.verifying import Verifier
from tidelog.tables.signed import SIGN, signed_schema, total

__all__ = ["StoredVersion", "latest", "lost"]


def latest(folder: Path) -> Manifest | None:
    """The last commit of a store, for readers; None if there is none. Raises StoreError if it was lost."""
    shown = shown_commit(folder)  # read before listing the manifests: a commit may happen in between
    commits = find_commits(folder)
    if not commits:
        if has_commits(folder):
            raise lost(folder)
        return None
    if shown is not None and shown > commits[-1]:
        raise StoreError(
            f"{file_of(folder, shown)} is missing: restore it from a backup, or delete {folder / SHOWN} to "
            f"continue from commit {commits[-1]}"
        )
    return read_manifest(folder, commits[-1])


class StoredVersion:
    """The relations of a store at one version; `current` is None if there are no commits."""

    def __init__(self, folder: Path, current: Manifest | None) -> None:
        self.folder = folder
        self.current = current
        self.verifier = Verifier()

    def table(self, relation: Relation) -> Any:
        """The content of a relation at the last commit."""
        return self._read(relation, self.segments(relation.name))

    def files(self, name: str) -> tuple[Path, ...]:
        """The verified segments of a relation, for other Parquet readers."""
        return tuple(self._verified(segment) for segment in self.segments(name))

    def changes_file(self, name: str) -> Path | None:
        """The segment with the changes of the last commit to a relation; None if there are none."""
        found = self.current.changes.get(name) if self.current is not None else None
        return None if found is None else self._verified(found)

    def asserted_since(self, relation: Relation) -> Any:
        """The changes of a relation's asserted facts since the saved state, as signed rows."""
        state = self.current.state if self.current is not None else None
        log = () if state is None else state.log.get(relation.name, ())
        return read_changes(self.folder / SEGMENTS, relation, log, self.verifier)

    def matching(self, relation: Relation, asked: Any) -> Any:
        """The rows of a relation at the last commit with the values of one of the rows of `asked`."""
        files = (self._verified(segment) for segment in self.segments(relation.name))
        found = [rows for file in files for rows in matching(file, asked)]
        return total(pa.concat_tables([signed_schema(relation).empty_table(), *found])).drop_columns([SIGN])

    def sidecar(self, name: str, kind: str) -> Kept | None:
        """What is known of the rows of an input relation, beside the relation itself."""
        found = {} if self.current is None else self.current.sidecars.get(name, {})
        return Kept(self.folder, found[kind], self.verifier) if kind in found else None

    def _read(self, relation: Relation, segments: Sequence[Segment]) -> Any:
        return read_segments(self.folder / SEGMENTS, relation, segments, self.verifier)

    def _verified(self, segment: Segment) -> Path:
        file = self.folder / SEGMENTS / segment.file
        self.verifier.verify(file, segment.size, segment.digest)
        return file

    def segments(self, name: str) -> tuple[Segment, ...]:
        """The segments of a relation; none if it is unknown."""
        stored = self.current.relations.get(name) if self.current is not None else None
        return () if stored is None else stored.segments


def lost(folder: Path) -> StoreError:
    """The error for a store without its manifests."""
    return StoreError(
        f"the store {folder} has segments but no manifest: {folder / FOLDER} was lost; restore it from a "
        "backup, or use a new store"
    )
