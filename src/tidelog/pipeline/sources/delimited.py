"""How a source of delimited text is laid out: its dialect, and what its header names.

Spark only finds the files and cuts them into lines; what a record is, and what it means, is decided where
sessions decide it (`store.records`). So Spark's own options of CSV have no effect here, and those that would
change what a file means are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import SparkSession

from tidelog.errors import PipelineError
from tidelog.formats.assembly import Delimited
from tidelog.formats.records import CSV, MARK, TABS, cells_shown, first_record
from tidelog.pipeline.spec import Source
from tidelog.program.typed import Relation
from tidelog.tables.arrow import UNIT

__all__ = ["delimited", "file_options"]

_OURS: Final = frozenset("header sep delimiter encoding charset quote escape multiline linesep".split())


def file_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that say which files to read, for Spark."""
    return {key: value for key, value in options.items() if key.lower() not in _OURS}


def delimited(place: str, spark: SparkSession, source: Source, relation: Relation) -> Delimited:
    """What the first line of a file says, or the description if there is no file yet; or PipelineError."""
    given = {key.lower(): value for key, value in source.options.items()}
    is_csv = source.format == "csv"
    header = given.get("header", "true" if is_csv else "false").lower() == "true"
    dialect = CSV if is_csv else TABS
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
        raise PipelineError(f"{place}: the first line is not UTF-8; save the file in that encoding") from None
    if header:
        _expect_named(place, wanted, first)
        return Delimited(dialect, tuple(first), header=True)
    if source.columns:
        return Delimited(dialect, tuple(f"_c{i}" for i in range(len(first))), header=False)
    if len(first) != len(wanted):
        problem = f"the source has {len(first)} columns and no header; the relation has {', '.join(wanted)}"
        raise PipelineError(f"{place}: {problem}; name them by columns = {{ … }}, as _c0, _c1, …")
    return Delimited(dialect, tuple(wanted), header=False)


def _first_line(spark: SparkSession, source: Source) -> bytes | None:
    """The first line of some file."""
    reader: Any = spark.read.format("text").options(**file_options(source.options), lineSep="\n")
    lines = reader.load(list(source.paths)).where("_metadata.file_block_start = 0")
    found = lines.selectExpr("cast(value as binary) as value").limit(1).collect()
    return bytes(found[0][0]).removeprefix(MARK) + b"\n" if found else None


def _expect_named(place: str, wanted: list[str], found: list[str]) -> None:
    missing = [name for name in wanted if name not in found]
    if missing:
        problem = f"the source has no column {', '.join(missing)}; its first line has {cells_shown(found)}"
        raise PipelineError(
            f'{place}: {problem}; write columns = {{ OURS = "THEIRS" }}, '
            "or options = { header = false } for files without a header"
        )
    twice = sorted({name for name in wanted if found.count(name) > 1})
    if twice:
        raise PipelineError(f"{place}: the header names {', '.join(twice)} more than once; name each once")
