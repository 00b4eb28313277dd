"""Versions of an output in local files: a folder for each, and a link to the valid one.

Version 12 is the folder `v12`. A copy of it as a plain folder is `v12-plain`, which takes its place for
readers. The link `current` points to the valid version, and one rename switches it. The version before stays
for its readers; older ones are deleted.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["CURRENT", "PLAIN", "point", "pointed", "sync", "version"]

CURRENT: Final = "current"
PLAIN: Final = "-plain"
_VERSION: Final = re.compile(rf"v(\d+)({PLAIN})?")


def version(number: int) -> str:
    return f"v{number}"


def pointed(folder: Path) -> str | None:
    """The version that the link points to; None if there is no link."""
    link = folder / CURRENT
    return str(link.readlink()) if link.is_symlink() else None


def point(folder: Path, name: str) -> None:
    """Point the link to a version; the previous version remains for its readers."""
    link, new = folder / CURRENT, folder / f".{CURRENT}"
    before = pointed(folder)
    if before == name + PLAIN:
        name = before
    if before != name:
        new.unlink(missing_ok=True)
        new.symlink_to(name)
        new.replace(link)
    kept = {name, before if before != name else _highest_below(folder, name)}
    for old in _versions(folder):
        if old.name not in kept:
            shutil.rmtree(old)


def _versions(folder: Path) -> Iterator[Path]:
    return (f for f in folder.glob("v*") if _VERSION.fullmatch(f.name))


def _highest_below(folder: Path, name: str) -> str | None:
    below = [f.name for f in _versions(folder) if _order(f.name) < _order(name)]
    return max(below, key=_order, default=None)


def _order(name: str) -> tuple[int, str]:
    found = _VERSION.fullmatch(name)
    return (int(found[1]), found[2] or "") if found else (-1, "")


def sync(folder: Path) -> None:
    """Sync a folder to disk, which Spark does not do."""
    for path in (*folder.rglob("*"), folder, folder.parent):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
