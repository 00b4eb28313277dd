"""Two small files beside the manifests: the marker of a store, and the last commit that was shown.

The *marker* says that a folder is a store, and whether it ever had a commit. Nothing is deleted from a folder
without a marker. A store that had commits is not mistaken for a new one when its manifests are lost.

*Shown* is the last commit whose actions outside the store are done. It is written after the manifest, so if
it names a manifest that is missing, that manifest was lost.

Both carry a checksum. A damaged file counts as missing: the marker can be rebuilt from intact manifests, and
a commit can be shown again.
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
    """Whether the store ever had a commit, according to its marker; None if there is no marker."""
    content = _unsealed(folder / MARKER)
    if content is None:
        return None
    if content.get("format") != _FORMAT:
        raise StoreError(
            f"{folder / MARKER} was written by another version of Tidelog; use that version, or a new store"
        )
    return content.get("has_commits") is True


def shown_bytes(commit: int) -> bytes:
    return sealed({"commit": commit})


def shown_commit(folder: Path) -> int | None:
    """The last commit that was shown; None if unknown."""
    content = _unsealed(folder / SHOWN)
    commit = None if content is None else content.get("commit")
    return commit if isinstance(commit, int) else None


def was_shown_before(folder: Path, commit: int) -> bool:
    """Whether a commit was shown, in a store of an earlier format: the file then held only its number."""
    try:
        return (folder / SHOWN).read_bytes() == str(commit).encode()
    except OSError:
        return False


def _unsealed(file: Path) -> dict[str, Any] | None:
    """The content of a sealed file; None if it is missing or damaged."""
    try:
        return unsealed(file.read_bytes())
    except (OSError, Damaged):
        return None
