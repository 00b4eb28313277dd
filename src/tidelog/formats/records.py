"""Delimited text as records of cells. CSV and tab-separated files share these rules:

- A record ends at LF, CRLF or CR. A blank line is a record only if records have one cell.
- In CSV, a cell that starts with a quote extends to the next quote that is not doubled, across delimiters and
  line ends. Any text between that quote and the delimiter is part of the cell. A quote anywhere else is an
  ordinary character. Quotes distinguish the empty text (`""`) from a missing value (nothing). A tab-separated
  file has no quotes.
- A record is bad if it is not UTF-8, has the wrong number of cells, or has an unterminated quote. An
  unterminated quote extends to the end of the text.

Arrow splits a text if all its records are good. Otherwise the records are located one by one, and Arrow
splits the good ones. Sessions stop at the first bad record; pipelines continue (see `checking`).
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

MARK: Final = "\ufeff".encode()  # byte order mark, which some editors write at the start of a file
_BLOCK: Final = 8 << 20
_LARGEST: Final = 2**31 - 1
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_SHOWN: Final = 80  # longest text in a message, in characters
_OPEN: Final = 'unterminated string; close the quote (`"`), or double it inside a text'


@dataclass(frozen=True, slots=True)
class Dialect:
    """`delimiter` is one ASCII character; `quotes` says whether cells may be quoted."""

    delimiter: str
    quotes: bool


CSV: Final = Dialect(",", quotes=True)
TABS: Final = Dialect("\t", quotes=False)


@dataclass(frozen=True, slots=True)
class _Span:
    """The range of a record in a text, without its line end; `is_open` if it has an unterminated quote."""

    start: int
    end: int
    cells: int
    is_open: bool


class Records:
    """The records of a text: `cells` is a table of texts, null where a cell is empty.

    `problems` describes what is wrong with each bad record; its cells are null.
    """

    def __init__(self, content: bytes, names: Sequence[str], dialect: Dialect) -> None:
        self._content = content
        self._dialect = dialect
        self._names = list(names)
        self._blanks_count = len(self._names) == 1
        self.problems: dict[int, str] = {}
        self.cells = self._all_cells()

    def line(self, record: int) -> int:
        """The line where a record starts, counted from 0."""
        return self._lines[record]

    def text(self, record: int) -> str:
        """The original text of a record."""
        span = self._spans[record]
        return self._content[span.start : span.end].decode(errors="backslashreplace")

    def place(self, record: int) -> int:
        """The offset where a record starts."""
        return self._spans[record].start

    # -- splitting

    def _all_cells(self) -> Any:
        if not ends_open(self._content, self._dialect):
            try:
                return self._split(self._content)
            except pa.ArrowInvalid:
                pass  # some record is bad
        return self._good_cells()

    def _good_cells(self) -> Any:
        """The cells of the good records, null for each bad one."""
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
            return f"{span.cells} cell{'s' * (span.cells != 1)}; expected {len(self._names)}: {listed}"
        return None

    def _split(self, content: bytes) -> Any:
        if not content or (not self._blanks_count and not content.strip(b"\r\n")):
            return pa.table({n: pa.array([], pa.string()) for n in self._names})
        body = MARK + content if content.startswith(MARK) else content  # Arrow strips one
        if not body.endswith((b"\n", b"\r")):  # otherwise Arrow treats an empty last cell as quoted
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
    """Whether a text ends inside an open quote."""
    if not dialect.quotes or b'"' not in content:
        return False
    closed, cell = _patterns(dialect)
    rest = closed.match(content)
    last = cell.match(content, rest.end() if rest else 0)
    return last is not None and last.start("open") >= 0


def open_record(content: bytes, dialect: Dialect) -> int | None:
    """The offset of the record whose quote is still open at the end of a text; None if there is none."""
    if not ends_open(content, dialect):
        return None
    return next(span.start for span in _spans(content, dialect) if span.is_open)


def first_record(content: bytes, dialect: Dialect) -> tuple[list[str], int]:
    """The cells of the first record, stripped of whitespace, and the offset of the next record.

    Raises UnicodeDecodeError if the record is not UTF-8.
    """
    _, cell = _patterns(dialect)
    found: list[str] = []
    place = 0
    while True:
        match = cell.match(content, place)
        assert match is not None, "any text matches a cell"
        found.append(_unquoted(match["cell"].decode(), dialect).strip())
        place = match.end()
        if match["end"] != dialect.delimiter.encode():
            return found, place


def cells_shown(cells: Sequence[str]) -> str:
    """Cells for a message, truncated to a line or two."""
    text = " ".join(", ".join(cells).split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _unquoted(cell: str, dialect: Dialect) -> str:
    if not dialect.quotes or not cell.startswith('"'):
        return cell
    inside = re.match(r'"((?:[^"]++|"")*+)"?', cell)
    assert inside is not None, "the cell starts with a quote"
    return inside[1].replace('""', '"') + cell[inside.end() :]


def _spans(content: bytes, dialect: Dialect) -> Iterator[_Span]:
    """All records, including blank ones."""
    _, cell = _patterns(dialect)
    delimiter = dialect.delimiter.encode()
    start = place = cells = 0
    while place < len(content) or cells:
        match = cell.match(content, place)
        assert match is not None, "any text matches a cell"
        place, cells = match.end(), cells + 1
        if match["end"] != delimiter:
            yield _Span(start, match.start("end"), cells, match.start("open") >= 0)
            start, cells = place, 0


@cache
def _patterns(dialect: Dialect) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Patterns for any number of complete cells, and for one cell with its end (`open` if unterminated)."""
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
