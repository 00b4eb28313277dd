"""Two small files beside the manifests: the marker of a store, and the last commit that was shown.

The *marker* says that a folder is a store, and whether it ever had a commit. Nothing is deleted from a folder
without a marker. A store that had commits is not mistaken for a new one when its manifests are lost.

*Shown* is the last commit whose actions outside the store are done. It is written after the manifest, so if
it names a manifest that is missing, that manifest was lost.

Both carry a checksum. A damaged file counts as missing: the marker can be rebuilt from intact manifests, and
a commit can be shown again.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tidelog.errors import StoreError
from tidelog.store.files import Files
from tidelog.store.sealing import Damaged, sealed, unsealed

__all__ = [
    "MARKER",
    "SHOWN",
    "Shown",
    "has_commits",
    "marker_bytes",
    "shown",
    "shown_bytes",
    "was_shown_before",
]

MARKER: Final = "store.json"
SHOWN: Final = "shown"
_FORMAT: Final = 3


def marker_bytes(*, has_commits: bool) -> bytes:
    return sealed({"store": "Tidelog", "format": _FORMAT, "has_commits": has_commits})


def has_commits(files: Files) -> bool | None:
    """Whether the store ever had a commit, according to its marker; None if there is no marker."""
    content = _unsealed(files, MARKER)
    if content is None:
        return None
    if content.get("format") != _FORMAT:
        raise StoreError(
            f"{files.where(MARKER)} was written by another version of Tidelog; use that version, or a new "
            "store"
        )
    return content.get("has_commits") is True


def shown_bytes(commit: int, manifest: str) -> bytes:
    return sealed({"commit": commit, "manifest": manifest})


class Shown(NamedTuple):
    """The last commit that was shown, and the name of its manifest, which earlier formats did not have."""

    commit: int
    manifest: str


def shown(files: Files) -> Shown | None:
    """The last commit that was shown; None if unknown."""
    content = _unsealed(files, SHOWN) or {}
    commit, manifest = content.get("commit"), content.get("manifest", "")
    return Shown(commit, manifest) if isinstance(commit, int) and isinstance(manifest, str) else None


def was_shown_before(files: Files, commit: int) -> bool:
    """Whether a commit was shown, in a store of an earlier format: the file then held only its number."""
    try:
        return files.read(SHOWN) == str(commit).encode()
    except OSError:
        return False


def _unsealed(files: Files, name: str) -> dict[str, Any] | None:
    """The content of a sealed file; None if it is missing or damaged."""
    try:
        return unsealed(files.read(name))
    except (FileNotFoundError, IsADirectoryError, Damaged):
        return None
