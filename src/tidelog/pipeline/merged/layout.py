"""The layout of a merged folder: a base, the changes since, and a manifest, in a folder for each version.

    PATH/current -> v12                the valid version
    PATH/v12/_manifest.json            what the version consists of, with a checksum
    PATH/v12/base/*.parquet            all rows of commit 9, say
    PATH/v12/changes/11-*.parquet      the changes of commits 10 and 11, with their signs
    PATH/v12/changes/12-*.parquet      the changes of commit 12

The rows of a version are the Z-set sum of its files: a row of the base counts 1, and a change its sign. Every
sum is 0 or 1; every sum over the changes alone is -1, 0 or 1.

A version is complete: it has all its files. Those that it shares with the version before are hard links, so
they take no space, and each version can be deleted without looking at another. No file is ever changed.

- A new version is written where no reader looks; then the link is switched. A run that is stopped before
  leaves a folder that its repetition replaces.
- Changes are merged into one file with earlier ones of up to twice their size, so a folder has few files, and
  each row is rewritten only a few times.
- If the changes exceed a quarter of the base, a new base is written.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tidelog.errors import PipelineError
from tidelog.store.sealing import Damaged, sealed, unsealed

__all__ = [
    "BASE",
    "CHANGES",
    "MANIFEST",
    "Merged",
    "Part",
    "folded",
    "is_long",
    "listed",
    "read_layout",
    "to_bytes",
]

MANIFEST: Final = "_manifest.json"
BASE: Final = "base"
CHANGES: Final = "changes"
MAX_SHARE: Final = 0.25  # rows in changes, relative to the base
MAX_RATIO: Final = 2  # rows in a file of changes, relative to all later ones
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Part:
    """Files that were written together, with their sizes in bytes; `commit` is the last that they include."""

    commit: int
    rows: int
    files: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Merged:
    """A version of a merged folder.

    `schema` is that of the changes: the columns, and the sign at the end. `partition_by` are the columns by
    which the base is partitioned, by the names that they have in the names of folders. `origin` is that of
    the sink in its store: a version is continued only by the store that wrote it.
    """

    commit: int
    base: Part
    changes: tuple[Part, ...]
    schema: Any
    partition_by: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""

    @property
    def columns(self) -> list[str]:
        names: list[str] = self.schema.names
        return names[:-1]

    @property
    def sign(self) -> str:
        name: str = self.schema.names[-1]
        return name

    @property
    def files(self) -> dict[str, int]:
        return {file: size for part in (self.base, *self.changes) for file, size in part.files.items()}


def is_long(merged: Merged, rows: int) -> bool:
    """Whether a new base is due, with more rows of changes."""
    return rows + sum(part.rows for part in merged.changes) > MAX_SHARE * merged.base.rows


def folded(changes: Sequence[Part], rows: int) -> int:
    """How many of the last parts to merge with new changes."""
    count = 0
    for part in reversed(changes):
        if part.rows > MAX_RATIO * rows:
            break
        rows += part.rows
        count += 1
    return count


# -- the manifest


def listed(folder: Path, inside: str, prefix: str = "") -> dict[str, int]:
    """The Parquet files in a folder of a version, with their sizes."""
    found = sorted((folder / inside).rglob(f"{prefix}*.parquet"))
    return {str(file.relative_to(folder)): file.stat().st_size for file in found}


def to_bytes(merged: Merged) -> bytes:
    columns = [[field.name, str(field.type)] for field in merged.schema]
    return sealed(
        {
            "format": _FORMAT,
            "commit": merged.commit,
            "base": asdict(merged.base),
            "changes": [asdict(part) for part in merged.changes],
            "origin": merged.origin,
            "partition_by": dict(merged.partition_by),
            "columns": columns,
            "schema": base64.b64encode(merged.schema.serialize()).decode(),
        }
    )


def read_layout(folder: Path) -> Merged:
    """What a version consists of. Raises PipelineError if it is not complete."""
    file = folder / MANIFEST
    try:
        merged = _from_json(unsealed(file.read_bytes()))
    except OSError as error:
        raise PipelineError(f"{file} cannot be read: {error.strerror}") from None
    except (Damaged, KeyError, TypeError, ValueError, pa.ArrowException):
        raise PipelineError(f"{file} is corrupt, or was written by another version of Tidelog") from None
    for name, size in merged.files.items():
        _expect_file(folder / name, size)
    return merged


def _from_json(content: Mapping[str, Any]) -> Merged:
    """Raises KeyError, TypeError, ValueError or ArrowException if the content is not a manifest."""
    if content["format"] != _FORMAT:
        raise ValueError(content["format"])
    schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(content["schema"])))
    changes = tuple(Part(**part) for part in content["changes"])
    base = Part(**content["base"])
    return Merged(content["commit"], base, changes, schema, dict(content["partition_by"]), content["origin"])


def _expect_file(file: Path, size: int) -> None:
    try:
        found = file.stat().st_size
    except OSError as error:
        raise PipelineError(f"{file} cannot be read: {error.strerror}") from None
    if found != size:
        raise PipelineError(
            f"{file} is corrupt: its size differs from the manifest ({found:,} bytes instead of {size:,})"
        )
