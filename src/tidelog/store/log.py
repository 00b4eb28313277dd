"""The log of a store: its manifests and claims, one after the other. Its end is what the store holds.

An entry is a file with the number of its commit in its name; a second entry for the same commit has `-1`
after it, a third one `-2`. The last entry for a commit is its manifest, those before it are claims. An entry
is put only if it is absent, right after the last one, and never changed. Hence:

- Of several writers that want to add the next entry, exactly one succeeds.
- A writer claims a commit before it writes or deletes other files. With that, the place at which every
  earlier writer would put its manifest is taken: it can write files, but never commit again.
- Old entries are deleted from the oldest on, all those of a commit together, and never those of the last
  commits. So a writer that was asleep for long may put an entry where an old one was deleted. It then looks
  at the entries after its own: the next one has to name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from tidelog.errors import StoreError
from tidelog.store.files import Files
from tidelog.store.manifest import MANIFESTS, Entry, Manifest, OtherFormat, entry_from
from tidelog.store.marker import SHOWN
from tidelog.store.sealing import Damaged, unsealed

__all__ = [
    "Accepted",
    "Head",
    "Slot",
    "accepted",
    "find_slots",
    "is_accepted",
    "last_manifests",
    "read_entry",
    "read_head",
]

_DIGITS: Final = 12
_NAME: Final = re.compile(rf"{MANIFESTS}/(\d{{{_DIGITS}}})(?:-([1-9]\d*))?\.json")


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """The place of an entry: the number of its commit, and how many claims of it came before."""

    commit: int
    turn: int = 0

    @property
    def name(self) -> str:
        return f"{MANIFESTS}/{self.commit:0{_DIGITS}}{f'-{self.turn}' if self.turn else ''}.json"

    @property
    def after_claim(self) -> Slot:
        return Slot(self.commit, self.turn + 1)

    @property
    def after_commit(self) -> Slot:
        return Slot(self.commit + 1)


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a log: where its next entry goes, the writer of its last one, and its last manifest."""

    next: Slot
    epoch: int
    writer: str
    manifest: Manifest | None


class Accepted(NamedTuple):
    """A manifest that is part of the log, and its file."""

    manifest: Manifest
    content: bytes


def find_slots(files: Files) -> list[Slot]:
    """The slots that have an entry, in order."""
    found = map(_NAME.fullmatch, files.list(MANIFESTS))
    return sorted(Slot(int(name[1]), int(name[2] or 0)) for name in found if name is not None)


def read_entry(files: Files, slot: Slot) -> Entry:
    """Raises StoreError."""
    try:
        return _entry(files, slot)
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"{files.where(slot.name)} cannot be read: {reason}") from None


def read_head(files: Files) -> Head:
    """The end of the log. Raises StoreError."""
    while True:
        slots = find_slots(files)
        try:
            return _head(files, slots)
        except StoreError:
            if find_slots(files) == slots:  # otherwise an entry may have been removed meanwhile
                raise


def _head(files: Files, slots: Sequence[Slot]) -> Head:
    if not slots:
        return Head(Slot(0), 0, "", None)
    last = slots[-1]
    entry = read_entry(files, last)
    if isinstance(entry, Manifest):
        return Head(last.after_commit, entry.writer.epoch, entry.writer.id, entry)
    manifests = last_manifests(files, slots, 1)
    return Head(last.after_claim, entry.writer.epoch, entry.writer.id, manifests[0] if manifests else None)


def last_manifests(files: Files, slots: Sequence[Slot], count: int) -> list[Manifest]:
    """The last manifests, from the last one on. Raises StoreError."""
    ends = {slot.commit: slot for slot in slots}
    found: list[Manifest] = []
    for commit in sorted(ends, reverse=True)[: count + 1]:  # only claims may be there for the last one
        entry = read_entry(files, ends[commit])
        if isinstance(entry, Manifest):
            found.append(entry)
        if len(found) == count:
            break
    return found


def accepted(files: Files, slots: Sequence[Slot], commits: Iterable[int]) -> dict[int, Accepted]:
    """The manifests of these commits in the log, without those that a writer put there that was asleep.

    Manifests that are damaged, or were removed since the slots were found, are missing.
    """
    found: dict[int, Accepted] = {}
    after = dict(pairwise(slots))
    ends = {slot.commit: slot for slot in slots}
    for commit in commits:
        with suppress(FileNotFoundError, StoreError):
            content = files.read(ends[commit].name)
            entry = _parsed(files, ends[commit], content)
            later = after.get(ends[commit])
            is_part = later is None or _entry(files, later).writer.after == entry.writer.id
            if isinstance(entry, Manifest) and is_part:
                found[commit] = Accepted(entry, content)
    return found


def is_accepted(files: Files, slot: Slot, writer: str) -> bool | None:
    """Whether an entry of this writer is in a slot, and part of the log.

    None if that can't be known any more, because so much was committed since that the entry was removed.
    Raises StoreError or OSError.
    """
    slots = find_slots(files)
    later = [other for other in slots if other > slot]
    try:
        if _entry(files, slot).writer.id != writer:
            return False
        return not later or _entry(files, later[0]).writer.after == writer
    except FileNotFoundError:
        return None if later or slot in slots else False


def _entry(files: Files, slot: Slot) -> Entry:
    """Raises OSError or StoreError."""
    return _parsed(files, slot, files.read(slot.name))


def _parsed(files: Files, slot: Slot, content: bytes) -> Entry:
    """Raises StoreError."""
    try:
        return entry_from(unsealed(content), slot.commit)
    except OtherFormat:
        raise StoreError(
            f"{files.where(slot.name)} was written by another version of Tidelog; use that version, or a new "
            "store"
        ) from None
    except (Damaged, ValueError):
        raise StoreError(
            f"{files.where(slot.name)} is corrupt: restore it from a backup, or delete it and "
            f"{files.where(SHOWN)} to return to the previous commit"
        ) from None
