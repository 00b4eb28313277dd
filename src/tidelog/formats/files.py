"""Reading and writing of fact files; the extension selects the format.

| extension                   | format                                                                  |
|-----------------------------|-------------------------------------------------------------------------|
| `.csv`                      | comma-separated, with a header, or by position if `header` is false     |
| `.facts`, `.tsv`            | tab-separated, no header, no quotes, as in Soufflé                      |
| `.json`, `.jsonl`, `.ndjson`| one object per line                                                     |
| `.parquet`                  | Parquet                                                                 |
| `.arrow`, `.feather`        | Arrow IPC file; streams can be read                                     |
| `.nt`, `.ttl`, `.rdf`, …    | RDF for relations of three strings, or four with graphs; `.nt` is written |

Text formats can be compressed (`.gz`). Writing is atomic: a reader finds either the old file or the complete
new one. Rows keep their order. Every failure is a DataError with the file, and the line if there are lines.
"""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
from pyarrow import parquet

from tidelog.data.types import Type
from tidelog.errors import DataError
from tidelog.formats import triples
from tidelog.formats.delimited import CSV, TABS, Dialect, read_delimited, write_delimited
from tidelog.formats.json_lines import read_lines, write_lines
from tidelog.formats.triples import parse_triples, read_terms, write_ntriples
from tidelog.program.declared import Relation
from tidelog.tables.given import to_table

__all__ = [
    "EXTENSIONS",
    "TRIPLES",
    "encode_facts",
    "read_facts",
    "read_triples",
    "write_facts",
]

_READ_TEXT: Final[dict[str, Callable[[Relation, bytes, str], Any]]] = {
    ".csv": partial(read_delimited, dialect=CSV),  # with a header
    ".facts": partial(read_delimited, dialect=TABS),
    ".tsv": partial(read_delimited, dialect=TABS),
    ".json": read_lines,
    ".jsonl": read_lines,
    ".ndjson": read_lines,
    **{extension: partial(read_terms, extension=extension) for extension in triples.EXTENSIONS},
}
_WRITE_TEXT: Final[dict[str, Callable[[Any, Sequence[Type | None]], Iterator[bytes]]]] = {
    ".csv": partial(write_delimited, dialect=CSV),
    ".facts": partial(write_delimited, dialect=TABS),
    ".tsv": partial(write_delimited, dialect=TABS),
    ".json": write_lines,
    ".jsonl": write_lines,
    ".ndjson": write_lines,
    ".nt": lambda table, _: write_ntriples(table),
}
_MOST_DIGITS: Final = 76  # of a decimal in Arrow
TRIPLES: Final = tuple(triples.EXTENSIONS)
EXTENSIONS: Final = (*(form for form in _READ_TEXT if form not in TRIPLES), ".parquet", ".arrow", ".feather")


def read_facts(
    relation: Relation, path: str | os.PathLike[str], *, header: bool = True, delimiter: str = ","
) -> Any:
    """The facts in a file as a table of the relation; `header` says whether a CSV file has one."""
    file = Path(path)
    form, packed = _form(file)
    with _naming(file, relation.name):
        if form == ".csv":
            return read_delimited(relation, _content(file, packed), str(file), _csv(delimiter), header=header)
        if form in _READ_TEXT:
            return _READ_TEXT[form](relation, _content(file, packed), str(file))
        table = parquet.ParquetFile(file).read() if form == ".parquet" else _read_ipc(file)
        return to_table(relation, table)


def read_triples(path: str | os.PathLike[str], base: str | None = None, *, named: bool = False) -> Any:
    """The triples of a file, including duplicates; `base` resolves relative IRIs.

    With `named`, the fourth column has the names of graphs.
    """
    file = Path(path)
    if not file.name.lower().removesuffix(".gz").endswith(TRIPLES):
        known = f"{', '.join(TRIPLES[:-1])} or {TRIPLES[-1]}"
        problem = f"unknown extension for triples; use {known}, optionally with .gz"
        raise DataError(None, problem).in_file(str(file))
    form, packed = _form(file)
    with _naming(file, None):
        return parse_triples(_content(file, packed), str(file), extension=form, base=base, named=named)


def _content(file: Path, packed: bool) -> bytes:
    content = file.read_bytes()
    return gzip.decompress(content) if packed else content


def _csv(delimiter: str) -> Dialect:
    return CSV if delimiter == CSV.delimiter else replace(CSV, delimiter=delimiter)


def write_facts(
    table: Any,
    path: str | os.PathLike[str],
    relation: Relation | None = None,
    *,
    header: bool = True,
    delimiter: str = ",",
    form: str | None = None,
) -> None:
    """Write a table in the order of its rows, atomically replacing the file. Raises DataError.

    The relation says of which types the columns are; Arrow does not know those of structs. `header` and
    `delimiter` are those of CSV files. `form` is the extension of another format than that of the path.
    """
    file = Path(path)
    form, packed = _form(file) if form is None else (form, False)
    with _naming(file, None), _replacing(file) as out:
        if form == ".parquet":
            parquet.write_table(table, out)
        elif form in _WRITE_TEXT:
            parts = encode_facts(table, form, relation, header=header, delimiter=delimiter)
            _write_parts(parts, out, packed=packed)
        elif form in _READ_TEXT:
            raise DataError(None, f"writing {form} files is not supported; write .nt")
        else:
            with pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)


def encode_facts(
    table: Any, form: str, relation: Relation | None = None, *, header: bool = True, delimiter: str = ","
) -> Iterator[bytes]:
    """The content of a file in a text format, such as `.csv`, in parts."""
    known = {c.name: c.type for c in relation.columns} if relation is not None else {}
    declared = [known.get(name) for name in table.column_names]
    if form == ".csv":
        return write_delimited(table, declared, _csv(delimiter), header=header)
    return _WRITE_TEXT[form](table, declared)


def _form(file: Path) -> tuple[str, bool]:
    """The extension that selects the format, and whether the file is compressed."""
    suffixes = [s.lower() for s in file.suffixes]
    packed = suffixes[-1:] == [".gz"]
    form = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    if form in _READ_TEXT or (form in EXTENSIONS and not packed):
        return form, packed
    known = ", ".join((*EXTENSIONS, *TRIPLES))
    problem = f"unknown file extension; use one of {known}; text formats can also end in .gz"
    raise DataError(None, problem).in_file(str(file))


@contextmanager
def _naming(file: Path, relation: str | None) -> Iterator[None]:
    """Turn every failure inside the block into a DataError that names the file."""
    try:
        yield
    except DataError as error:
        raise error if error.file else error.in_file(str(file)) from None
    except OSError as error:
        raise DataError(relation, error.strerror or str(error)).in_file(str(file)) from error
    except (EOFError, zlib.error, UnicodeDecodeError, pa.ArrowException) as error:
        raise DataError(relation, f"the file is corrupt or has another format: {error}").in_file(
            str(file)
        ) from error


def _read_ipc(file: Path) -> Any:
    with pa.OSFile(str(file)) as source:
        try:
            table = pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            table = pa.ipc.open_stream(source).read_all()
    for column in table.columns:
        _expect_sound(column)
    return table


def _expect_sound(column: Any) -> None:
    """Raise ArrowInvalid if a column is damaged: reading its values could end the process.

    Invalid UTF-8 is reported later, with its row.
    """
    _expect_decimals(column.type)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        if not pa.types.is_string(column.type):
            raise
        column.cast(pa.binary()).validate(full=True)


def _expect_decimals(arrow: Any) -> None:
    for i in range(arrow.num_fields):
        _expect_decimals(arrow.field(i).type)
    if pa.types.is_decimal(arrow) and abs(arrow.scale) > _MOST_DIGITS:
        raise pa.ArrowInvalid(f"a decimal has {arrow.scale} digits after the point")


def _write_parts(parts: Iterator[bytes], out: BinaryIO, *, packed: bool) -> None:
    if not packed:
        out.writelines(parts)
        return
    with gzip.GzipFile(
        filename="", mode="wb", fileobj=out, mtime=0
    ) as zipped:  # equal facts give equal files
        zipped.writelines(parts)


@contextmanager
def _replacing(file: Path) -> Iterator[BinaryIO]:
    """A new file that replaces the old one, with its permissions, once it is complete and synced to disk.

    A link stays, and the file that it leads to is replaced. A device or pipe is written to as it is.
    """
    if _is_special(file):
        with file.open("wb") as out:
            yield out
        return
    file = file.resolve()
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as out:
            with suppress(FileNotFoundError):
                shutil.copymode(file, temporary)
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _is_special(file: Path) -> bool:
    """Whether a path leads to something that is neither a file nor a folder."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
