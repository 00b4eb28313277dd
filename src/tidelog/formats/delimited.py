"""CSV, and the tab-separated files that Soufflé reads and writes.

CSV has a header, which names the columns in any order. With `header=False`, columns are read by position. A
tab-separated file has neither header nor quotes, so it cannot hold every text; writing such a text is an
error. `records` defines what a record is.

A relation without columns has a line `()` for each row, as in Soufflé.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.errors import DataError, shown
from tidelog.formats.cells import read_cells, write_cells
from tidelog.formats.records import CSV, MARK, TABS, Dialect, Records, cells_shown, first_record
from tidelog.program.declared import Relation
from tidelog.tables.arrow import UNIT
from tidelog.tables.fitting import Misfit
from tidelog.tables.given import make_table, unit_table

__all__ = ["CSV", "TABS", "Dialect", "read_delimited", "write_delimited"]

_BATCH: Final = 1 << 16


def read_delimited(
    relation: Relation, content: bytes, file: str, dialect: Dialect, *, header: bool = True
) -> Any:
    """The facts in the content of a file; `file` is its name in messages. Only CSV can have a `header`."""
    content = content.removeprefix(MARK)
    if not relation.columns:
        return _read_units(relation, content, file)
    document = _Document(relation, content, file, dialect, header=header and dialect.quotes)
    columns = [_read_column(document, c.name, c.type) for c in relation.columns]
    return make_table(relation, columns)


def _read_units(relation: Relation, content: bytes, file: str) -> Any:
    lines = content.decode(errors="backslashreplace").splitlines()
    for number, line in enumerate(lines):
        if line.strip() not in ("", UNIT):
            problem = f"{shown(line)} is not {UNIT}, the row of a relation without columns"
            raise DataError(relation.name, problem, value=line).in_file(file, number + 1)
    return unit_table(sum(line.strip() == UNIT for line in lines))


def _read_column(document: _Document, name: str, type_: types.Type) -> Any:
    try:
        return read_cells(type_, document.records.cells.column(name))
    except Misfit as bad:
        line = document.line(bad.row)
        error = DataError(document.relation.name, bad.problem, column=name, row=bad.row, value=bad.value)
        raise error.in_file(document.file, line) from None


class _Document:
    """A text of valid records, with or without a header. Raises DataError for a bad record."""

    def __init__(
        self, relation: Relation, content: bytes, file: str, dialect: Dialect, *, header: bool
    ) -> None:
        self.relation = relation
        self.file = file
        names, start = [c.name for c in relation.columns], 0
        if header and content:
            names, start = self._header(names, content, dialect)
        self._skipped = 1 if start else 0
        try:
            self.records = Records(content[start:], names, dialect)
        except pa.ArrowInvalid as error:
            raise self._error(str(error), None) from None
        for record, problem in self.records.problems.items():
            raise self._error(problem, self.line(record))

    def line(self, record: int) -> int:
        """The line where a record starts, counted from 1."""
        return self.records.line(record) + self._skipped + 1

    def _header(self, names: list[str], content: bytes, dialect: Dialect) -> tuple[list[str], int]:
        """The names in the first line, and the offset of the second."""
        try:
            found, start = first_record(content, dialect)
        except UnicodeDecodeError:
            raise self._error("the first line is not UTF-8; save the file in that encoding", 1) from None
        if not set(names) <= set(found):
            remedy = "for a file without a header, pass --no-header (in Python, header=False)"
            other = _other_delimiter(names, found, dialect)
            if other:
                remedy = f'cells are separated by `{other}`: declare #[delimiter = "{other}"] of the relation'
            elif set(names) & set(found):
                remedy = "rename the columns of the file, or those of the relation"
            problem = (
                f"the first line has {cells_shown(found)}; "
                f"a header must name the columns {', '.join(names)}; {remedy}"
            )
            raise self._error(problem, 1)
        if len(found) > len(names):
            extra = [c for c in found if c not in names] or sorted({c for c in found if found.count(c) > 1})
            problem = f"the file has extra columns: {cells_shown(extra)}; leave them out"
            raise self._error(problem, 1)
        return found, start

    def _error(self, problem: str, line: int | None) -> DataError:
        return DataError(self.relation.name, problem).in_file(self.file, line)


# -- writing


def write_delimited(
    table: Any, declared: Sequence[Type | None], dialect: Dialect, *, header: bool = True
) -> Iterator[bytes]:
    """The content of a file, in parts; `declared` are the types of the columns, where they are known."""
    if table.column_names == [UNIT]:
        yield f"{UNIT}\n".encode() * table.num_rows
        return
    if dialect.quotes and header:
        names = _quoted(pa.array(table.column_names), dialect.delimiter).to_pylist()
        yield (dialect.delimiter.join(names) + "\n").encode()
    for start in range(0, table.num_rows, _BATCH):
        part = table.slice(start, _BATCH)
        texts = [write_cells(c, t) for c, t in zip(part.columns, declared, strict=True)]
        fields = zip(part.schema, texts, strict=True)
        columns = [_quoted(c, dialect.delimiter) if dialect.quotes else _bare(f, c) for f, c in fields]
        lines = pc.binary_join_element_wise(*columns, dialect.delimiter)
        content = ("\n".join(lines.to_pylist()) + "\n").encode()
        # a reader strips the first byte order mark
        yield MARK + content if not start and not dialect.quotes and content.startswith(MARK) else content


def _quoted(cells: Any, delimiter: str) -> Any:
    """Texts, quoted where needed. An empty text is always quoted: unquoted, it is a missing value."""
    needed = pc.match_substring_regex(cells, f'^$|["\r\n]|{re.escape(delimiter)}')
    if not pc.any(needed).as_py():
        return cells.fill_null("")
    doubled = pc.replace_substring(cells, '"', '""')
    quoted = pc.binary_join_element_wise('"', doubled, '"', "")
    return pc.if_else(needed, quoted, cells).fill_null("")


def _bare(field: Any, cells: Any) -> Any:
    lost = pc.match_substring_regex(cells, "^$|[\t\r\n]" if field.nullable else "[\t\r\n]")
    if pc.any(lost).as_py():
        row = pc.index(lost, True).as_py()
        problem = "a tab-separated file cannot hold this text (tabs, line ends, or empty in an option column)"
        value = cells[row].as_py()
        raise DataError(
            None, f"{shown(value)}: {problem}; write CSV or Parquet", column=field.name, value=value
        )
    return cells.fill_null("")


def _other_delimiter(names: list[str], found: list[str], dialect: Dialect) -> str | None:
    """The character that separates the names of a header, if it is not the delimiter."""
    if len(found) != 1:
        return None
    others = (d for d in (";", "|", ",") if d != dialect.delimiter)
    return next((d for d in others if set(names) <= {name.strip() for name in found[0].split(d)}), None)
