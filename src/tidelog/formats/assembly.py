"""Lines of delimited files, as they come in batches, put together to records.

A task of Spark gets the lines of some blocks of files, in order. A record whose quotes go over line ends is
held back until they are closed. A quote that is open at the end of a block is closed in another block, which
another task has: then the record has the problem `OPEN_END`, and the source has to be read again with
whole files, in which it is simply a bad record.

The first line of a file is its header. All files of a source have the same one, so that blocks further on
need not see it; a file with another one has a record with a problem that begins with `HEADER`.
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

LINE: Final = "value"  # the column of a source of lines
HEADER: Final = "#header: "
OPEN_END: Final = "#open"
_LONGEST: Final = 10_000  # characters of a bad record that are kept


@dataclass(frozen=True, slots=True)
class Delimited:
    """`names` are those of all columns of the files, in their order; `header` says whether files have one.

    `has_whole_files` says that the blocks of a file come one after the other.
    """

    dialect: Dialect
    names: tuple[str, ...]
    header: bool
    has_whole_files: bool = True

    @property
    def columns(self) -> list[str]:
        """A name for each column; one that came before has its place added."""
        return [n if n not in self.names[:i] else f"{n}#{i}" for i, n in enumerate(self.names)]


@dataclass(frozen=True, slots=True)
class Assembled:
    """Some records, and the places of the lines that they are in: file, block and number."""

    records: Records
    content: bytes
    lines: Any
    skipped: int  # lines before the first record in the first line
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
        """File, block and number of the line that a record begins in, if they are known."""
        if not self.lines.column_names:
            return ()
        start = self.records.place(record)
        line = self.content.count(b"\n", 0, start)
        begin = self.content.rfind(b"\n", 0, start) + 1
        more = self.content.count(b"\r", begin, start) + (0 if line else self.skipped)
        *where, number = (self.lines[name][line].as_py() for name in self.lines.column_names)
        return (*where, number + more)


def assembled(form: Delimited, carried: tuple[str, ...], batches: Iterator[Any]) -> Iterator[Assembled]:
    """The records of lines; `carried` are the columns file, block and number, if they are known."""
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
    """The lines of one file, or of one block, that follow each other."""
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
    """A file or a block of one under way: the bytes that are not given yet, and the places of their lines."""

    def __init__(self, form: Delimited, carried: tuple[str, ...], *, is_first: bool) -> None:
        self._form = form
        self._carried = carried
        self._wants_header = form.header and is_first
        self._is_open = False
        self._content = b""
        self._skipped = 0
        self._lines: Any = None

    def take(self, lines: Any) -> Iterator[Assembled]:
        """The records that are complete with these lines."""
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
        """What is left is a record whose quotes are not closed."""
        if self._content:
            yield self._made(self._content, is_open=not self._form.has_whole_files)

    def _take_header(self) -> str | None:
        """Drop the first line; a problem if it is not the header that is expected."""
        self._wants_header = False
        wanted = list(self._form.names)
        try:
            found, start = first_record(self._content, self._form.dialect)
        except UnicodeDecodeError:
            return f"{HEADER}the first line is not UTF-8; save the file in that encoding"
        if found != wanted:
            return (
                f"{HEADER}the first line has {cells_shown(found)}, "
                f"that of another file {cells_shown(wanted)}; "
                "all files of a source have to have the same header"
            )
        self._cut(start)
        return None

    def _cut(self, end: int) -> None:
        """Forget the text up to here."""
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
