"""SQL that reads a version of a merged folder, in DuckDB and in Spark SQL.

Only the changes are grouped. The base is compared with its rows that were deleted since, which are few.
Rows are compared by `is not distinct from`, which holds between two nulls, and between two NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidelog.pipeline.merged.layout import BASE, CHANGES, Merged
from tidelog.pipeline.spec import as_literal

__all__ = ["DIALECTS", "Dialect", "statement"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to quote a name, to read the Parquet files of a folder and below, and to compare two values."""

    quoted: Callable[[str], str]
    files: Callable[[str], str]
    equal: str


def _duckdb_files(folder: str) -> str:
    pattern = re.sub(r"[*?\[]", r"[\g<0>]", folder).replace("'", "''")
    return f"read_parquet('{pattern}/**/*.parquet', hive_partitioning = false)"


def _spark_files(folder: str) -> str:
    path = as_literal(f"file://{folder}").replace("`", "``")
    return f"parquet.`{path}`"


DIALECTS: Final[Mapping[str, Dialect]] = {
    "duckdb": Dialect(
        lambda name: '"' + name.replace('"', '""') + '"', _duckdb_files, "is not distinct from"
    ),
    "spark": Dialect(lambda name: "`" + name.replace("`", "``") + "`", _spark_files, "<=>"),
}


def statement(folder: Path, merged: Merged, dialect: Dialect) -> str:
    """A query for the rows of the version in a folder."""
    columns = [dialect.quoted(name) for name in merged.columns]
    sign, shown = dialect.quoted(merged.sign), ", ".join(columns)
    base = f"select {shown} from {dialect.files(f'{folder}/{BASE}')}"
    if not merged.changes:
        return base
    return "\n".join(
        [
            "with net as (",
            f"  select {shown}, sum({sign}) as {sign}",
            f"  from {dialect.files(f'{folder}/{CHANGES}')}",
            f"  group by {shown} having sum({sign}) <> 0",
            ")",
            f"select {_with('base', columns)} from ({base}) as base",
            f"anti join (select * from net where {sign} < 0) as deleted",
            f"on {_equal(columns, dialect)}",
            "union all",
            f"select {shown} from net where {sign} > 0",
        ]
    )


def _with(table: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{table}.{c}" for c in columns)


def _equal(columns: Sequence[str], dialect: Dialect) -> str:
    return "\n  and ".join(f"base.{c} {dialect.equal} deleted.{c}" for c in columns)
