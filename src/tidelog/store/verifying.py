"""Verification: every file is compared with its digest in the manifest.

A file is hashed when it is first read, and not again while the store is open: segments and states never
change. Hashing precedes parsing, so damaged content is never parsed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from tidelog.errors import StoreError

__all__ = ["Verifier", "corrupt", "digest_of_file", "unreadable"]

_CHUNK: Final = 1 << 22
_REMEDY: Final = "restore it from a backup of the store, or start a new store"


def corrupt(file: Path, why: str) -> StoreError:
    return StoreError(f"{file} is corrupt: {why}; {_REMEDY}")


def unreadable(file: Path, error: OSError) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return StoreError(f"{file} is missing; {_REMEDY}")
    return StoreError(f"{file} cannot be read: {error.strerror or error}; {_REMEDY}")


class Verifier:
    """Remembers which files are verified. A file without a digest was written in an earlier format."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}

    def content(self, file: Path, size: int, digest: str) -> bytes:
        """The bytes of a file. Raises StoreError if the file is corrupt."""
        try:
            content = file.read_bytes()
        except OSError as error:
            raise unreadable(file, error) from None
        _expect_size(file, len(content), size)
        if file not in self._digests:
            self._expect(file, hashlib.sha256(content).hexdigest(), digest)
        return content

    def verify(self, file: Path, size: int, digest: str) -> str:
        """The digest of a file that others will read. Raises StoreError if the file is corrupt."""
        if file not in self._digests:
            try:
                found_size, found = digest_of_file(file)
            except OSError as error:
                raise unreadable(file, error) from None
            _expect_size(file, found_size, size)
            self._expect(file, found, digest)
        return self._digests[file]

    def forget(self, file: Path) -> None:
        """Forget a file that is about to be rewritten."""
        self._digests.pop(file, None)

    def _expect(self, file: Path, found: str, digest: str) -> None:
        if digest and found != digest:
            raise corrupt(file, "its digest differs from the manifest")
        self._digests[file] = found


def _expect_size(file: Path, found: int, size: int) -> None:
    if found != size:
        raise corrupt(file, f"its size differs from the manifest ({found:,} bytes instead of {size:,})")


def digest_of_file(file: Path) -> tuple[int, str]:
    """Size and digest of a file, read in chunks."""
    digest = hashlib.sha256()
    size = 0
    with file.open("rb") as content:
        while part := content.read(_CHUNK):
            digest.update(part)
            size += len(part)
    return size, digest.hexdigest()
