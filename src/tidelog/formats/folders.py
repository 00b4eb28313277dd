"""Columns whose values are in the names of folders, as in `day=2026-01-31/part-0.parquet` (Hive's layout).

The values are texts, and the relation declares their types, as in delimited files. So `day=007` is 7 in an
integer column and `007` in one of strings. Special characters in names are written as `%2F`;
`__HIVE_DEFAULT_PARTITION__` stands for a missing value.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from tidelog.formats.cells import read_cells
from tidelog.program.declared import Column
from tidelog.tables import compute as pc
from tidelog.tables.arrow import arrow_type
from tidelog.tables.fitting import Misfit

__all__ = ["folder_values", "names_in", "with_folder_columns"]

_FOLDER: Final = re.compile(r"([^=/]+)=([^/]*)")
_MISSING: Final = "__HIVE_DEFAULT_PARTITION__"


def folder_values(path: str) -> dict[str, str | None]:
    """The values in the names of the folders of a file, by column; the innermost one if there are several."""
    *folders, _ = path.split("/")
    found = {unquote(m[1]): unquote(m[2]) for f in folders if (m := _FOLDER.fullmatch(f)) is not None}
    return {name: None if value == _MISSING else value for name, value in found.items()}


def names_in(folders: str) -> tuple[str, ...]:
    """The columns in the names of folders, from the outside in."""
    return tuple(unquote(m[1]) for f in folders.split("/") if (m := _FOLDER.fullmatch(f)) is not None)


def with_folder_columns(table: Any, columns: dict[str, Column], file: str, problem: str) -> Any:
    """Checked rows with more columns, by the names of their folders.

    `columns` are those of the relation by their names in folders, `file` is the column with the path of each
    row's file, quoted as in a URL, and `problem` the one with what is wrong with it.
    """
    paths = table[file].combine_chunks().dictionary_encode()
    paths = (
        pa.chunked_array(paths.chunks) if isinstance(paths, pa.ChunkedArray) else pa.chunked_array([paths])
    )
    paths = paths.unify_dictionaries()
    known = paths.chunk(0).dictionary.to_pylist() if paths.num_chunks else []
    places = pa.chunked_array([chunk.indices for chunk in paths.chunks], pa.int32())
    values = [folder_values(unquote(path)) for path in known]
    for name, column in columns.items():
        made, problems = _fitted(column, [found.get(name) for found in values])
        said = pa.chunked_array([pa.array(problems, pa.string())]).take(places)
        table = table.append_column(column.name, made.take(places))
        index = table.schema.get_field_index(problem)
        table = table.set_column(index, problem, pc.coalesce(table[problem], said))
    return table


def _fitted(column: Column, texts: list[str | None]) -> tuple[Any, list[str | None]]:
    """The values of a column, null where a text is none of its type, and the problem of each text."""
    made: list[Any] = []
    problems: list[str | None] = []
    for text in texts:
        try:
            made.append(read_cells(column.type, pa.chunked_array([pa.array([text], pa.string())])))
            problems.append(None)
        except Misfit as bad:
            made.append(pa.chunked_array([pa.nulls(1, arrow_type(column.type))]))
            problems.append(f"column {column.name}, in the name of the folder: {bad.problem}")
    chunks = [chunk for values in made for chunk in values.chunks]
    return pa.chunked_array(chunks, arrow_type(column.type)), problems
