"""Files of facts, by extension.

| extension                   | format                                                                  |
|-----------------------------|-------------------------------------------------------------------------|
| `.csv`                      | comma-separated, with a header, or by position if `header` is false     |
| `.facts`, `.tsv`            | tab-separated, no header, no quotes: Soufflé's                          |
| `.json`, `.jsonl`, `.ndjson`| one object a line                                                       |
| `.parquet`                  | Parquet                                                                 |
| `.arrow`, `.feather`        | Arrow IPC, as a file or (reading) as a stream                           |
| `.nt`, `.ttl`               | RDF triples, for relations of three texts: N-Triples; Turtle (reading)  |

The text forms may end in `.gz`. Writing is atomic: a reader finds the old file or the new one, whole. Rows
keep their order. Every failure is a DataError that names the file, and the line where there are lines.
"""

from __future__ import annotations

import gzip
import os
import secrets
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
from pyarrow import parquet

from tidelog.errors import DataError
from tidelog.formats.delimited import CSV, TABS, read_delimited, write_delimited
from tidelog.formats.json_lines import read_lines, write_lines
from tidelog.formats.triples import parse_triples, read_ntriples, read_turtle, write_ntriples
from tidelog.program.typed import Relation
from tidelog.tables.given import to_table

__all__ = ["EXTENSIONS", "TRIPLES", "read_facts", "read_triples", "write_facts"]

_READ_TEXT: Final[dict[str, Callable[[Relation, bytes, str], Any]]] = {
    ".csv": partial(read_delimited, dialect=CSV),  # with a header
    ".facts": partial(read_delimited, dialect=TABS),
    ".tsv": partial(read_delimited, dialect=TABS),
    ".json": read_lines,
    ".jsonl": read_lines,
    ".ndjson": read_lines,
    ".nt": read_ntriples,
    ".ttl": read_turtle,
}
_WRITE_TEXT: Final[dict[str, Callable[[Any], Iterator[bytes]]]] = {
    ".csv": partial(write_delimited, dialect=CSV),
    ".facts": partial(write_delimited, dialect=TABS),
    ".tsv": partial(write_delimited, dialect=TABS),
    ".json": write_lines,
    ".jsonl": write_lines,
    ".ndjson": write_lines,
    ".nt": write_ntriples,
}
TRIPLES: Final = (".nt", ".ttl")
EXTENSIONS: Final = (*(form for form in _READ_TEXT if form not in TRIPLES), ".parquet", ".arrow", ".feather")


def read_facts(relation: Relation, path: str | os.PathLike[str], *, header: bool = True) -> Any:
    """The facts in a file as a table of the relation, or DataError; `header` says whether CSV has one."""
    file = Path(path)
    form, packed = _form(file)
    with _naming(file, relation.name):
        if form == ".csv":
            return read_delimited(relation, _content(file, packed), str(file), CSV, header=header)
        if form in _READ_TEXT:
            return _READ_TEXT[form](relation, _content(file, packed), str(file))
        table = parquet.ParquetFile(file).read() if form == ".parquet" else _read_ipc(file)
        return to_table(relation, table)


def read_triples(path: str | os.PathLike[str], base: str | None = None) -> Any:
    """The triples of a file, repetitions included; `base` resolves the relative IRIs of Turtle."""
    file = Path(path)
    if not file.name.lower().removesuffix(".gz").endswith(TRIPLES):
        problem = "triples are read from files with the extensions .nt and .ttl, also with .gz"
        raise DataError(None, problem).in_file(str(file))
    form, packed = _form(file)
    with _naming(file, None):
        return parse_triples(_content(file, packed), str(file), turtle=form == ".ttl", base=base)


def _content(file: Path, packed: bool) -> bytes:
    content = file.read_bytes()
    return gzip.decompress(content) if packed else content


def write_facts(table: Any, path: str | os.PathLike[str]) -> None:
    """Write a relation's table in the order of its rows, replacing the file as a whole; or DataError."""
    file = Path(path)
    form, packed = _form(file)
    with _naming(file, None), _replacing(file) as out:
        if form == ".parquet":
            parquet.write_table(table, out)
        elif form in _WRITE_TEXT:
            _write_parts(_WRITE_TEXT[form](table), out, packed=packed)
        elif form in _READ_TEXT:
            raise DataError(None, f"files with the extension {form} are only read; write .nt")
        else:
            with pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)


def _form(file: Path) -> tuple[str, bool]:
    """The extension that says how a file is written, and whether it is compressed."""
    suffixes = [s.lower() for s in file.suffixes]
    packed = suffixes[-1:] == [".gz"]
    form = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    if form in _READ_TEXT or (form in EXTENSIONS and not packed):
        return form, packed
    known = ", ".join((*EXTENSIONS, *TRIPLES))
    problem = f"no format has this extension; use one of {known}, the text forms also with .gz"
    raise DataError(None, problem).in_file(str(file))


@contextmanager
def _naming(file: Path, relation: str | None) -> Iterator[None]:
    """Whatever goes wrong inside is an error that names the file."""
    try:
        yield
    except DataError as error:
        raise error if error.file else error.in_file(str(file)) from None
    except OSError as error:
        raise DataError(relation, error.strerror or str(error)).in_file(str(file)) from error
    except (EOFError, zlib.error, pa.ArrowException) as error:
        raise DataError(relation, f"the file is damaged, or not of this format: {error}").in_file(
            str(file)
        ) from error


def _read_ipc(file: Path) -> Any:
    with pa.OSFile(str(file)) as source:
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()


def _write_parts(parts: Iterator[bytes], out: BinaryIO, *, packed: bool) -> None:
    if not packed:
        out.writelines(parts)
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as zipped:  # equal facts, equal files
        zipped.writelines(parts)


@contextmanager
def _replacing(file: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of the old one once it is complete and on disk."""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
