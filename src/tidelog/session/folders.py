"""Folders of facts: one file for each relation, named after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tidelog.data.file_names import file_name
from tidelog.errors import DataError
from tidelog.formats.files import EXTENSIONS, TRIPLES, read_facts, write_facts
from tidelog.program.declared import Relation, Role
from tidelog.progress import Progress, Report
from tidelog.session.facts import Facts

__all__ = ["FORMATS", "find_files", "others_beside", "read_file", "read_folder", "write_folder"]

FORMATS: Final = ("csv", "facts", "jsonl", "parquet")


def read_folder(
    relations: Mapping[str, Relation],
    folder: Path,
    report: Report | None,
    *,
    allow_missing: bool,
    header: bool = True,
) -> tuple[Iterator[tuple[str, Any]], tuple[Path, ...]]:
    """The tables of the input relations, read lazily, and the files that belong to none.

    `header` says whether CSV files have one.
    """
    found, others = find_files(relations, folder, allow_missing=allow_missing)
    return _tables(found, report, header), others


def find_files(
    relations: Mapping[str, Relation], folder: Path, *, allow_missing: bool
) -> tuple[list[tuple[Relation, Path]], tuple[Path, ...]]:
    """The input relations that have a file, with it, and the files that belong to none."""
    files = _files(folder)
    inputs = [r for r in relations.values() if r.role is Role.INPUT]
    found: list[tuple[Relation, Path]] = []
    missing: list[Relation] = []
    for relation in inputs:
        candidates = _candidates(relation, folder, files)
        if len(candidates) > 1:
            listed = " and ".join(f.name for f in candidates)
            raise DataError(relation.name, f"{folder} has more than one file for it: {listed}; remove one")
        found += [(relation, f) for f in candidates]
        missing += [] if candidates else [relation]
    if missing and not allow_missing:
        raise _nothing_for(missing, folder)
    used = {f for _, f in found}
    return found, tuple(f for f in files if f not in used)


def _candidates(relation: Relation, folder: Path, files: Sequence[Path]) -> list[Path]:
    """The files of a relation: the one that it names, or those that are named after it."""
    if relation.options.file is not None:
        path = folder / relation.options.file
        return [path] if path.is_file() else []
    return [f for f in files if _stem(f) == file_name(relation.name)]


def _tables(
    found: list[tuple[Relation, Path]], report: Report | None, header: bool
) -> Iterator[tuple[str, Any]]:
    for number, (relation, file) in enumerate(found, start=1):
        if report is not None:
            report(Progress("read", file.name, number, len(found)))
        yield relation.name, read_file(relation, file, header=header)


def read_file(relation: Relation, file: Path, *, header: bool = True) -> Any:
    """The table in a file of a relation, as the attributes of the relation say that it is written."""
    options = relation.options
    has_header = header if options.header is None else options.header
    return read_facts(relation, file, header=has_header, delimiter=options.delimiter or ",")


def write_folder(
    relations: Sequence[Facts], folder: Path, form: str, report: Report | None
) -> tuple[Path, ...]:
    """Write each relation to a file named after it; returns the files. Each is replaced as a whole."""
    _make_folder(folder)
    written: list[Path] = []
    for number, facts in enumerate(relations, start=1):
        options = facts.relation.options
        path = folder / (options.file or f"{file_name(facts.relation.name)}.{form}")
        _make_folder(path.parent)
        if report is not None:
            report(Progress("write", path.name, number, len(relations)))
        header, delimiter = options.header is not False, options.delimiter or ","
        write_facts(facts.to_arrow(), path, facts.relation, header=header, delimiter=delimiter)
        written.append(path)
    return tuple(written)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(None, error.strerror or str(error)).in_file(str(folder)) from None


def others_beside(written: Sequence[Path]) -> tuple[Path, ...]:
    """Files of the same relations in other formats, whose contents may differ from those written."""
    stems = {_stem(path) for path in written}
    folders = {path.parent for path in written}
    return tuple(f for folder in folders for f in _files(folder) if _stem(f) in stems and f not in written)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(f for f in folder.iterdir() if f.is_file() and not f.name.startswith("."))
    except OSError as error:
        raise DataError(None, error.strerror or str(error)).in_file(str(folder)) from None


def _stem(file: Path) -> str | None:
    """A file's name without the extension; None if that is not one of a file of facts."""
    name = file.name.removesuffix(".gz")
    stem, dot, extension = name.rpartition(".")
    return stem if dot and f".{extension.lower()}" in (*EXTENSIONS, *TRIPLES) else None


def _nothing_for(missing: list[Relation], folder: Path) -> DataError:
    names = ", ".join(r.options.file or f"{file_name(r.name)}.csv" for r in missing)
    others = f" (nor a file with another extension: {', '.join(EXTENSIONS[1:])})"
    is_free = any(r.options.file is None for r in missing)
    problem = f"{folder} has no {names}{others if is_free else ''}; {_remedy(missing, folder)}"
    return DataError(missing[0].name if len(missing) == 1 else None, problem)


def _remedy(missing: list[Relation], folder: Path) -> str:
    """What to do about missing files; often their names have other capital letters."""
    names = {(r.options.file or file_name(r.name)).lower() for r in missing}
    alike = [f.name for f in _files(folder) if (_stem(f) or "").lower() in names]
    if alike:
        return f"it has {', '.join(alike)}: capital letters matter"
    return "for relations without a file, pass --allow-missing (in Python, allow_missing=True)"
