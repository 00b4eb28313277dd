"""The place of a store: a folder on a local disk, or in an object store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from tidelog.errors import StoreError
from tidelog.store.files import Files
from tidelog.store.local import LocalFiles
from tidelog.store.objects import ObjectFiles

__all__ = ["Place", "Remote", "files_at", "place_of"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
OBJECTS: Final = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss")


@dataclass(frozen=True, slots=True)
class Remote:
    """A folder in an object store; `options` are those of obstore, such as `endpoint`."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # there may be secrets among them

    def __str__(self) -> str:
        return self.url


Place: TypeAlias = Path | Remote


def place_of(text: str, base: Path, options: Mapping[str, str] | None = None) -> Place:
    """The place that a path or URL names; paths are relative to a base. Raises StoreError."""
    scheme = _SCHEME.match(text)
    if scheme is None:
        return _local(base / text, options)
    url = urlsplit(text)
    path = unquote(url.path)
    if scheme[1].lower() == "file" and path.startswith("/"):
        return _local(Path(path), options)
    if scheme[1].lower() not in OBJECTS:
        raise StoreError(
            f"is {text!r}; a store is a folder on a local disk (a path, or file:///…) or in an object store "
            f"({', '.join(f'{s}://' for s in OBJECTS)}): {scheme[1]}: is not supported"
        )
    if not url.netloc or not path.strip("/"):
        raise StoreError(f"is {text!r}; write a bucket and a folder, as in {scheme[1]}://BUCKET/FOLDER")
    return Remote(text.rstrip("/"), dict(options or {}))


def _local(folder: Path, options: Mapping[str, str] | None) -> Path:
    if options:
        raise StoreError(f"is the local folder {folder}, which has no options: remove store_options")
    return folder


def files_at(place: Place | Files) -> Files:
    """The files of a place."""
    match place:
        case Path():
            return LocalFiles(place)
        case Remote(url, options):
            return ObjectFiles(url, options)
        case _:
            return place
