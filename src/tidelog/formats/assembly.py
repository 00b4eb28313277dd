"""Assembles batches of lines of delimited files into records.

A Spark task gets the lines of some file blocks, in order. A record with a quoted line break is held back
until its quote is closed. A quote that is open at the end of a block is closed in a block of another task.
The record then has the problem `OPEN_END`, and the source must be read again with whole files. In a whole
file, an open quote is simply a bad record.

The first line of a file is its header. All files of a source have the same header, so later blocks need not
see it. A file with another header yields a record whose problem starts with `HEADER`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.formats.records import Dialect, Records, cells_shown, first_record, open_record

__all__ = ["HEADER", "LINE", "OPEN_END", "Assembled", "Delimited", "assembled"]

LINE: Final = "value"  # the column of a source that consists of lines
HEADER: Final = "#header: "
OPEN_END: Final = "#open"
_LONGEST: Final = 10_000  # characters; a longer bad record is truncated


@dataclass(frozen=True, slots=True)
class Delimited:
    """`names` are all columns of the files, in order; `header` says whether the files have a header.

    With `has_whole_files`, the blocks of a file follow each other.
    """

    dialect: Dialect
    names: tuple[str, ...]
    header: bool
    has_whole_files: bool = True

    @property
    def columns(self) -> list[str]:
        """A unique name for each column: a repeated name gets its position as a suffix."""
        return [n if n not in self.names[:i] else f"{n}#{i}" for i, n in enumerate(self.names)]


@dataclass(frozen=True, slots=True)
class Assembled:
    """Some records, and the locations of their lines: file, block and line number."""

    records: Records
    content: bytes
    lines: Any
    skipped: int  # CR line ends before the first record in the first line
    is_open: bool = False
    header_problem: str | None = None

    def problem(self, record: int) -> str | None:
        if self.header_problem is not None:
            return self.header_problem
        is_last = record == self.records.cells.num_rows - 1
        return OPEN_END if self.is_open and is_last else self.records.problems.get(record)

    def text(self, record: int) -> str:
        text = self.records.text(record)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"

    def place(self, record: int) -> tuple[Any, ...]:
        """File, block and number of the line where a record starts, if known."""
        if not self.lines.column_names:
            return ()
        start = self.records.place(record)
        line = self.content.count(b"\n", 0, start)
        begin = self.content.rfind(b"\n", 0, start) + 1
        more = self.content.count(b"\r", begin, start) + (0 if line else self.skipped)
        *where, number = (self.lines[name][line].as_py() for name in self.lines.column_names)
        return (*where, number + more)


def assembled(form: Delimited, carried: tuple[str, ...], batches: Iterator[Any]) -> Iterator[Assembled]:
    """The records in batches of lines; `carried` are the columns file, block and line number, if known."""
    last: tuple[Any, ...] | None = None
    held: _Held | None = None
    for batch in batches:
        for where, lines in _runs(form, carried, pa.Table.from_batches([batch])):
            if held is None or where != last:
                if held is not None:
                    yield from held.end()
                last, held = (
                    where,
                    _Held(form, carried, is_first=not carried or lines[carried[1]][0].as_py() == 0),
                )
            yield from held.take(lines)
    if held is not None:
        yield from held.end()


def _runs(form: Delimited, carried: tuple[str, ...], table: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Runs of consecutive lines of the same file, or of the same block."""
    keys = carried[:1] if form.has_whole_files else carried[:2]
    if not table.num_rows:
        return
    changed = np.zeros(table.num_rows - 1, np.bool_)
    for name in keys:
        column = table[name].combine_chunks()
        changed |= pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    edges = [0, *(np.flatnonzero(changed) + 1).tolist(), table.num_rows]
    for start, end in pairwise(edges):
        yield tuple(table[name][start].as_py() for name in keys), table.slice(start, end - start)


class _Held:
    """A file or block in progress: the bytes not yet returned, and the locations of their lines."""

    def __init__(self, form: Delimited, carried: tuple[str, ...], *, is_first: bool) -> None:
        self._form = form
        self._carried = carried
        self._wants_header = form.header and is_first
        self._is_open = False
        self._content = b""
        self._skipped = 0
        self._lines: Any = None

    def take(self, lines: Any) -> Iterator[Assembled]:
        """The records that these lines complete."""
        more = b"".join(line + b"\n" for line in lines[LINE].to_pylist())
        places = lines.select(self._carried)
        self._lines = places if self._lines is None else pa.concat_tables([self._lines, places])
        self._content += more
        if self._is_open and b'"' not in more:
            return
        if self._wants_header:
            problem = self._take_header()
            if problem is not None:
                yield self._made(b"?\n", header_problem=problem)
        start = open_record(self._content, self._form.dialect)
        self._is_open = start is not None
        end = len(self._content) if start is None else start
        if end:
            yield self._made(self._content[:end])
            self._cut(end)

    def end(self) -> Iterator[Assembled]:
        """The rest, which is a record with an unterminated quote."""
        if self._content:
            yield self._made(self._content, is_open=not self._form.has_whole_files)

    def _take_header(self) -> str | None:
        """Drop the header line. Returns a problem if it is not the expected header."""
        self._wants_header = False
        wanted = list(self._form.names)
        try:
            found, start = first_record(self._content, self._form.dialect)
        except UnicodeDecodeError:
            return f"{HEADER}the first line is not UTF-8; save the file in that encoding"
        if found != wanted:
            return (
                f"{HEADER}the first line has {cells_shown(found)}, "
                f"but that of another file has {cells_shown(wanted)}; "
                "all files of a source must have the same header"
            )
        self._cut(start)
        return None

    def _cut(self, end: int) -> None:
        """Drop the text before `end`."""
        line = self._content.count(b"\n", 0, end)
        begin = self._content.rfind(b"\n", 0, end) + 1
        more = self._content.count(b"\r", begin, end)
        self._skipped = more if line else self._skipped + more
        self._lines = self._lines.slice(line)
        self._content = self._content[end:]

    def _made(self, content: bytes, *, is_open: bool = False, header_problem: str | None = None) -> Assembled:
        names = [""] if header_problem else self._form.columns
        records = Records(content, names, self._form.dialect)
        return Assembled(records, content, self._lines, self._skipped, is_open, header_problem)
