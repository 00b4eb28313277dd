"""The layout of delimited text: the dialect and the column names of the header.

Spark only finds the files and splits them into lines. Records are parsed by the same code as in sessions
(`formats.records`). So Spark's CSV options have no effect, and options that would change the meaning of a
file are rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import SparkSession

from tidelog.errors import PipelineError
from tidelog.formats.assembly import Delimited
from tidelog.formats.records import CSV, MARK, TABS, cells_shown, first_record
from tidelog.pipeline.formats import format_of
from tidelog.pipeline.spec import Source
from tidelog.program.declared import Relation
from tidelog.tables.arrow import UNIT

__all__ = ["delimited", "file_options"]

_OURS: Final = frozenset("header sep delimiter encoding charset quote escape multiline linesep".split())


def file_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that tell Spark which files to read."""
    return {key: value for key, value in options.items() if key.lower() not in _OURS}


def delimited(place: str, spark: SparkSession, source: Source, relation: Relation) -> Delimited:
    """The layout by the first line of a file, or by the spec if there are no files; raises PipelineError."""
    given = {key.lower(): value for key, value in source.options.items()}
    header = given.get("header", str(format_of(source.format).header)).lower() == "true"
    dialect = CSV if source.format == "csv" else TABS
    if mark := given.get("sep", given.get("delimiter")):
        dialect = replace(dialect, delimiter="\t" if mark == "\\t" else mark)
    if not relation.columns and source.sign is None:
        return Delimited(dialect, (UNIT,), header=False)
    wanted = [source.columns.get(c.name, c.name) for c in relation.columns]
    wanted += [] if source.sign is None else [source.sign]
    line = _first_line(spark, source)
    if line is None:
        return Delimited(dialect, tuple(wanted), header)
    try:
        first, _ = first_record(line, dialect)
    except UnicodeDecodeError:
        raise PipelineError(f"{place}: the first line is not UTF-8; convert the file to UTF-8") from None
    if header:
        _expect_named(place, wanted, first)
        return Delimited(dialect, tuple(first), header=True)
    if source.columns:
        return Delimited(dialect, tuple(f"_c{i}" for i in range(len(first))), header=False)
    if len(first) != len(wanted):
        problem = f"the source has {len(first)} columns and no header; the relation has {', '.join(wanted)}"
        raise PipelineError(f"{place}: {problem}; map _c0, _c1, … with columns = {{ … }}")
    return Delimited(dialect, tuple(wanted), header=False)


def _first_line(spark: SparkSession, source: Source) -> bytes | None:
    """The first line of any file of the source."""
    reader: Any = spark.read.format("text").options(**file_options(source.options), lineSep="\n")
    lines = reader.load(list(source.paths)).where("_metadata.file_block_start = 0")
    found = lines.selectExpr("cast(value as binary) as value").limit(1).collect()
    return bytes(found[0][0]).removeprefix(MARK) + b"\n" if found else None


def _expect_named(place: str, wanted: list[str], found: list[str]) -> None:
    missing = [name for name in wanted if name not in found]
    if missing:
        problem = f"missing column {', '.join(missing)}; the first line has {cells_shown(found)}"
        raise PipelineError(
            f'{place}: {problem}; map names with columns = {{ OURS = "THEIRS" }}, '
            "or set options = { header = false } for files without a header"
        )
    twice = sorted({name for name in wanted if found.count(name) > 1})
    if twice:
        raise PipelineError(
            f"{place}: duplicate column {', '.join(twice)} in the header; rename the duplicates"
        )
