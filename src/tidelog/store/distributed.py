"""Rows that this process does not hold: others write them to the store, in any number of files at once.

A store writes tables itself. If rows are too many for its process, it gets `Distributed` rows, which only
know how many they are, and `Workers`, which read and write files where these rows are. They use the same
`Files`. What they write counts once the manifest names it: an attempt that failed, or that ran twice, leaves
files of which the store knows nothing, and which it removes like all others that no commit needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from tidelog.program.declared import Relation
from tidelog.store.files import Files

if TYPE_CHECKING:
    from tidelog.store.segments import Segment
    from tidelog.store.sidecars import Part

__all__ = ["PIECE", "Distributed", "Piece", "Workers", "piece_name", "unit_of"]

_DIGITS: Final = 12
PIECE: Final = rf"(?:-p[0-9a-f]{{{_DIGITS}}})?"  # in names of files, as a regular expression


class Piece(NamedTuple):
    """A file with some of the rows; `size` in bytes and `digest` identify its content."""

    file: str
    rows: int
    size: int
    digest: str


class Distributed(ABC):
    """`num_rows` may be more than there are, if equal rows were not found yet."""

    num_rows: int

    @abstractmethod
    def write(self, files: Files, stem: str) -> list[Piece]:
        """Write all rows to new files, whose names `piece_name` makes of `stem`."""


class Workers(ABC):
    """What a store does with many rows."""

    @abstractmethod
    def takes(self, rows: int) -> bool:
        """Whether so many rows are too many for this process."""

    @abstractmethod
    def base(self, relation: Relation, segments: Sequence[Segment]) -> Distributed:
        """The sum of segments, as signed rows."""

    @abstractmethod
    def consolidated(self, kind: str, added: Any, parts: Sequence[Part]) -> Distributed:
        """New rows of a sidecar, a table or distributed, together with those of some of its parts."""


def piece_name(stem: str) -> str:
    """A name that no other attempt to write the same rows has."""
    return f"{stem}-p{uuid4().hex[:_DIGITS]}.parquet"


def unit_of(file: str) -> str:
    """What the files that were written together have in common."""
    stem, piece, _ = file.rpartition("-p")
    return stem if piece and len(file) == len(stem) + len("-p") + _DIGITS + len(".parquet") else file
