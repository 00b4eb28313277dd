"""Sources as DataFrames of checked rows.

Text formats are read as text and checked by what reads facts anywhere else in Tidelog (`store.checking`), so
that a value means in a pipeline what it means in a session; typed formats are read by Spark, and their values
made to fit. Each row carries its place: the file, and its number in it, counted from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import StringType, StructType

from tidelog.engine.spark.publish import signed
from tidelog.errors import PipelineError
from tidelog.pipeline.failures import naming
from tidelog.pipeline.spec import Source
from tidelog.program.typed import Relation
from tidelog.store.arrow import schema
from tidelog.store.checking import CORRUPT, PROBLEM, RAW, Form, Layout, check_batches
from tidelog.store.segments import SIGN

__all__ = [
    "BAD",
    "BadRow",
    "Raw",
    "bad_rows",
    "checked",
    "collected",
    "good_rows",
    "in_batch",
    "read_raw",
    "spark_schema",
]

BAD: Final = ["file", "row", "problem", "raw"]
_FILE: Final = "#file"
_BLOCK: Final = "#block"
_ROW: Final = "#row"
_FORMS: Final = {"csv": Form.CELLS, "json": Form.JSON, "text": Form.TEXT, "ntriples": Form.TRIPLES}
_WITH_PLACES: Final = ("csv", "json", "text", "ntriples", "parquet", "orc", "avro")
_LINES: Final = (Form.JSON, Form.TEXT, Form.TRIPLES)


@dataclass(frozen=True, slots=True)
class Raw:
    """A source as it is, and how its rows become the relation's; `place` is what messages call it."""

    place: str
    frame: DataFrame
    layout: Layout


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that does not fit: the source's file, if it has files, and the row's number there."""

    source: str
    file: str | None
    row: int | None
    problem: str
    raw: str

    def __str__(self) -> str:
        shown = None if self.file is None else self.file.removeprefix("file://").removeprefix("file:")
        place = f"{self.source}: {shown}, row {self.row}" if shown else self.source
        return f"{place}: {self.problem}" + ("" if shown else f": {self.raw}")


# -- reading


def read_raw(
    spark: SparkSession,
    source: Source,
    relation: Relation,
    *,
    stream: bool = False,
    only: Sequence[str] = (),
) -> Raw:
    """A source, as Spark reads it, or `only` some of its files, as it reads them with all others."""
    place = f"{'streams' if stream else 'sources'}.{relation.name}"
    with naming(place):
        form = _form(source)
        reader: Any = spark.readStream if stream else spark.read
        part = replace(source, paths=tuple(only)) if only else source
        if source.table is not None:
            frame = reader.options(**source.options).table(source.table)
        elif form in _LINES:
            frame = _load(reader.format("text").options(**source.options), part)
        elif form is Form.CELLS:
            frame = _load(_cells(spark, reader, source, relation), part)
        else:
            frame = _load(_values(spark, reader, source, infers=not stream and not only), part)
        return Raw(place, *_arranged(place, source, relation, form, frame, stream=stream))


def in_batch(raw: Raw, batch: DataFrame) -> Raw:
    """A batch of a stream: only there can rows be numbered."""
    numbered = batch.withColumn(_ROW, sf.monotonically_increasing_id()) if raw.layout.carried else batch
    return replace(raw, frame=numbered)


def _form(source: Source) -> Form:
    if source.options.get("multiLine", "").lower() == "true" and source.format == "json":
        return Form.VALUES  # a document, not lines: Spark takes it apart
    return _FORMS.get(source.format, Form.VALUES) if source.table is None else Form.VALUES


def _load(reader: Any, source: Source) -> DataFrame:
    """Streams read one path, as a text; others any number, as a list."""
    streams = type(reader).__name__ == "DataStreamReader"
    paths = [source.paths[0] if streams else list(source.paths)] if source.paths else []
    frame: DataFrame = reader.load(*paths)
    return frame


def _cells(spark: SparkSession, reader: Any, source: Source, relation: Relation) -> Any:
    """A reader of all cells as text, with the record itself where it has too many or too few."""
    options = {"header": "true", **source.options}
    names = _header(spark, source, options) or _expected(source, relation)
    texts = StructType()
    for name in (*names, CORRUPT):
        texts = texts.add(name, StringType())
    # a column that nobody asks for is checked too, or records of the wrong length would pass
    ours = {"enforceSchema": "false", "columnNameOfCorruptRecord": CORRUPT, "columnPruning": "false"}
    return reader.format("csv").schema(texts).options(**{**options, **ours, "mode": "PERMISSIVE"})


def _header(spark: SparkSession, source: Source, options: dict[str, str]) -> list[str]:
    """The names of the columns, if there is a file to look into."""
    if all(Path(p).is_dir() and not any(Path(p).iterdir()) for p in source.paths):
        return []
    return list(_load(spark.read.format("csv").options(**options), source).columns)


def _expected(source: Source, relation: Relation) -> list[str]:
    names = [source.columns.get(c.name, c.name) for c in relation.columns]
    return [*names, source.sign] if source.sign is not None else names


def _values(spark: SparkSession, reader: Any, source: Source, *, infers: bool) -> Any:
    """A reader of typed values: it finds out their types itself, or has those of the whole source."""
    made = reader.format(source.format).options(**source.options)
    if source.paths and not infers:
        made = made.schema(_load(spark.read.format(source.format).options(**source.options), source).schema)
    return made


def _arranged(
    place: str, source: Source, relation: Relation, form: Form, frame: DataFrame, *, stream: bool
) -> tuple[DataFrame, Layout]:
    """Only the columns that are asked for, and where each row is."""
    kept = [sf.col(CORRUPT)] if CORRUPT in frame.columns else []
    names = ("value",) if form in _LINES else _names(place, source, relation, form, frame)
    sign = None if source.sign is None or form in _LINES else sf.col(f"`{source.sign}`").cast("string")
    if sign is not None:
        _expect(place, [source.sign or ""], frame)
        kept.append(sign.alias(source.sign or ""))
    has_places = source.format in _WITH_PLACES and source.table is None
    if has_places:
        file, block = sf.col("_metadata.file_path"), sf.col("_metadata.file_block_start")
        kept += [file.alias(_FILE), block.alias(_BLOCK)]
        kept += [] if stream else [sf.monotonically_increasing_id().alias(_ROW)]
    arranged = frame.select(*(sf.col(f"`{n}`") for n in dict.fromkeys(names)), *kept)
    wanted = tuple(source.columns.get(c.name, c.name) for c in relation.columns)
    read = wanted if form is Form.JSON else names
    carried = (_FILE, _BLOCK, _ROW) if has_places else ()
    return arranged, Layout(relation, form, read, source.sign, carried)


def _names(place: str, source: Source, relation: Relation, form: Form, frame: DataFrame) -> tuple[str, ...]:
    if form is Form.CELLS and source.options.get("header", "true").lower() == "false" and not source.columns:
        given = [n for n in frame.columns if n != CORRUPT]
        if len(given) != len(relation.columns):
            listed = ", ".join(c.name for c in relation.columns)
            problem = f"the source has {len(given)} columns and no header; the relation has {listed}"
            raise PipelineError(f"{place}: {problem}; name them by columns = {{ … }}, as _c0, _c1, …")
        return tuple(given)
    wanted = [source.columns.get(c.name, c.name) for c in relation.columns]
    _expect(place, wanted, frame)
    return tuple(wanted)


def _expect(place: str, wanted: list[str], frame: DataFrame) -> None:
    given = [n for n in frame.columns if n != CORRUPT]
    missing = [n for n in wanted if n not in given]
    if missing:
        problem = f"the source has no column {', '.join(missing)}; it has {', '.join(given)}"
        raise PipelineError(f'{place}: {problem}; write columns = {{ OURS = "THEIRS" }}')


# -- checking


def spark_schema(relation: Relation, *, sign: bool = False) -> Any:
    """The Arrow schema of a relation in DataFrames: types that Spark has, and every column may be null."""
    fields = [field.with_nullable(True) for field in signed(schema(relation))]
    return pa.schema([*fields, *([pa.field(SIGN, pa.int8())] if sign else [])])


def checked(raw: Raw) -> DataFrame:
    """The rows of a source as the relation's, each with what is wrong with it."""
    target = _target(raw)
    return raw.frame.mapInArrow(partial(check_batches, raw.layout, target), from_arrow_schema(target))


def collected(raw: Raw) -> tuple[Any, Any]:
    """The good rows of a small source, and the bad ones, as Arrow tables: one job, in no other process."""
    target = _target(raw)
    whole = raw.frame.toArrow()
    batches = check_batches(raw.layout, target, iter(whole.to_batches()))
    table = pa.Table.from_batches(batches, target)
    is_good = table[PROBLEM].is_null()
    names = spark_schema(raw.layout.relation, sign=raw.layout.sign is not None).names
    good = table.filter(is_good).select(names)
    bad = table.filter(pc.invert(is_good))
    nowhere = [pa.nulls(len(bad), pa.string()), pa.nulls(len(bad), pa.int64())]
    places = _places(bad, whole) if raw.layout.carried else nowhere
    return good, pa.table([*places, bad[PROBLEM], bad[RAW]], BAD)


def _places(bad: Any, whole: Any) -> list[Any]:
    """The file of each bad row and its number there; `whole` are all rows."""
    counts = whole.group_by([_FILE, _BLOCK]).aggregate([(_ROW, "min"), (_ROW, "count")])
    starts: dict[tuple[str, int], int] = {}
    before: dict[str, int] = {}
    for block in counts.sort_by([(_FILE, "ascending"), (_BLOCK, "ascending")]).to_pylist():
        file = block[_FILE]
        starts[file, block[_BLOCK]] = before.get(file, 0) - block[f"{_ROW}_min"] + 1
        before[file] = before.get(file, 0) + block[f"{_ROW}_count"]
    found = bad.select([_FILE, _BLOCK, _ROW]).to_pylist()
    numbers = [starts[row[_FILE], row[_BLOCK]] + row[_ROW] for row in found]
    return [bad[_FILE], pa.array(numbers, pa.int64())]


def _target(raw: Raw) -> Any:
    layout = raw.layout
    target = spark_schema(layout.relation, sign=layout.sign is not None)
    for name in (PROBLEM, RAW):
        target = target.append(pa.field(name, pa.string()))
    for name in layout.carried:
        target = target.append(pa.field(name, to_arrow_type(raw.frame.schema[name].dataType)))
    return target


def good_rows(frame: DataFrame, relation: Relation) -> DataFrame:
    names = spark_schema(relation).names
    return frame.where(sf.col(f"`{PROBLEM}`").isNull()).select(*(sf.col(f"`{n}`") for n in names))


def bad_rows(raw: Raw, frame: DataFrame) -> DataFrame:
    """The bad rows of a checked source, with the columns `BAD`."""
    bad = frame.where(sf.col(f"`{PROBLEM}`").isNotNull())
    text = [sf.col(f"`{PROBLEM}`").alias("problem"), sf.col(f"`{RAW}`").alias("raw")]
    if not raw.layout.carried:
        nowhere = [sf.lit(None).cast("string").alias("file"), sf.lit(None).cast("bigint").alias("row")]
        return bad.select(*nowhere, *text)
    starts = _starts(raw.frame)
    return bad.join(sf.broadcast(starts), [_FILE, _BLOCK]).select(
        sf.col(f"`{_FILE}`").alias("file"),
        (sf.col(f"`{_ROW}`") - sf.col("first") + sf.col("before") + 1).alias("row"),
        *text,
    )


def _starts(frame: DataFrame) -> DataFrame:
    """For each block of each file: the number that Spark gave its first row, and the rows before it."""
    blocks = frame.groupBy(_FILE, _BLOCK).agg(
        sf.min(f"`{_ROW}`").alias("first"), sf.count(sf.lit(1)).alias("count")
    )
    earlier = blocks.select(
        sf.col(f"`{_FILE}`").alias("same"),
        sf.col(f"`{_BLOCK}`").alias("start"),
        sf.col("count").alias("rows"),
    )
    is_before = (sf.col("same") == sf.col(f"`{_FILE}`")) & (sf.col("start") < sf.col(f"`{_BLOCK}`"))
    return (
        blocks.join(earlier, is_before, "left")
        .groupBy(_FILE, _BLOCK, "first")
        .agg(sf.coalesce(sf.sum("rows"), sf.lit(0)).alias("before"))
    )
