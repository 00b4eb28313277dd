"""Delimited text as records of cells: the one set of rules for CSV and tab-separated files.

- A record ends at LF, CRLF or CR. A blank line is a record only where records have one cell.
- In CSV, a cell that begins with a quote goes on to the next quote that is not doubled, over delimiters and
  line ends; whatever follows up to the delimiter is part of it. A quote anywhere else is a character.
  Quotes tell the empty text (`""`) from a missing value (nothing). A tab-separated file has no quotes.
- A record is bad if it is not UTF-8, has another number of cells, or has a quote that is not closed, which
  then goes on to the end of the text.

Arrow splits a text whose records are all good. Otherwise the records are found one by one, and Arrow splits
the good ones. Sessions stop at the first bad record; pipelines go on (see `checking`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import pyarrow as pa
from pyarrow import csv as arrow_csv

__all__ = [
    "CSV",
    "MARK",
    "TABS",
    "Dialect",
    "Records",
    "cells_shown",
    "ends_open",
    "first_record",
    "open_record",
]

MARK: Final = "\ufeff".encode()  # what some editors put before a text
_BLOCK: Final = 8 << 20
_LARGEST: Final = 2**31 - 1
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_SHOWN: Final = 80  # characters of a text in a message
_OPEN: Final = 'unexpected end of data; close the quote (`"`), or double it inside a text'


@dataclass(frozen=True, slots=True)
class Dialect:
    """`delimiter` is one ASCII character; `quotes` says whether cells may be quoted."""

    delimiter: str
    quotes: bool


CSV: Final = Dialect(",", quotes=True)
TABS: Final = Dialect("\t", quotes=False)


@dataclass(frozen=True, slots=True)
class _Span:
    """A record's place in a text, without the line end; `is_open` if a quote is not closed."""

    start: int
    end: int
    cells: int
    is_open: bool


class Records:
    """The records of a text: `cells` is a table of texts, null where there is nothing.

    `problems` says of each bad record what is wrong with it; its cells are null.
    """

    def __init__(self, content: bytes, names: Sequence[str], dialect: Dialect) -> None:
        self._content = content
        self._dialect = dialect
        self._names = list(names)
        self._blanks_count = len(self._names) == 1
        self.problems: dict[int, str] = {}
        self.cells = self._all_cells()

    def line(self, record: int) -> int:
        """The line that a record begins in, counted from 0."""
        return self._lines[record]

    def text(self, record: int) -> str:
        """A record as it stands."""
        span = self._spans[record]
        return self._content[span.start : span.end].decode(errors="backslashreplace")

    def place(self, record: int) -> int:
        """Where in the text a record begins."""
        return self._spans[record].start

    # -- how

    def _all_cells(self) -> Any:
        if not ends_open(self._content, self._dialect):
            try:
                return self._split(self._content)
            except pa.ArrowInvalid:
                pass  # some record is bad
        return self._good_cells()

    def _good_cells(self) -> Any:
        """The cells of each record that is not bad."""
        good: list[bytes] = []
        places: list[int | None] = []
        for number, span in enumerate(self._spans):
            text = self._content[span.start : span.end]
            problem = self._problem(span, text)
            if problem is None:
                places.append(len(good))
                good.append(text)
            else:
                self.problems[number] = problem
                places.append(None)
        return self._split(b"\n".join([*good, b""])).take(pa.array(places, pa.int64()))

    def _problem(self, span: _Span, text: bytes) -> str | None:
        if span.is_open:
            return _OPEN
        try:
            text.decode()
        except UnicodeDecodeError as error:
            return f"{text[error.start : error.end]!r} is not UTF-8; save the file in that encoding"
        if span.cells != len(self._names):
            listed = ", ".join(self._names)
            return f"{span.cells} cell{'s' * (span.cells != 1)}; give {len(self._names)}: {listed}"
        return None

    def _split(self, content: bytes) -> Any:
        if not content or (not self._blanks_count and not content.strip(b"\r\n")):
            return pa.table({n: pa.array([], pa.string()) for n in self._names})
        body = MARK + content if content.startswith(MARK) else content  # Arrow takes one away
        if not body.endswith((b"\n", b"\r")):  # or Arrow takes an empty last cell for a quoted one
            body += b"\n"
        whole = min(len(body) + 1, _LARGEST)
        if self._blanks_count and b"\r" in content:  # a block must not end inside a line end
            return self._in_blocks(body, whole)
        try:
            return self._in_blocks(body, _BLOCK)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                raise
        return self._in_blocks(body, whole)

    def _in_blocks(self, body: bytes, block: int) -> Any:
        return arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            read_options=arrow_csv.ReadOptions(column_names=self._names, block_size=block),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._dialect.delimiter,
                quote_char='"' if self._dialect.quotes else False,
                double_quote=self._dialect.quotes,
                newlines_in_values=self._dialect.quotes and b'"' in body,
                ignore_empty_lines=not self._blanks_count,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self._names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    @cached_property
    def _spans(self) -> list[_Span]:
        found = _spans(self._content, self._dialect)
        return [s for s in found if self._blanks_count or s.end > s.start]

    @cached_property
    def _lines(self) -> list[int]:
        lines, line, done = [], 0, 0
        for span in self._spans:
            line += sum(1 for _ in _LINE_END.finditer(self._content, done, span.start))
            done = span.start
            lines.append(line)
        return lines


def ends_open(content: bytes, dialect: Dialect) -> bool:
    """Whether a text ends inside quotes."""
    if not dialect.quotes or b'"' not in content:
        return False
    closed, cell = _patterns(dialect)
    rest = closed.match(content)
    last = cell.match(content, rest.end() if rest else 0)
    return last is not None and last.start("open") >= 0


def open_record(content: bytes, dialect: Dialect) -> int | None:
    """Where the record begins whose quotes are not closed at the end of a text; None if there is none."""
    if not ends_open(content, dialect):
        return None
    return next(span.start for span in _spans(content, dialect) if span.is_open)


def first_record(content: bytes, dialect: Dialect) -> tuple[list[str], int]:
    """The cells of the first record without blanks around them, and where the next one begins.

    UnicodeDecodeError if it is not UTF-8.
    """
    _, cell = _patterns(dialect)
    found: list[str] = []
    place = 0
    while True:
        match = cell.match(content, place)
        assert match is not None, "anything is a cell"
        found.append(_unquoted(match["cell"].decode(), dialect).strip())
        place = match.end()
        if match["end"] != dialect.delimiter.encode():
            return found, place


def cells_shown(cells: Sequence[str]) -> str:
    """Cells for a message, which is not longer than a line or two."""
    text = " ".join(", ".join(cells).split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _unquoted(cell: str, dialect: Dialect) -> str:
    if not dialect.quotes or not cell.startswith('"'):
        return cell
    inside = re.match(r'"((?:[^"]++|"")*+)"?', cell)
    assert inside is not None, "it begins with a quote"
    return inside[1].replace('""', '"') + cell[inside.end() :]


def _spans(content: bytes, dialect: Dialect) -> Iterator[_Span]:
    """All records, the blank ones too."""
    _, cell = _patterns(dialect)
    delimiter = dialect.delimiter.encode()
    start = place = cells = 0
    while place < len(content) or cells:
        match = cell.match(content, place)
        assert match is not None, "anything is a cell"
        place, cells = match.end(), cells + 1
        if match["end"] != delimiter:
            yield _Span(start, match.start("end"), cells, match.start("open") >= 0)
            start, cells = place, 0


@cache
def _patterns(dialect: Dialect) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Any number of cells that are ended; and one cell with its end, which has `open` if that is missing."""
    mark = re.escape(dialect.delimiter.encode())
    plain = rb"[^" + mark + rb"\r\n]*+"
    quoted = rb'"(?:[^"]++|"")*+'
    ended = rb"(?:" + mark + rb"|\r\n?|\n)"
    end = rb"(?P<end>" + mark + rb"|\r\n?|\n|\Z)"
    if not dialect.quotes:
        return re.compile(rb"(?:" + plain + ended + rb")*+"), re.compile(
            rb"(?P<cell>" + plain + rb")(?P<open>(?!))?" + end
        )
    closed = rb"(?:" + quoted + rb'"' + plain + rb'|(?!")' + plain + rb")"
    cell = rb"(?P<cell>" + quoted + rb'(?:"' + plain + rb"|(?P<open>\Z))|" + plain + rb")"
    return re.compile(rb"(?:" + closed + ended + rb")*+"), re.compile(cell + end)
