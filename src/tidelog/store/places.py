"""The location of a store: a folder on a local disk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from tidelog.errors import StoreError

__all__ = ["local_folder"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def local_folder(place: str, base: Path) -> Path:
    """The folder that a path or URL names, relative to a base. Raises StoreError if it is not local."""
    scheme = _SCHEME.match(place)
    if scheme is None:
        return base / place
    path = unquote(urlsplit(place).path)
    if scheme[1].lower() == "file" and path.startswith("/"):
        return Path(path)
    raise StoreError(
        f"is {place!r}; a store must be a folder on a local disk (a path, or file:///…): "
        f"{scheme[1]}: is not supported"
    )
