"""The manifest: one file of JSON that says what a commit is. **The manifest is the commit.**

It names the segments of all relations, the changes that this commit made, the program, what was read of each
source, how far each stream has come, where each sink's version is, and the state to go on from, if one is
kept, with the digests of all these files. It carries a checksum of itself, is written when all that it names
is on the disk, and gets its name by one rename: it is there, whole, or it is not. So a manifest that does not
fit its checksum was damaged later, and is never passed over in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from tidelog.errors import StoreError
from tidelog.store.disk import UNFINISHED
from tidelog.store.marker import SHOWN
from tidelog.store.sealing import Damaged, sealed, unsealed
from tidelog.store.segments import Segment
from tidelog.store.states import STATES, KeptState

__all__ = [
    "FOLDER",
    "SEGMENTS",
    "Batch",
    "Manifest",
    "StoredRelation",
    "Written",
    "file_of",
    "find_commits",
    "find_files",
    "read_manifest",
    "to_bytes",
]

D = TypeVar("D")

FORMAT: Final = 3
_READABLE: Final = (1, 2, FORMAT)  # 1 had no states, neither had digests; they are the same otherwise
FOLDER: Final = "manifests"
SEGMENTS: Final = "segments"
_DIGITS: Final = 12
_PLAIN: Final = {"str": str, "int": int, "bool": bool}
_MANIFEST: Final = re.compile(rf"\d{{{_DIGITS}}}\.json")
_STATE: Final = re.compile(rf"{STATES}/\d{{{_DIGITS}}}")
_SEGMENT: Final = re.compile(rf"[^./][^/]*/\d{{{_DIGITS}}}-(changes|base)\.parquet")


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
    def segments(self) -> Iterator[Segment]:
        """The segments that this commit needs, one perhaps several times."""
        for stored in self.relations.values():
            yield from stored.segments
        yield from self.changes.values()
        for log in () if self.state is None else self.state.log.values():
            yield from log

    @property
    def files(self) -> frozenset[str]:
        """The files of these."""
        return frozenset(segment.file for segment in self.segments)


# -- on the disk


def file_of(root: Path, commit: int) -> Path:
    return root / FOLDER / f"{commit:0{_DIGITS}}.json"


def find_commits(root: Path) -> list[int]:
    """The commits that have a manifest, in order."""
    return sorted(int(file.stem) for file in _files(root, FOLDER, "*", _MANIFEST))


def find_files(root: Path) -> Iterator[Path]:
    """The files that a commit may have written, by their names: segments, states and what was not finished.

    Folders and files of other names are not the store's.
    """
    yield from _files(root, SEGMENTS, "*/*", _named(_SEGMENT))
    yield from _files(root, "", f"{STATES}/*", _named(_STATE))
    yield from (f for f in _files(root, FOLDER, "*", _named(_MANIFEST)) if f.name.endswith(UNFINISHED))


def _named(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(f"(?:{pattern.pattern})(?:{re.escape(UNFINISHED)})?")


def _files(root: Path, folder: str, glob: str, name: re.Pattern[str]) -> Iterator[Path]:
    """The files of a folder of the store whose paths there have this form."""
    for file in (root / folder).glob(glob):
        if name.fullmatch(str(file.relative_to(root / folder))) and not file.is_dir():
            yield file


def to_bytes(manifest: Manifest) -> bytes:
    return sealed({"format": FORMAT, **asdict(manifest)})


def read_manifest(root: Path, commit: int) -> Manifest:
    """The manifest of a commit, or StoreError."""
    file = file_of(root, commit)
    try:
        content = unsealed(file.read_bytes())
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from None
    except Damaged:
        raise _corrupt(root, file) from None
    format_ = content.pop("format", None)
    if format_ not in _READABLE:
        raise StoreError(f"{file} was written by another version of Tidelog; use that one, or a new store")
    try:
        manifest = _from_json(content)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _corrupt(root, file) from None
    if manifest.commit != commit or not _is_sound(manifest, has_digests=format_ == FORMAT):
        raise _corrupt(root, file)
    return manifest


def _is_sound(manifest: Manifest, *, has_digests: bool) -> bool:
    """Whether a manifest names files of the store only, each with its digest."""
    is_named = all(_SEGMENT.fullmatch(s.file) and bool(s.digest) >= has_digests for s in manifest.segments)
    return is_named and (manifest.state is None or bool(_STATE.fullmatch(manifest.state.file)))


def _corrupt(root: Path, file: Path) -> StoreError:
    return StoreError(
        f"{file} is corrupt: restore it from a backup, or delete it and {root / SHOWN} to go back to the "
        "version before"
    )


def _from_json(content: Mapping[str, Any]) -> Manifest:
    """KeyError, TypeError, ValueError or AttributeError if the content is not that of a manifest."""
    made = {
        "relations": {n: _relation(r) for n, r in content["relations"].items()},
        "changes": {n: _plain(Segment, s) for n, s in content["changes"].items()},
        "streams": {n: _plain(Batch, b) for n, b in content["streams"].items()},
        "sinks": {n: _plain(Written, w) for n, w in content["sinks"].items()},
        "sources": {n: _text(fingerprint) for n, fingerprint in content["sources"].items()},
        "state": _state(content.get("state")),
    }
    return _plain(Manifest, {**content, **made})


def _relation(content: Mapping[str, Any]) -> StoredRelation:
    return StoredRelation(_text(content["declaration"]), _segments(content["segments"]))


def _segments(content: Iterable[Mapping[str, Any]]) -> tuple[Segment, ...]:
    return tuple(_plain(Segment, s) for s in content)


def _state(content: Mapping[str, Any] | None) -> KeptState | None:
    if content is None:
        return None
    log = {name: _segments(segments) for name, segments in content["log"].items()}
    known = {name: value for name, value in content.items() if name != "checksum"}  # of earlier formats
    return _plain(KeptState, {"digest": "", **known, "log": log})


def _plain(kind: type[D], content: Mapping[str, Any]) -> D:
    """A dataclass with these values, of which texts, truth values and counts have been looked at."""
    made = kind(**content)
    for declared in fields(kind):  # type: ignore[arg-type]
        value: Any = getattr(made, declared.name)
        wanted = _PLAIN.get(str(declared.type))
        is_negative = isinstance(value, int) and value < 0
        if wanted is not None and (type(value) is not wanted or is_negative):
            raise TypeError(f"{declared.name} is {value!r}")
    return made


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
