"""JSON lines: one object per line.

Integers, booleans, strings and floats are JSON values, except that NaN and the infinities are strings, as
`to_text` writes them. Decimals, dates, times, bytes and integers of more than 64 bits are strings. Structured
values are written as `data.json_text` defines it. A number with a fraction stays text until its column is
known, so that no decimal is rounded on the way.

Files are read as whole columns if `json_columns` can; otherwise, and for all errors, line by line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tidelog.data import types
from tidelog.data.json_parser import Fraction, parse
from tidelog.data.json_text import from_json, quoted
from tidelog.data.types import Type, present
from tidelog.data.values import BadValue, from_text
from tidelog.errors import DataError
from tidelog.formats.cells import write_cells
from tidelog.formats.json_columns import read_columns
from tidelog.program.declared import Relation
from tidelog.tables.arrow import UNIT, is_wide, type_of
from tidelog.tables.given import to_table

__all__ = ["is_written_apart", "read_lines", "read_object", "read_patiently", "read_value", "write_lines"]

_BATCH: Final = 1 << 16
_MARK: Final = b"\xef\xbb\xbf"  # which some programs write before UTF-8
_WORDS: Final = ("NaN", "Infinity", "-Infinity")
_AS_TEXT: Final = (types.Decimal, types.Bytes, types.Date, types.Timestamp, types.Duration)
_STRUCTURED: Final = (types.Tuple, types.Vec, types.Set, types.Map, types.Named)


def _long(text: str) -> object:
    return from_text(types.BIGINT, text)  # Python's own conversion stops at 4,300 digits


_QUICK: Final = json.JSONDecoder(parse_float=Fraction, parse_constant=Fraction)
_PATIENT: Final = json.JSONDecoder(parse_float=Fraction, parse_constant=Fraction, parse_int=_long)
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def read_lines(relation: Relation, content: bytes, file: str) -> Any:
    """The facts in the content of a file; `file` is its name in messages."""
    table = read_columns(relation, content.removeprefix(_MARK))
    return read_patiently(relation, content, file) if table is None else table


def read_patiently(relation: Relation, content: bytes, file: str) -> Any:
    """As `read_lines`, line by line. This defines what is accepted."""
    columns = {c.name: present(c.type) for c in relation.columns}
    places: list[int] = []
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(content.removeprefix(_MARK).split(b"\n"), start=1):
        if line.strip():
            places.append(number)
            rows.append(_row(relation, columns, line, file, number))
    try:
        return to_table(relation, rows)
    except DataError as error:
        raise error.in_file(file, None if error.row is None else places[error.row]) from None


def _row(
    relation: Relation, columns: dict[str, types.Item], line: bytes, file: str, number: int
) -> dict[str, Any]:
    try:
        row = read_object(line)
    except ValueError as error:
        raise DataError(relation.name, str(error), value=line).in_file(file, number) from None
    for name, value in row.items():
        if name in columns and is_written_apart(columns[name], value):
            try:
                row[name] = read_value(columns[name], value)
            except BadValue as bad:
                remedy = "" if bad.path else "; correct it, or declare the column with another type"
                problem = f"{bad}{remedy}"
                located = DataError(relation.name, problem, column=name, value=value)
                raise located.in_file(file, number) from None
    return row


def read_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line. Raises ValueError."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8; save the file in that encoding") from None
    try:
        found = _QUICK.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"the line is not valid JSON: {error.msg} at column {error.colno}") from None
    except ValueError:
        found = _PATIENT.decode(text)
    except RecursionError:
        found = _deep(text)
    if not isinstance(found, dict):
        raise ValueError(
            "the line is not a JSON object; write one object per line, with column names as keys"
        )
    return found


def _deep(text: str) -> object:
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"the line is not valid JSON: {error}") from None


def is_written_apart(item: types.Item, value: object) -> bool:
    """Whether a JSON value may need conversion before it is a value of a type."""
    return isinstance(value, str) or (isinstance(item, _STRUCTURED) and value is not None)


def read_value(item: types.Item, value: object) -> object:
    """The value of a string, a number with a fraction, or anything nested, in a column of a type.

    A text that needs no conversion is returned unchanged. Raises BadValue if the conversion fails.
    """
    if isinstance(item, _STRUCTURED):
        is_text = isinstance(value, str) and value.startswith(("{", "["))
        return from_text(item, str(value)) if is_text else from_json(item, value)
    text = str(value)
    if isinstance(value, Fraction):
        exact = isinstance(item, types.Float | types.Double | types.Decimal)
        return from_text(item, text) if exact else float(text)
    if isinstance(item, _AS_TEXT) or is_wide(item) or (types.is_float(item) and text in _WORDS):
        return from_text(item, text)
    return text


# -- writing


def write_lines(table: Any, declared: Sequence[Type | None] | None = None) -> Iterator[bytes]:
    """The content of a file, in parts; `declared` are the types of the columns, where they are known."""
    if table.column_names == [UNIT]:
        yield b"{}\n" * table.num_rows
        return
    known = declared or [None] * table.num_columns
    items = [type_of(c.type) if t is None else present(t) for c, t in zip(table.columns, known, strict=True)]
    for start in range(0, table.num_rows, _BATCH):
        columns = list(zip(items, table.slice(start, _BATCH).columns, strict=True))
        nested = any(isinstance(item, _STRUCTURED) for item in items)
        lines = (_nested_lines if nested else _plain_lines)(table.column_names, columns)
        yield ("\n".join(lines) + "\n").encode()


def _plain_lines(names: Sequence[str], columns: Sequence[tuple[types.Item | None, Any]]) -> Iterator[str]:
    rows = zip(*(_values(item, column) for item, column in columns), strict=True)
    return (_ENCODE(dict(zip(names, row, strict=True))) for row in rows)


def _nested_lines(names: Sequence[str], columns: Sequence[tuple[types.Item | None, Any]]) -> Iterator[str]:
    """Lines put together from the texts of their values, since structured values have one text."""
    texts = [
        [text or "null" for text in write_cells(column, item).to_pylist()]
        if isinstance(item, _STRUCTURED)
        else [_ENCODE(value) for value in _values(item, column)]
        for item, column in columns
    ]
    keys = [quoted(name) for name in names]
    return (f"{{{', '.join(map('{}: {}'.format, keys, row))}}}" for row in zip(*texts, strict=True))


def _values(item: types.Item | None, column: Any) -> list[object]:
    """Scalars as values that are written as they are."""
    if isinstance(item, types.Float | types.Double):
        texts = write_cells(column, item).to_pylist()
        return [text if text is None or text in _WORDS else float(text) for text in texts]
    listed: list[object] = (write_cells(column, item) if isinstance(item, _AS_TEXT) else column).to_pylist()
    return listed
