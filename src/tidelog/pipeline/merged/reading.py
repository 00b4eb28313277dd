"""Reads merged folders, and makes plain ones of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from tidelog.errors import PipelineError
from tidelog.pipeline.merged.layout import MANIFEST, Part, read_layout
from tidelog.pipeline.merged.views import DIALECTS, statement
from tidelog.pipeline.spec import as_literal
from tidelog.pipeline.versions import CURRENT, PLAIN, point, pointed, sync
from tidelog.tables.casting import cast_table
from tidelog.tables.signed import SIGN, signed, total

__all__ = ["compact", "read", "rows_of", "view"]

_NAME: Final = "part-00000.parquet"


def read(path: str | os.PathLike[str], spark: Any = None) -> Any:
    """The rows of an output in a local folder: a DataFrame of the session `spark`, or an Arrow table.

    The folder is that of an output with `mode = "merge"`, or of one in Parquet without it.
    """
    folder = _valid(Path(path))
    if (folder / MANIFEST).exists():
        return spark.sql(_statement(folder, "spark")) if spark is not None else _table(folder)
    if spark is not None:
        return spark.read.option("recursiveFileLookup", "true").parquet(as_literal(f"file://{folder}"))
    try:
        return parquet.read_table(folder, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise PipelineError(f"{folder} does not hold Parquet files: {error}") from None


def view(path: str | os.PathLike[str], dialect: str = "duckdb") -> str:
    """A query in SQL for the rows of an output in a local folder; the dialects are `duckdb` and `spark`.

    It reads the version that is valid now, which is deleted when the second version after it appears.
    """
    if dialect not in DIALECTS:
        raise PipelineError(f"unknown dialect {dialect!r}; the dialects are {', '.join(DIALECTS)}")
    return _statement(_valid(Path(path)), dialect)


def compact(path: str | os.PathLike[str]) -> Path:
    """Make the valid version of a merged output a plain folder of Parquet files; return that folder.

    The next run with changes continues from the merged version, and its result is merged again.
    """
    root = Path(path).absolute()
    name = pointed(root)
    if name is None:
        raise PipelineError(f"{path} is not the folder of an output: it has no link {CURRENT}")
    folder = root / name
    if not (folder / MANIFEST).exists():
        return folder
    plain = root / (name + PLAIN)
    shutil.rmtree(plain, ignore_errors=True)
    plain.mkdir()
    _write(_table(folder), read_layout(folder).partition_by, plain)
    sync(plain)
    if pointed(root) != name:
        shutil.rmtree(plain)
        raise PipelineError(f"a run has written {path} in the meantime; compact it again")
    point(root, plain.name)
    return plain


def _valid(folder: Path) -> Path:
    """The folder of the valid version: an output's own, or a version itself."""
    if (folder / MANIFEST).exists():
        return folder.absolute()
    name = pointed(folder)
    if name is None:
        raise PipelineError(f"{folder} is not the folder of an output: it has no link {CURRENT}")
    return folder.absolute() / name


def _statement(folder: Path, dialect: str) -> str:
    if (folder / MANIFEST).exists():
        return statement(folder, read_layout(folder), DIALECTS[dialect])
    return f"select * from {DIALECTS[dialect].files(str(folder))}"


# -- tables


def _table(folder: Path) -> Any:
    """The rows of a version: the sum of its files."""
    merged = read_layout(folder)
    schema = pa.schema([*list(merged.schema)[:-1], merged.schema[-1].with_name(SIGN)])
    changes = rows_of(folder, merged.changes, schema)
    base = rows_of(folder, [merged.base], pa.schema(list(schema)[:-1]))
    if not changes.num_rows:
        return base
    return total(pa.concat_tables([signed(base, 1).cast(schema), changes])).drop_columns([SIGN])


def rows_of(folder: Path, parts: Iterable[Part], schema: Any) -> Any:
    """The rows of files of a version, with the names and types of a schema."""
    tables = [_read(folder / file, schema) for part in parts for file in part.files]
    return pa.concat_tables([schema.empty_table(), *tables])


def _read(file: Path, schema: Any) -> Any:
    try:
        with parquet.ParquetFile(file, coerce_int96_timestamp_unit="us") as opened:
            return cast_table(opened.read().rename_columns(schema.names), schema)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise PipelineError(f"{file} is corrupt: {error}") from None


def _write(table: Any, partition_by: Mapping[str, str], folder: Path) -> None:
    """Write a table as files, with folders named by the columns that `partition_by` maps to their names."""
    if not partition_by:
        parquet.write_table(table, folder / _NAME)
        return
    for name, column in partition_by.items():
        texts = table[column].cast(pa.string())
        table = table.append_column(name, pc.if_else(pc.equal(texts, ""), None, texts))
    parquet.write_to_dataset(table, folder, partition_cols=list(partition_by), max_partitions=1 << 20)
