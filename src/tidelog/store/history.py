"""Earlier commits, as far as the store can still tell them: for explanations, never the source of truth.

When a commit is no longer retained, its manifest is copied to `history/`. It stays there as long as all
segments of its input relations are needed by retained commits, or are *pinned*, because the store is asked to
keep the history of so many commits. So the program and the asserted facts of each commit in the history are
known, and results can be computed from them. A new base of a relation ends the history before it, unless that
is pinned.

Several writers may do so at once, although all but the last one can't commit any more (see `log`). So a
writer judges only what was committed before the commits that it knows as the last ones, and takes files of
later writers to be there. It looks at the history after the log: a commit moves from there to here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, Final

from tidelog.errors import StoreError
from tidelog.program.declared import Relation
from tidelog.store.files import Files, Output
from tidelog.store.log import Slot, accepted, find_slots
from tidelog.store.manifest import HISTORY, SEGMENTS, Manifest, OtherFormat, entry_from
from tidelog.store.places import Place, files_at
from tidelog.store.reading import StoredVersion, unopened
from tidelog.store.sealing import Damaged, unsealed
from tidelog.store.segments import read_changes
from tidelog.tables.signed import difference

__all__ = ["History", "Remembered", "changes_between", "explainable", "history_file", "version_at"]

_NAME: Final = re.compile(rf"{HISTORY}/(\d{{12}})\.json")


def history_file(commit: int) -> str:
    """The manifest of a commit in the history."""
    return f"{HISTORY}/{commit:012}.json"


def _inputs_of(manifest: Manifest) -> frozenset[str]:
    """The files of the asserted facts of a commit."""
    stored = (r for r in manifest.relations.values() if r.is_input)
    return frozenset(f"{SEGMENTS}/{segment.file}" for relation in stored for segment in relation.segments)


def _find(files: Files) -> list[int]:
    """The commits that have a manifest in the history."""
    found = map(_NAME.fullmatch, files.list(HISTORY))
    return sorted(int(name[1]) for name in found if name is not None)


def _read(files: Files, commit: int) -> Manifest:
    """Raises OSError, or Damaged."""
    try:
        entry = entry_from(unsealed(files.read(history_file(commit))), commit)
    except (OtherFormat, ValueError):
        raise Damaged from None
    if not isinstance(entry, Manifest):
        raise Damaged
    return entry


# -- writing


@dataclass(frozen=True, slots=True)
class Remembered:
    """What to do about the history: manifests to add and to remove. `pinned` are the files to keep for it."""

    added: Mapping[int, bytes] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    pinned: frozenset[str] = frozenset()


class History:
    """The history of a store that is open for writing; the last `count` commits are pinned."""

    def __init__(self, files: Files, count: int) -> None:
        self._files = files
        self._count = count
        self._inputs: dict[int, frozenset[str]] = {}  # of commits in the history, which do not change

    def remembered(
        self, slots: Sequence[Slot], kept: Sequence[Manifest], is_there: Callable[[str], bool]
    ) -> Remembered:
        """What the history is when only the manifests `kept` are retained, from the last one on.

        `slots` is the log that they were read from, `is_there` tells whether a file still is.
        """
        if not kept:
            return Remembered()
        first, since = kept[-1].commit, kept[0].commit + 1 - self._count
        needed = frozenset(name for manifest in kept for name in manifest.needed)
        past = accepted(self._files, slots, sorted({slot.commit for slot in slots if slot.commit < first}))
        listed, damaged = self._listed(first)
        inputs = {**listed, **{commit: _inputs_of(found.manifest) for commit, found in past.items()}}
        pinned = {c for c, names in inputs.items() if c >= since and all(map(is_there, names))}
        known = pinned | {commit for commit, names in inputs.items() if names <= needed}
        return Remembered(
            {commit: found.content for commit, found in past.items() if commit in known},
            tuple(history_file(commit) for commit in sorted({*listed, *damaged} - known)),
            frozenset(name for commit in pinned for name in inputs[commit]),
        )

    def add(self, remembered: Remembered) -> float:
        """Add manifests; those of the commits before the returned one need not stay in the log."""
        for commit, content in remembered.added.items():
            try:
                self._files.put(history_file(commit), partial(_write, content))
            except OSError:  # it is tried again after the next commit
                return commit
        return inf

    def _listed(self, first: int) -> tuple[dict[int, frozenset[str]], list[int]]:
        """The inputs of the commits in the history before the commit `first`, and those that are damaged."""
        listed: dict[int, frozenset[str]] = {}
        damaged: list[int] = []
        for commit in _find(self._files):
            if commit < first:
                try:
                    listed[commit] = self._inputs.get(commit) or _inputs_of(_read(self._files, commit))
                except Damaged:
                    damaged.append(commit)
                except FileNotFoundError:  # another writer removed it
                    pass
        self._inputs = listed
        return listed, damaged


def _write(content: bytes, out: Output) -> None:
    out.write(content)


# -- reading


def explainable(place: Place | Files) -> list[int]:
    """The commits whose changes can be explained: those before which the facts are known, too."""
    files = files_at(place)
    try:
        log, past = _known(files)
    except OSError as error:
        raise unopened(files, error) from None
    known = {*log, *past}
    return sorted(commit for commit in known if commit - 1 in known or commit == 0)


def _known(files: Files) -> tuple[dict[int, Manifest], list[int]]:
    """The commits whose program and facts are known: the manifests in the log, and the history."""
    while True:
        slots = find_slots(files)
        log = accepted(files, slots, sorted({slot.commit for slot in slots}))
        past = _find(files)
        if find_slots(files) == slots:  # otherwise a manifest may have been removed meanwhile
            return {commit: found.manifest for commit, found in log.items()}, past


def version_at(place: Place | Files, commit: int) -> StoredVersion:
    """The program and the asserted facts of a commit. Raises StoreError if the store no longer has them."""
    files = files_at(place)
    try:
        return StoredVersion(files, _manifest_at(files, commit))
    except OSError as error:
        raise unopened(files, error) from None


def _manifest_at(files: Files, commit: int) -> Manifest:
    """Raises StoreError or OSError."""
    log, past = _known(files)
    if commit in log:
        return log[commit]
    if commit in past:
        try:
            return _read(files, commit)
        except Damaged:
            where = files.where(history_file(commit))
            raise StoreError(f"{where} is corrupt; the next run removes it") from None
        except FileNotFoundError:  # a run removed it just now
            past.remove(commit)
    raise _unknown(files, commit, {*log, *past})


def _unknown(files: Files, commit: int, known: set[int]) -> StoreError:
    if not known:
        return StoreError(f"the store {files.place} has no commits yet")
    last = max(known)
    if commit > last:
        return StoreError(f"the store {files.place} has no commit {commit}; the last one is {last}")
    first = min(n for n in known if all(m in known for m in range(n, last + 1)))
    return StoreError(
        f"the store {files.place} no longer has the facts of commit {commit}; it has those since commit "
        f"{first}. Write `history = N` in the spec to keep those of N commits"
    )


def changes_between(older: StoredVersion, newer: StoredVersion, relation: Relation) -> Any:
    """The changes of an input relation from one commit to the next, as signed rows."""
    before, after = older.segments(relation.name), newer.segments(relation.name)
    if after[: len(before)] == before:
        return read_changes(relation, after[len(before) :], newer.verifier)
    return difference(older.table(relation), newer.table(relation))
