"""Adds entries to the log of a store: a claim before the first commit, then manifests.

After a failure the claim is given up, and the next commit claims again, under a new id and a new epoch. So
files that a lost request may still create never have the name of a file that is in use.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from uuid import uuid4

from tidelog.errors import StoreError
from tidelog.store.files import Files, Uncertain
from tidelog.store.log import Head, Slot, find_slots, is_accepted, read_head
from tidelog.store.manifest import Claim, Entry, Manifest, Writer, to_bytes

__all__ = ["LogWriter"]

_ATTEMPTS: Final = 10


class LogWriter:
    """`epoch` is the epoch of the claim, 0 without one; `number` is that of the next commit."""

    def __init__(self, files: Files, head: Head) -> None:
        self._files = files
        self._head = head
        self._writer = Writer(0, uuid4().hex)

    @property
    def manifest(self) -> Manifest | None:
        """The last manifest that is known."""
        return self._head.manifest

    @property
    def number(self) -> int:
        return 0 if self.manifest is None else self.manifest.commit + 1

    @property
    def manifest_name(self) -> str:
        """The file of the last manifest."""
        commits = [slot for slot in find_slots(self._files) if slot.commit < self.number]
        return commits[-1].name if commits else ""

    @property
    def epoch(self) -> int:
        return self._writer.epoch

    @property
    def writer(self) -> Writer:
        """The writer that the next entry names."""
        return self._writer

    def claim(self) -> None:
        """Claim the next commit. Raises StoreError if another writer has made it, or is always faster."""
        for _ in range(_ATTEMPTS):
            head = read_head(self._files)
            if head.manifest != self.manifest:
                break
            writer = Writer(head.epoch + 1, uuid4().hex, head.writer)
            if self._put(head.next, Claim(self.number, writer)):
                self._writer = Writer(writer.epoch, writer.id, writer.id)
                self._head = Head(head.next.after_claim, writer.epoch, writer.id, head.manifest)
                return
        raise self._overtaken()

    def append(self, manifest: Manifest) -> None:
        """Make the commit. Raises StoreError if a later writer has claimed it."""
        if not self._put(self._head.next, manifest):
            self.give_up()
            raise self._overtaken()
        self._advance(manifest)

    def is_last(self) -> bool:
        """Whether no other writer has added an entry since."""
        slots = find_slots(self._files)
        return not slots or slots[-1] < self._head.next

    def expect_last(self) -> None:
        """Raise StoreError if another writer has added an entry since."""
        if not self.is_last():
            raise self._overtaken()

    def give_up(self) -> None:
        """Forget the claim."""
        self._writer = Writer(0, uuid4().hex)

    def after_interrupt(self, manifest: Manifest | None) -> None:
        """Find out whether a commit was made that was interrupted, and give up the claim."""
        with suppress(OSError, StoreError):
            if manifest is not None and is_accepted(self._files, self._head.next, manifest.writer.id):
                self._advance(manifest)
        self.give_up()

    def _advance(self, manifest: Manifest) -> None:
        self._head = Head(self._head.next.after_commit, self.epoch, self._writer.id, manifest)

    def _put(self, slot: Slot, entry: Entry) -> bool:
        """Add an entry to the log; false if another writer was faster. Raises OSError if it is not there."""
        is_answered = True
        try:
            self._files.put_if_absent(slot.name, to_bytes(entry))
        except FileExistsError:  # made by another writer, or by the same call, which was repeated
            with suppress(FileNotFoundError):
                self._files.read(slot.name)  # says so if it is a folder
        except Uncertain:
            is_answered = False
        return self._is_accepted(slot, entry, is_answered=is_answered)

    def _is_accepted(self, slot: Slot, entry: Entry, *, is_answered: bool) -> bool:
        try:
            found = is_accepted(self._files, slot, entry.writer.id)
        except OSError as error:
            raise Uncertain(error.errno, error.strerror) from None
        if found is None:
            raise Uncertain(None, "other runs have committed since")
        if not found and not is_answered and slot not in find_slots(self._files):
            raise Uncertain(None, "the request timed out")
        return found

    def _overtaken(self) -> StoreError:
        return StoreError(
            f"another run, or an earlier attempt of this one, has claimed or made commit {self.number} of "
            f"the store {self._files.place}; this run cannot commit any more: run again"
        )
