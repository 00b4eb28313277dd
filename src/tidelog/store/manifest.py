"""The manifest: one JSON file that describes a commit. **The manifest is the commit.**

It names the segments of all relations, the changes of this commit, the program, the fingerprint of each
source, the progress of each stream, the version of each sink, and the state to resume from, if one is saved,
with the digests of all these files. It carries its own checksum. It is written once all files that it names
are there, as the next entry of the log (see `log`): either the complete manifest exists or none does. So a
manifest that does not match its checksum was damaged later, which is always an error.

A *claim* is the other kind of entry: a writer announces that it will make the next commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, TypeAlias, TypeVar, assert_never

from tidelog.store.disk import UNFINISHED
from tidelog.store.distributed import PIECE
from tidelog.store.sealing import sealed
from tidelog.store.segments import SEGMENTS, Segment
from tidelog.store.sidecars import SIDECARS, Part, Sidecar
from tidelog.store.states import STATES, KeptState, StatePart

__all__ = [
    "HISTORY",
    "MANIFESTS",
    "SEGMENTS",
    "Batch",
    "Claim",
    "Entry",
    "Manifest",
    "OtherFormat",
    "StoredRelation",
    "Writer",
    "Written",
    "entry_from",
    "epoch_of",
    "to_bytes",
]

D = TypeVar("D")

FORMAT: Final = 6
# 1 had no states, 1 and 2 no digests, 1 to 3 no origins of sinks, 1 to 4 no writers and sidecars, 1 to 5 one
# file for the changes of a relation, states of one file, and no positions of streams
_READABLE: Final = (1, 2, 3, 4, 5, FORMAT)
_WITH_DIGESTS: Final = 3
MANIFESTS: Final = "manifests"
HISTORY: Final = "history"
_DIGITS: Final = 12
_PLAIN: Final = {"str": str, "int": int, "bool": bool}
_INPUT: Final = re.compile(r"^input ", re.MULTILINE)  # attributes may stand on the lines before
_STATE: Final = re.compile(rf"{STATES}/\d{{{_DIGITS}}}(?:-(\d+))?")
_PART: Final = re.compile(rf"{STATES}/\d{{{_DIGITS}}}-(\d+)-[0-9a-f]{{32}}")
_SEGMENT: Final = re.compile(rf"[^./][^/]*/\d{{{_DIGITS}}}-(?:changes|base)(?:-(\d+))?{PIECE}\.parquet")
_SIDECAR: Final = re.compile(
    rf"{SIDECARS}/[^./][^/]*/\d{{{_DIGITS}}}-(?:files|counts|keys)(?:-(\d+))?{PIECE}\.parquet"
)
_FILE: Final = re.compile(
    rf"(?:{SEGMENTS}/{_SEGMENT.pattern}|{_STATE.pattern}|{_PART.pattern}|{_SIDECAR.pattern})"
    rf"(?:{re.escape(UNFINISHED)})?"
    rf"|(?:{MANIFESTS}|{HISTORY})/\d{{{_DIGITS}}}(?:-\d+)?\.json(?:\.[0-9a-f]+)?{re.escape(UNFINISHED)}"
)


class OtherFormat(Exception):
    """An entry was written by another version of Tidelog."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who wrote an entry: `id` is random, `after` is the id in the entry before.

    `epoch` is one more than that of the writer before. Files that a writer makes have it in their names.
    """

    epoch: int = 0
    id: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A writer will make the commit of this number."""

    commit: int
    writer: Writer


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
    """The last committed batch of a stream; `stream` is the id that Spark assigned.

    `file` has what Spark needs to go on, with its size and digest; "" if Spark keeps that itself.
    """

    stream: str
    number: int
    file: str = ""
    size: int = 0
    digest: str = ""


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
    changes: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, Batch] = field(default_factory=dict)
    sinks: Mapping[str, Written] = field(default_factory=dict)
    state: KeptState | None = None
    writer: Writer = Writer()
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
        for changes in self.changes.values():
            yield from changes
        for log in () if self.state is None else self.state.log.values():
            yield from log

    @property
    def files(self) -> frozenset[str]:
        """The files of these segments."""
        return frozenset(segment.file for segment in self.segments)

    @property
    def needed(self) -> frozenset[str]:
        """All files of the store that this commit needs, by their names in it."""
        files = {f"{SEGMENTS}/{file}" for file in self.files}
        files.update(part.file for part in self.parts)
        files.update(batch.file for batch in self.streams.values() if batch.file)
        return frozenset(files if self.state is None else files | self.state.files)


Entry: TypeAlias = Manifest | Claim


def epoch_of(name: str) -> int | None:
    """The epoch in the name of a file that a commit may have written: a segment, a state, a sidecar.

    0 if there is none in it, None if this is another file.
    """
    found = _FILE.fullmatch(name)
    return None if found is None else int(next(filter(None, found.groups()), 0))


# -- as files


def to_bytes(entry: Entry) -> bytes:
    match entry:
        case Manifest():
            return sealed({"format": FORMAT, **asdict(entry)})
        case Claim():
            return sealed({"format": FORMAT, "claim": asdict(entry)})
        case _:
            assert_never(entry)


def entry_from(content: dict[str, Any], commit: int) -> Entry:
    """The entry for a commit. Raises OtherFormat, or ValueError if it is not one."""
    format_ = content.pop("format", None)
    if format_ not in _READABLE:
        raise OtherFormat
    try:
        if "claim" in content:
            claim = content["claim"]
            entry: Entry = _plain(Claim, {**claim, "writer": _plain(Writer, claim["writer"])})
        else:
            entry = _from_json(content)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError("not an entry") from None
    is_sound = isinstance(entry, Claim) or _is_sound(entry, has_digests=format_ >= _WITH_DIGESTS)
    if entry.commit != commit or not is_sound:
        raise ValueError("not this entry")
    return entry


def _is_sound(manifest: Manifest, *, has_digests: bool) -> bool:
    """Whether a manifest names only files of the store, each with its digest."""
    is_named = all(_SEGMENT.fullmatch(s.file) and bool(s.digest) >= has_digests for s in manifest.segments)
    is_named = is_named and all(_SIDECAR.fullmatch(part.file) and part.digest for part in manifest.parts)
    is_named = is_named and all(not b.file or _PART.fullmatch(b.file) for b in manifest.streams.values())
    state = manifest.state
    if state is None or not is_named:
        return is_named
    return bool(_STATE.fullmatch(state.file)) and all(
        _PART.fullmatch(p.file) and p.digest for p in state.parts
    )


def _from_json(content: Mapping[str, Any]) -> Manifest:
    """Raises KeyError, TypeError, ValueError or AttributeError if the content is not a manifest."""
    made = {
        "relations": {n: _relation(r) for n, r in content["relations"].items()},
        "changes": {n: _changes(found) for n, found in content["changes"].items()},
        "streams": {n: _plain(Batch, b) for n, b in content["streams"].items()},
        "sinks": {n: _plain(Written, w) for n, w in content["sinks"].items()},
        "sources": {n: _text(fingerprint) for n, fingerprint in content["sources"].items()},
        "state": _state(content.get("state")),
        "writer": _plain(Writer, content.get("writer", {})),
        "sidecars": {n: _sidecars(kinds) for n, kinds in content.get("sidecars", {}).items()},
    }
    return _plain(Manifest, {**content, **made})


def _relation(content: Mapping[str, Any]) -> StoredRelation:
    return StoredRelation(_text(content["declaration"]), _segments(content["segments"]))


def _changes(content: Any) -> tuple[Segment, ...]:
    """The changes of a relation; earlier formats had one file for them."""
    return _segments([content] if isinstance(content, Mapping) else content)


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
    parts = tuple(_plain(StatePart, part) for part in content.get("parts", ()))
    return _plain(KeptState, {"digest": "", **known, "log": log, "parts": parts})


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
