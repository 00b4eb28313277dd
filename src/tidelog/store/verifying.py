"""Verification: every file is compared with its digest in the manifest.

A file is hashed when it is first read, and not again while the store is open: segments and states never
change. Hashing precedes parsing, so damaged content is never parsed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tidelog.errors import StoreError
from tidelog.store.files import Files

__all__ = ["Verified", "Verifier", "corrupt"]

_REMEDY: Final = "restore it from a backup of the store, or start a new store"


def corrupt(file: str, why: str) -> StoreError:
    return StoreError(f"{file} is corrupt: {why}; {_REMEDY}")


def _unreadable(file: str, error: OSError) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return StoreError(f"{file} is missing; {_REMEDY}")
    return StoreError(f"{file} cannot be read: {error.strerror or error}; {_REMEDY}")


class Verified(NamedTuple):
    """A verified file: `where` it is, for messages, and its path or content, for readers of Parquet."""

    where: str
    source: Any


class Verifier:
    """Remembers which files are verified. A file without a digest was written in an earlier format.

    `explain` is called if a file cannot be read; it may raise an error that gives the reason.
    """

    def __init__(self, files: Files, explain: Callable[[], None] = lambda: None) -> None:
        self._files = files
        self._explain = explain
        self._digests: dict[str, str] = {}

    def where(self, name: str) -> str:
        return self._files.where(name)

    def content(self, name: str, size: int, digest: str) -> bytes:
        """The bytes of a file. Raises StoreError if the file is corrupt."""
        try:
            content = self._files.read(name)
        except OSError as error:
            self._explain()
            raise _unreadable(self.where(name), error) from None
        self._expect_size(name, len(content), size)
        if name not in self._digests:
            self._expect(name, hashlib.sha256(content).hexdigest(), digest)
        return content

    def verify(self, name: str, size: int, digest: str) -> str:
        """The digest of a file that others will read. Raises StoreError if the file is corrupt."""
        if name not in self._digests:
            try:
                found_size, found = self._files.digest(name)
            except OSError as error:
                self._explain()
                raise _unreadable(self.where(name), error) from None
            self._expect_size(name, found_size, size)
            self._expect(name, found, digest)
        return self._digests[name]

    def verified(self, name: str, size: int, digest: str) -> Verified:
        """A file to read in pieces. Raises StoreError if it is corrupt."""
        if self._files.folder is None:
            return Verified(self.where(name), pa.BufferReader(self.content(name, size, digest)))
        self.verify(name, size, digest)
        return Verified(self.where(name), self._files.folder / name)

    def forget(self, name: str) -> None:
        """Forget a file that is about to be rewritten."""
        self._digests.pop(name, None)

    def _expect(self, name: str, found: str, digest: str) -> None:
        if digest and found != digest:
            raise corrupt(self.where(name), "its digest differs from the manifest")
        self._digests[name] = found

    def _expect_size(self, name: str, found: int, size: int) -> None:
        if found != size:
            raise corrupt(
                self.where(name),
                f"its size differs from the manifest ({found:,} bytes instead of {size:,})",
            )
