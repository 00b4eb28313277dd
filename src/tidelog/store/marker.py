"""Two small files beside the manifests: the marker of a store, and how far its commits have been shown.

The *marker* says that a folder is a store, and whether a commit was ever made in it. Nothing is deleted from
a folder without one, and a store that had commits is not taken for a new one when its manifests are lost.

*Shown* is the last commit of which all that follows outside of the store has been done. It is written after
the manifest, so a manifest that it names and that is missing was lost.

Both carry a checksum. One that is damaged counts as missing: a marker can be made again from manifests that
are whole, and what was shown can be shown again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tidelog.errors import StoreError
from tidelog.store.sealing import Damaged, sealed, unsealed

__all__ = [
    "MARKER",
    "SHOWN",
    "has_commits",
    "marker_bytes",
    "shown_bytes",
    "shown_commit",
    "was_shown_before",
]

MARKER: Final = "store.json"
SHOWN: Final = "shown"
_FORMAT: Final = 3


def marker_bytes(*, has_commits: bool) -> bytes:
    return sealed({"store": "Tidelog", "format": _FORMAT, "has_commits": has_commits})


def has_commits(folder: Path) -> bool | None:
    """Whether a store was ever committed to, as its marker says; None if there is no marker."""
    content = _unsealed(folder / MARKER)
    if content is None:
        return None
    if content.get("format") != _FORMAT:
        raise StoreError(
            f"{folder / MARKER} was written by another version of Tidelog; use that one, or a new store"
        )
    return content.get("has_commits") is True


def shown_bytes(commit: int) -> bytes:
    return sealed({"commit": commit})


def shown_commit(folder: Path) -> int | None:
    """The last commit that was shown; None if that is not known."""
    content = _unsealed(folder / SHOWN)
    commit = None if content is None else content.get("commit")
    return commit if isinstance(commit, int) else None


def was_shown_before(folder: Path, commit: int) -> bool:
    """Whether a store of an earlier format, which had only a number there, says that a commit was shown."""
    try:
        return (folder / SHOWN).read_bytes() == str(commit).encode()
    except OSError:
        return False


def _unsealed(file: Path) -> dict[str, Any] | None:
    """What was sealed; None if it is missing or damaged."""
    try:
        return unsealed(file.read_bytes())
    except (OSError, Damaged):
        return None
