"""The manifest: one JSON file that describes a commit. **The manifest is the commit.**

It names the segments of all relations, the changes of this commit, the program, the fingerprint of each
source, the progress of each stream, the version of each sink, and the state to resume from, if one is saved,
with the digests of all these files. It carries its own checksum. It is written once all files that it names
are on disk, and a single rename gives it its name: either the complete manifest exists or none does. So a
manifest that does not match its checksum was damaged later, which is always an error.
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
from tidelog.store.sidecars import SIDECARS, Part, Sidecar
from tidelog.store.states import STATES, KeptState

__all__ = [
    "FOLDER",
    "HISTORY",
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

FORMAT: Final = 5
_READABLE: Final = (1, 2, 3, 4, FORMAT)  # 1 had no states, 1 and 2 no digests, up to 4 no sidecars
_WITH_DIGESTS: Final = 3
FOLDER: Final = "manifests"
HISTORY: Final = "history"
SEGMENTS: Final = "segments"
_DIGITS: Final = 12
_PLAIN: Final = {"str": str, "int": int, "bool": bool}
_INPUT: Final = re.compile(r"^input ", re.MULTILINE)  # attributes may stand on the lines before
_MANIFEST: Final = re.compile(rf"\d{{{_DIGITS}}}\.json")
_STATE: Final = re.compile(rf"{STATES}/\d{{{_DIGITS}}}")
_SIDECAR: Final = re.compile(rf"{SIDECARS}/[^./][^/]*/\d{{{_DIGITS}}}-(files|counts|keys)\.parquet")
_SEGMENT: Final = re.compile(rf"[^./][^/]*/\d{{{_DIGITS}}}-(changes|base)\.parquet")


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """`declaration` is the text of the relation's declaration."""

    declaration: str
    segments: tuple[Segment, ...] = ()

    @property
    def is_input(self) -> bool:
        """Whether it holds asserted facts."""
        return _INPUT.search(self.declaration) is not None


@dataclass(frozen=True, slots=True)
class Batch:
    """The last committed batch of a stream; `stream` is the id that Spark assigned."""

    stream: str
    number: int


@dataclass(frozen=True, slots=True)
class Written:
    """The commit at which a sink was last written, and whether in full instead of as changes.

    `origin` identifies the history of a sink: it is another one in every store, and if a sink is added again.
    """

    commit: int
    is_whole: bool
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`sources` has the fingerprint of each source, in a format that the reader of the source chooses.

    `sidecars` are those of each input relation, by their kinds.
    """

    commit: int
    program: str
    relations: Mapping[str, StoredRelation] = field(default_factory=dict)
    changes: Mapping[str, Segment] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, Batch] = field(default_factory=dict)
    sinks: Mapping[str, Written] = field(default_factory=dict)
    state: KeptState | None = None
    sidecars: Mapping[str, Mapping[str, Sidecar]] = field(default_factory=dict)

    @property
    def parts(self) -> Iterator[Part]:
        """The files of the sidecars of this commit."""
        for kinds in self.sidecars.values():
            for sidecar in kinds.values():
                yield from sidecar.parts

    @property
    def segments(self) -> Iterator[Segment]:
        """The segments that this commit needs, possibly with duplicates."""
        for stored in self.relations.values():
            yield from stored.segments
        yield from self.changes.values()
        for log in () if self.state is None else self.state.log.values():
            yield from log

    @property
    def files(self) -> frozenset[str]:
        """The files of these segments."""
        return frozenset(segment.file for segment in self.segments)


# -- on disk


def file_of(root: Path, commit: int, folder: str = FOLDER) -> Path:
    return root / folder / f"{commit:0{_DIGITS}}.json"


def find_commits(root: Path, folder: str = FOLDER) -> list[int]:
    """The commits that have a manifest in a folder, in order."""
    return sorted(int(file.stem) for file in _files(root, folder, "*", _MANIFEST))


def find_files(root: Path) -> Iterator[Path]:
    """The files that a commit may have written, recognised by name: segments, states and unfinished files.

    Other folders and files do not belong to the store.
    """
    yield from _files(root, SEGMENTS, "*/*", _named(_SEGMENT))
    yield from _files(root, "", f"{STATES}/*", _named(_STATE))
    yield from _files(root, "", f"{SIDECARS}/*/*", _named(_SIDECAR))
    for folder in (FOLDER, HISTORY):
        yield from (f for f in _files(root, folder, "*", _named(_MANIFEST)) if f.name.endswith(UNFINISHED))


def _named(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(f"(?:{pattern.pattern})(?:{re.escape(UNFINISHED)})?")


def _files(root: Path, folder: str, glob: str, name: re.Pattern[str]) -> Iterator[Path]:
    """The files in a folder of the store whose relative paths match a pattern."""
    for file in (root / folder).glob(glob):
        if name.fullmatch(str(file.relative_to(root / folder))) and not file.is_dir():
            yield file


def to_bytes(manifest: Manifest) -> bytes:
    return sealed({"format": FORMAT, **asdict(manifest)})


def read_manifest(root: Path, commit: int, folder: str = FOLDER) -> Manifest:
    """The manifest of a commit. Raises StoreError."""
    file = file_of(root, commit, folder)
    try:
        content = unsealed(file.read_bytes())
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from None
    except Damaged:
        raise _corrupt(root, file) from None
    format_ = content.pop("format", None)
    if format_ not in _READABLE:
        raise StoreError(
            f"{file} was written by another version of Tidelog; use that version, or a new store"
        )
    try:
        manifest = _from_json(content)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _corrupt(root, file) from None
    if manifest.commit != commit or not _is_sound(manifest, has_digests=format_ >= _WITH_DIGESTS):
        raise _corrupt(root, file)
    return manifest


def _is_sound(manifest: Manifest, *, has_digests: bool) -> bool:
    """Whether a manifest names only files of the store, each with its digest."""
    is_named = all(_SEGMENT.fullmatch(s.file) and bool(s.digest) >= has_digests for s in manifest.segments)
    is_named = is_named and all(_SIDECAR.fullmatch(part.file) and part.digest for part in manifest.parts)
    return is_named and (manifest.state is None or bool(_STATE.fullmatch(manifest.state.file)))


def _corrupt(root: Path, file: Path) -> StoreError:
    return StoreError(
        f"{file} is corrupt: restore it from a backup, or delete it and {root / SHOWN} to return to "
        "the previous commit"
    )


def _from_json(content: Mapping[str, Any]) -> Manifest:
    """Raises KeyError, TypeError, ValueError or AttributeError if the content is not a manifest."""
    made = {
        "relations": {n: _relation(r) for n, r in content["relations"].items()},
        "changes": {n: _plain(Segment, s) for n, s in content["changes"].items()},
        "streams": {n: _plain(Batch, b) for n, b in content["streams"].items()},
        "sinks": {n: _plain(Written, w) for n, w in content["sinks"].items()},
        "sources": {n: _text(fingerprint) for n, fingerprint in content["sources"].items()},
        "state": _state(content.get("state")),
        "sidecars": {n: _sidecars(kinds) for n, kinds in content.get("sidecars", {}).items()},
    }
    return _plain(Manifest, {**content, **made})


def _relation(content: Mapping[str, Any]) -> StoredRelation:
    return StoredRelation(_text(content["declaration"]), _segments(content["segments"]))


def _segments(content: Iterable[Mapping[str, Any]]) -> tuple[Segment, ...]:
    return tuple(_plain(Segment, s) for s in content)


def _sidecars(content: Mapping[str, Any]) -> dict[str, Sidecar]:
    return {
        kind: Sidecar(_text(made["described"]), tuple(_part(part) for part in made["parts"]))
        for kind, made in content.items()
    }


def _part(content: Mapping[str, Any]) -> Part:
    return _plain(Part, {**content, "dead": tuple(map(int, content["dead"]))})


def _state(content: Mapping[str, Any] | None) -> KeptState | None:
    if content is None:
        return None
    log = {name: _segments(segments) for name, segments in content["log"].items()}
    known = {name: value for name, value in content.items() if name != "checksum"}  # in earlier formats
    return _plain(KeptState, {"digest": "", **known, "log": log})


def _plain(kind: type[D], content: Mapping[str, Any]) -> D:
    """A dataclass with these values; the types of strings, booleans and counts are checked."""
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
        raise TypeError(f"{value!r} is not a string")
    return value
