"""The manifest: one file of JSON that says what a commit is. **The manifest is the commit.**

It names the segments of all relations, the changes that this commit made, the program, what was read of each
source, how far each stream has come, where each sink's version is, and the state to go on from, if one is
kept. It carries a checksum of itself, is written when all that it names is on the disk, and gets its name by
one rename: it is there, whole, or it is not. So a manifest that does not fit its checksum was damaged later,
and is never passed over in silence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tidelog.errors import StoreError
from tidelog.store.segments import Segment
from tidelog.store.states import KeptState

__all__ = [
    "FOLDER",
    "Batch",
    "Manifest",
    "StoredRelation",
    "Written",
    "file_of",
    "find_commits",
    "read_manifest",
    "to_bytes",
]

FORMAT: Final = 2
_FIRST: Final = 1  # it had no states, and is the same otherwise
FOLDER: Final = "manifests"
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """`declaration` is the relation as the language declares it."""

    declaration: str
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """The last batch of a stream that was committed; `stream` is the identity that Spark gave it."""

    stream: str
    number: int


@dataclass(frozen=True, slots=True)
class Written:
    """The commit at which a sink was last written, and whether with all there is rather than with changes."""

    commit: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    """`sources` has the fingerprint of each, as whoever reads it wrote it."""

    commit: int
    program: str
    relations: Mapping[str, StoredRelation] = field(default_factory=dict)
    changes: Mapping[str, Segment] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, Batch] = field(default_factory=dict)
    sinks: Mapping[str, Written] = field(default_factory=dict)
    state: KeptState | None = None

    @property
    def files(self) -> frozenset[str]:
        """The segments that this commit needs."""
        named = {s.file for r in self.relations.values() for s in r.segments}
        logged = () if self.state is None else self.state.log.values()
        return frozenset(
            named | {s.file for s in self.changes.values()} | {s.file for log in logged for s in log}
        )


# -- on the disk


def file_of(root: Path, commit: int) -> Path:
    return root / FOLDER / f"{commit:0{_DIGITS}}.json"


def find_commits(root: Path) -> list[int]:
    """The commits that have a manifest, in order."""
    files = (root / FOLDER).glob(f"{'[0-9]' * _DIGITS}.json")
    return sorted(int(file.stem) for file in files)


def to_bytes(manifest: Manifest) -> bytes:
    content: dict[str, Any] = {"format": FORMAT, **asdict(manifest)}
    content["checksum"] = _checksum(content)
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_manifest(root: Path, commit: int) -> Manifest:
    """The manifest of a commit, or StoreError."""
    file = file_of(root, commit)
    try:
        content: dict[str, Any] = json.loads(file.read_bytes())
        written = content.pop("checksum")
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damaged(file) from None
    if written != _checksum(content):
        raise _damaged(file)
    if content.pop("format") not in (_FIRST, FORMAT):
        raise StoreError(f"{file} was written by another version of Tidelog; use that one, or a new store")
    return _from_json(content)


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _damaged(file: Path) -> StoreError:
    return StoreError(
        f"{file} is damaged: restore a backup, or delete this file to go back to the version before"
    )


def _from_json(content: Mapping[str, Any]) -> Manifest:
    relations = {
        name: StoredRelation(r["declaration"], tuple(Segment(**s) for s in r["segments"]))
        for name, r in content["relations"].items()
    }
    changes = {name: Segment(**s) for name, s in content["changes"].items()}
    streams = {name: Batch(**b) for name, b in content["streams"].items()}
    sinks = {name: Written(**w) for name, w in content["sinks"].items()}
    made = {"relations": relations, "changes": changes, "streams": streams, "sinks": sinks}
    return Manifest(**{**content, **made, "state": _state(content.get("state"))})


def _state(content: Mapping[str, Any] | None) -> KeptState | None:
    if content is None:
        return None
    log = {name: tuple(Segment(**s) for s in segments) for name, segments in content["log"].items()}
    return KeptState(**{**content, "log": log})
