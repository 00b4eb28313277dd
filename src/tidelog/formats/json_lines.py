"""JSON lines: one object per line.

Integers, booleans, strings and floats are JSON values, except that NaN and the infinities are strings, as
`to_text` writes them. Decimals, dates, timestamps, bytes and integers of more than 64 bits are strings. A
number with a fraction stays text until its column is known, so that no decimal is rounded on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tidelog.data import types
from tidelog.data.types import scalar
from tidelog.data.values import BadValue, from_text
from tidelog.errors import DataError
from tidelog.formats.cells import write_cells
from tidelog.program.typed import Relation
from tidelog.tables.arrow import UNIT, is_wide, type_of
from tidelog.tables.given import to_table

__all__ = ["read_lines", "read_object", "read_value", "write_lines"]

_BATCH: Final = 1 << 16
_WORDS: Final = ("NaN", "Infinity", "-Infinity")
_AS_TEXT: Final = (types.Decimal, types.Bytes, types.Date, types.Timestamp)


class _Number(str):
    """The text of a number with a fraction or an exponent."""

    __slots__ = ()


def _long(text: str) -> object:
    return from_text(types.BIGINT, text)  # Python's own conversion stops at 4,300 digits


_QUICK: Final = json.JSONDecoder(parse_float=_Number, parse_constant=_Number)
_PATIENT: Final = json.JSONDecoder(parse_float=_Number, parse_constant=_Number, parse_int=_long)
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def read_lines(relation: Relation, content: bytes, file: str) -> Any:
    """The facts in the content of a file; `file` is its name in messages."""
    columns = {c.name: scalar(c.type) for c in relation.columns}
    places: list[int] = []
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            places.append(number)
            rows.append(_row(relation, columns, line, file, number))
    try:
        return to_table(relation, rows)
    except DataError as error:
        raise error.in_file(file, None if error.row is None else places[error.row]) from None


def _row(
    relation: Relation, columns: dict[str, types.Scalar], line: bytes, file: str, number: int
) -> dict[str, Any]:
    try:
        row = read_object(line)
    except ValueError as error:
        raise DataError(relation.name, str(error), value=line).in_file(file, number) from None
    for name, value in row.items():
        if isinstance(value, str) and name in columns:
            try:
                row[name] = read_value(columns[name], value)
            except BadValue as bad:
                problem = f"{bad}; correct it, or declare the column with another type"
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
        raise ValueError("the line is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(
            "the line is not a JSON object; write one object per line, with column names as keys"
        )
    return found


def read_value(item: types.Scalar, text: str) -> object:
    """The value of a string, or of a number with a fraction, in a column of a type.

    A text that needs no conversion is returned unchanged. Raises BadValue if the conversion fails.
    """
    if isinstance(text, _Number):
        exact = isinstance(item, types.Float | types.Double | types.Decimal)
        return from_text(item, text) if exact else float(text)
    if isinstance(item, _AS_TEXT) or is_wide(item) or (types.is_float(item) and text in _WORDS):
        return from_text(item, text)
    return text


# -- writing


def write_lines(table: Any) -> Iterator[bytes]:
    """The content of a file, in parts."""
    if table.column_names == [UNIT]:
        yield b"{}\n" * table.num_rows
        return
    names = table.column_names
    for start in range(0, table.num_rows, _BATCH):
        part = table.slice(start, _BATCH)
        columns = [_written(column) for column in part.columns]
        lines = (_ENCODE(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))
        yield ("\n".join(lines) + "\n").encode()


def _written(column: Any) -> list[object]:
    type_ = type_of(column.type)
    if isinstance(type_, types.Float | types.Double):
        texts = write_cells(column).to_pylist()
        return [text if text is None or text in _WORDS else float(text) for text in texts]
    listed: list[object] = (write_cells(column) if isinstance(type_, _AS_TEXT) else column).to_pylist()
    return listed
