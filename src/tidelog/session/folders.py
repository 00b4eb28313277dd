"""Folders of facts: one file for each relation, known by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tidelog.errors import DataError
from tidelog.program.typed import Relation, Role
from tidelog.store.files import EXTENSIONS, TRIPLES, read_facts, write_facts

__all__ = ["FORMATS", "read_folder", "write_folder"]

FORMATS: Final = ("csv", "facts", "jsonl", "parquet")


def read_folder(
    relations: Mapping[str, Relation], folder: Path, *, allow_missing: bool
) -> tuple[Iterator[tuple[str, Any]], tuple[Path, ...]]:
    """The tables of the input relations, read as they are asked for; and the files that belong to none."""
    files = _files(folder)
    inputs = [r for r in relations.values() if r.role is Role.INPUT]
    found: list[tuple[Relation, Path]] = []
    missing: list[str] = []
    for relation in inputs:
        candidates = [f for f in files if _stem(f) == _file_name(relation.name)]
        if len(candidates) > 1:
            listed = " and ".join(f.name for f in candidates)
            raise DataError(relation.name, f"{folder} has two files of its facts, {listed}; take one away")
        found += [(relation, f) for f in candidates]
        missing += [] if candidates else [relation.name]
    if missing and not allow_missing:
        raise _nothing_for(missing, folder)
    used = {f for _, f in found}
    others = tuple(f for f in files if f not in used)
    return ((r.name, read_facts(r, f)) for r, f in found), others


def write_folder(tables: Iterator[tuple[str, Any]], folder: Path, form: str) -> tuple[Path, ...]:
    """Write each relation's table to a file of its name; the files. Each is replaced as a whole."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(None, error.strerror or str(error)).in_file(str(folder)) from None
    written: list[Path] = []
    for name, table in tables:
        path = folder / f"{_file_name(name)}.{form}"
        write_facts(table, path)
        written.append(path)
    return tuple(written)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(f for f in folder.iterdir() if f.is_file() and not f.name.startswith("."))
    except OSError as error:
        raise DataError(None, error.strerror or str(error)).in_file(str(folder)) from None


def _file_name(relation: str) -> str:
    """`::` of a namespace is not for file names."""
    return relation.replace("::", ".")


def _stem(file: Path) -> str | None:
    """A file's name without the extension, if that is one of facts."""
    name = file.name.removesuffix(".gz")
    stem, dot, extension = name.rpartition(".")
    return stem if dot and f".{extension.lower()}" in (*EXTENSIONS, *TRIPLES) else None


def _nothing_for(missing: list[str], folder: Path) -> DataError:
    names = ", ".join(f"{_file_name(name)}.csv" for name in missing)
    problem = f"{folder} has no {names} (nor one with another extension: {', '.join(EXTENSIONS[1:])})"
    return DataError(missing[0] if len(missing) == 1 else None, problem)
