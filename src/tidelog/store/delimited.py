"""CSV, and the tab-separated files that Soufflé reads and writes.

CSV has a header when its first line names the columns, in any order (some of them only, or in another case,
is a mistake); without one, cells go by position. Quotes tell the empty text (`""`) from a missing value
(nothing). A tab-separated file has neither header nor quotes, so it cannot hold every text:
what it cannot hold is refused when it is written.

Arrow splits the file into cells; only when something is wrong does Python read it again, to find the line.
A relation without columns has a line `()` for each row, as Soufflé writes it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tidelog.data import types
from tidelog.errors import DataError, shown
from tidelog.program.typed import Relation
from tidelog.store.arrow import UNIT
from tidelog.store.cells import read_cells, write_cells
from tidelog.store.fitting import Misfit
from tidelog.store.frames import make_table, unit_table

__all__ = ["CSV", "TABS", "Dialect", "read_delimited", "write_delimited"]

_BLOCK: Final = 8 << 20
_BATCH: Final = 1 << 16
_MARK: Final = "\ufeff".encode()  # what some editors put before a text


@dataclass(frozen=True, slots=True)
class Dialect:
    delimiter: str
    quotes: bool


CSV: Final = Dialect(",", quotes=True)
TABS: Final = Dialect("\t", quotes=False)


def read_delimited(relation: Relation, content: bytes, file: str, dialect: Dialect) -> Any:
    """The facts in a file's content; `file` is its name, for messages."""
    _expect_utf8(relation, content, file)
    content = content.removeprefix(_MARK)
    if not relation.columns:
        return _read_units(relation, content, file)
    document = _Document(relation, content, file, dialect)
    table = document.cells()
    columns = [_read_column(document, c.name, c.type, table) for c in relation.columns]
    return make_table(relation, columns)


def _expect_utf8(relation: Relation, content: bytes, file: str) -> None:
    try:
        str(content, "utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"{content[error.start : error.end]!r} is not UTF-8; save the file in that encoding"
        raise DataError(relation.name, problem).in_file(file, line) from None


def _read_units(relation: Relation, content: bytes, file: str) -> Any:
    lines = content.decode().splitlines()
    for number, line in enumerate(lines):
        if line.strip() not in ("", UNIT):
            problem = f"{line!r} is not {UNIT}, the row of a relation without columns"
            raise DataError(relation.name, problem, value=line).in_file(file, number + 1)
    return unit_table(sum(line.strip() == UNIT for line in lines))


def _read_column(document: _Document, name: str, type_: types.Type, table: Any) -> Any:
    try:
        return read_cells(type_, table.column(name))
    except Misfit as bad:
        line = document.line(bad.row)
        problem = bad.problem
        if line == 1 and document.dialect.quotes:
            problem += "; a header has to name the columns " + ", ".join(document.names)
        error = DataError(document.relation.name, problem, column=name, row=bad.row, value=bad.value)
        raise error.in_file(document.file, line) from None


class _Document:
    """A text of records, with or without a header."""

    def __init__(self, relation: Relation, content: bytes, file: str, dialect: Dialect) -> None:
        self.relation = relation
        self.content = content
        self.file = file
        self.dialect = dialect
        self.names = [c.name for c in relation.columns]
        header = self._header() if dialect.quotes else None
        self.skipped = 0 if header is None else 1
        self.names = header or self.names
        # an empty line is a row where a row is one cell, which may be empty
        self.blanks_count = len(self.names) == 1

    def _header(self) -> list[str] | None:
        first, _, _ = self.content.partition(b"\n")
        if len(first) > csv.field_size_limit():
            return None
        cells = next(csv.reader([first.decode()], delimiter=self.dialect.delimiter), [])
        found = [cell.strip() for cell in cells]
        if not set(self.names) <= set(found):
            self._expect_no_slip(found)
            return None
        if len(found) > len(self.names):
            extra = [c for c in found if c not in self.names] or sorted(
                {c for c in found if found.count(c) > 1}
            )
            problem = f"the file has columns that the relation has not: {', '.join(extra)}; leave them out"
            raise DataError(self.relation.name, problem).in_file(self.file, 1)
        return found

    def _expect_no_slip(self, found: list[str]) -> None:
        """A first line that names some column, in whatever case, was meant to be a header."""
        known = {name.lower() for name in self.names}
        if any(cell.lower() in known for cell in found):
            problem = (
                f"the header names {', '.join(found)}; it has to name the columns {', '.join(self.names)}"
            )
            raise DataError(self.relation.name, problem).in_file(self.file, 1)

    def cells(self) -> Any:
        """All cells as text, null where there is nothing."""
        start = self.content.find(b"\n") + 1 if self.skipped else 0
        body = memoryview(self.content)[start or len(self.content) :] if self.skipped else self.content
        if not body or (not self.blanks_count and not bytes(body).strip(b"\r\n")):
            return pa.table({n: pa.array([], pa.string()) for n in self.names})
        self._expect_closed_quotes()
        if body[:3] == _MARK:  # Arrow takes one away, which here is the first text's
            body = _MARK + bytes(body)
        try:
            return self._split(body, _BLOCK)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                raise self._ragged(error) from None
        try:
            return self._split(body, min(len(body) + 1, 2**31 - 1))
        except pa.ArrowInvalid as error:
            raise self._ragged(error) from None

    def _split(self, body: Any, block: int) -> Any:
        return arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            read_options=arrow_csv.ReadOptions(column_names=self.names, block_size=block),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.dialect.delimiter,
                quote_char='"' if self.dialect.quotes else False,
                double_quote=self.dialect.quotes,
                newlines_in_values=self.dialect.quotes and b'"' in self.content,
                ignore_empty_lines=not self.blanks_count,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _records(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The records with the lines they start in, as Python reads them; `strict` about quotes."""
        text = io.StringIO(self.content.decode(), newline="")
        delimiter, quotes = self.dialect.delimiter, self.dialect.quotes
        if quotes:
            reader = csv.reader(text, delimiter=delimiter, strict=strict)
        else:
            reader = csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        line, limit = 1, csv.field_size_limit(max(csv.field_size_limit(), len(self.content)))
        try:
            for record in reader:
                if record or self.blanks_count:
                    yield line, record
                line = reader.line_num + 1
        except csv.Error as error:
            problem = f'{error}; close the quote (`"`), or double it inside a text'
            raise self._error(problem, line) from None
        finally:
            csv.field_size_limit(limit)

    def _expect_closed_quotes(self) -> None:
        """Arrow reads an open quote to the end of the file; an odd number of quotes makes that possible."""
        if self.dialect.quotes and self.content.count(b'"') % 2:
            for _ in self._records(strict=True):
                pass

    def _ragged(self, error: Exception) -> DataError:
        for line, record in self._records():
            if record and len(record) != len(self.names):
                listed = ", ".join(self.names)
                return self._error(f"{len(record)} cells; give {len(self.names)}: {listed}", line)
        return self._error(str(error), None)

    def _error(self, problem: str, line: int | None) -> DataError:
        return DataError(self.relation.name, problem).in_file(self.file, line)

    def line(self, row: int) -> int | None:
        """The line in which a row starts."""
        wanted = row + self.skipped
        return next((line for i, (line, _) in enumerate(self._records()) if i == wanted), None)


# -- writing


def write_delimited(table: Any, dialect: Dialect) -> Iterator[bytes]:
    """The content of a file, in parts."""
    if table.column_names == [UNIT]:
        yield f"{UNIT}\n".encode() * table.num_rows
        return
    if dialect.quotes:
        yield (",".join(_quoted(pa.array(table.column_names)).to_pylist()) + "\n").encode()
    for start in range(0, table.num_rows, _BATCH):
        part = table.slice(start, _BATCH)
        fields = zip(part.schema, part.columns, strict=True)
        columns = [_quoted(c) if dialect.quotes else _bare(f, c) for f, c in fields]
        lines = pc.binary_join_element_wise(*columns, dialect.delimiter)
        content = ("\n".join(lines.to_pylist()) + "\n").encode()
        # a reader takes the first mark away
        yield _MARK + content if not start and not dialect.quotes and content.startswith(_MARK) else content


def _quoted(column: Any) -> Any:
    """Texts in quotes where they need them; an empty text always, since without them it is missing."""
    cells = write_cells(column)
    needed = pc.match_substring_regex(cells, '^$|[",\r\n]')
    if not pc.any(needed).as_py():
        return cells.fill_null("")
    doubled = pc.replace_substring(cells, '"', '""')
    quoted = pc.binary_join_element_wise('"', doubled, '"', "")
    return pc.if_else(needed, quoted, cells).fill_null("")


def _bare(field: Any, column: Any) -> Any:
    cells = write_cells(column)
    lost = pc.match_substring_regex(cells, "^$|[\t\r\n]" if field.nullable else "[\t\r\n]")
    if pc.any(lost).as_py():
        row = pc.index(lost, True).as_py()
        problem = "a tab-separated file cannot hold this text (tabs, line ends, or empty in an option column)"
        value = cells[row].as_py()
        raise DataError(
            None, f"{shown(value)}: {problem}; write CSV or Parquet", column=field.name, value=value
        )
    return cells.fill_null("")
