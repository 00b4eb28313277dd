"""Earlier commits, as far as the store can still tell them: for explanations, never the source of truth.

When a commit is no longer retained, its manifest is copied to `history/`. It stays there as long as all
segments of its input relations are needed by retained commits, or are *pinned*, because the store is asked to
keep the history of so many commits. So the program and the asserted facts of each commit in the history are
known, and results can be computed from them. A new base of a relation ends the history before it, unless that
is pinned.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from tidelog.errors import StoreError
from tidelog.program.typed import Relation
from tidelog.store.disk import Disk
from tidelog.store.manifest import (
    FOLDER,
    HISTORY,
    SEGMENTS,
    Manifest,
    file_of,
    find_commits,
    read_manifest,
)
from tidelog.store.reading import StoredVersion
from tidelog.store.segments import read_changes
from tidelog.tables.signed import difference

__all__ = ["changes_between", "explainable", "remember", "version_at"]


def inputs_of(manifest: Manifest) -> frozenset[str]:
    """The files of the asserted facts of a commit."""
    stored = (r for r in manifest.relations.values() if r.is_input)
    return frozenset(segment.file for relation in stored for segment in relation.segments)


def remember(
    disk: Disk, root: Path, past: list[Manifest], needed: frozenset[str], since: int
) -> frozenset[str]:
    """Add commits to the history, and forget those whose facts are going to be removed.

    `needed` are the files that retained commits need. The history from the commit `since` on is pinned;
    returns the files that it needs.
    """
    for manifest in past:
        if manifest.commit >= since or inputs_of(manifest) <= needed:
            with suppress(OSError):  # the history must not keep a full disk full
                _add(disk, root, manifest)
    pinned: set[str] = set()
    for commit in find_commits(root, HISTORY):
        files = _files_of(root, commit)
        if files is not None and commit >= since and _are_there(root, files):
            pinned |= files
        elif files is None or not files <= needed:
            disk.remove(file_of(root, commit, HISTORY))
    return frozenset(pinned)


def _add(disk: Disk, root: Path, manifest: Manifest) -> None:
    content = file_of(root, manifest.commit).read_bytes()
    disk.make_folder(root / HISTORY)
    disk.create(file_of(root, manifest.commit, HISTORY), lambda out: out.write(content))


def _files_of(root: Path, commit: int) -> frozenset[str] | None:
    """The files of a commit of the history; None if its manifest is damaged."""
    try:
        return inputs_of(read_manifest(root, commit, HISTORY))
    except StoreError:
        return None


def _are_there(root: Path, files: frozenset[str]) -> bool:
    return all((root / SEGMENTS / file).exists() for file in files)


def _known(root: Path) -> dict[int, str]:
    """The commits whose program and facts are known, each with the folder of its manifest."""
    known = dict.fromkeys(find_commits(root, HISTORY), HISTORY)
    return known | dict.fromkeys(find_commits(root), FOLDER)


def explainable(root: Path) -> list[int]:
    """The commits whose changes can be explained: those before which the facts are known, too."""
    known = _known(root)
    return sorted(commit for commit in known if commit - 1 in known or commit == 0)


def version_at(root: Path, commit: int) -> StoredVersion:
    """The program and the asserted facts of a commit. Raises StoreError if the store no longer has them."""
    known = _known(root)
    if commit in known:
        return StoredVersion(root, _manifest(root, commit, known[commit]))
    if not known:
        raise StoreError(f"the store {root} has no commits yet")
    if commit > max(known):
        raise StoreError(f"the store {root} has no commit {commit}; the last one is {max(known)}")
    first = min(n for n in known if all(m in known for m in range(n, max(known) + 1)))
    raise StoreError(
        f"the store {root} no longer has the facts of commit {commit}; it has those since commit {first}. "
        "Write `history = N` in the spec to keep those of N commits"
    )


def _manifest(root: Path, commit: int, folder: str) -> Manifest:
    try:
        return read_manifest(root, commit, folder)
    except StoreError:
        if folder == FOLDER:
            raise
        raise StoreError(f"{file_of(root, commit, folder)} is corrupt; the next run removes it") from None


def changes_between(older: StoredVersion, newer: StoredVersion, relation: Relation) -> Any:
    """The changes of an input relation from one commit to the next, as signed rows."""
    before, after = older.segments(relation.name), newer.segments(relation.name)
    if after[: len(before)] == before:
        return read_changes(newer.folder / SEGMENTS, relation, after[len(before) :], newer.verifier)
    return difference(older.table(relation), newer.table(relation))
