"""Reads sources as DataFrames of checked rows.

Text formats are read as lines of bytes and checked by the same code as everywhere in Tidelog
(`formats.checking`), so that a file has the same meaning in a pipeline and in a session. Typed formats are
read by Spark, and their values are converted. Each row carries its location: the file and the row number,
from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from tidelog.engine.spark.frames.arrow import signed
from tidelog.errors import PipelineError
from tidelog.formats.assembly import LINE, Delimited
from tidelog.formats.checking import PROBLEM, RAW, Form, Layout, check_batches
from tidelog.formats.envelopes import DELETED, INSERTED, OP
from tidelog.pipeline.failures import naming
from tidelog.pipeline.formats import format_of
from tidelog.pipeline.sources.delimited import delimited, file_options
from tidelog.pipeline.sources.events import (
    as_lines,
    as_texts,
    event_names,
    event_relation,
    opened,
    wanted_in_rows,
)
from tidelog.pipeline.spec import Source, as_literal
from tidelog.program.declared import Relation
from tidelog.tables.arrow import schema
from tidelog.tables.signed import SIGN

__all__ = [
    "BAD",
    "BadRow",
    "Files",
    "Raw",
    "bad_rows",
    "checked",
    "collected",
    "good_rows",
    "in_batch",
    "in_blocks",
    "in_whole_files",
    "read_raw",
    "shown_file",
    "spark_schema",
]

BAD: Final = ["file", "row", "problem", "raw"]
_FILE: Final = "#file"
_BLOCK: Final = "#block"
_ROW: Final = "#row"
# how lines of the other formats are parsed; those of delimited ones are cells
_FORMS: Final = {"json": Form.JSON, "text": Form.TEXT, "ntriples": Form.TRIPLES}
_OPERATIONS: Final = {INSERTED: 1, DELETED: -1}
_LINES: Final = (Form.CELLS, Form.JSON, Form.TEXT, Form.TRIPLES)


@dataclass(frozen=True, slots=True)
class Raw:
    """An unchecked source and the layout of its rows; `place` is its name in messages."""

    place: str
    frame: DataFrame
    layout: Layout


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a source to read, by their qualified paths.

    `is_all` says that the source has no others, `is_apart` that the file of each row is wanted. `folders` are
    the columns of the source whose values are in the names of folders.
    """

    paths: tuple[str, ...]
    is_all: bool
    is_apart: bool
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that doesn't match the schema, with its file, if any, and its number there.

    Rows whose folder has a bad name have no number, and their text is not kept.
    """

    source: str
    file: str | None
    row: int | None
    problem: str
    raw: str | None

    def __str__(self) -> str:
        if self.file is None:
            return f"{self.source}: {self.problem}: {self.raw}"
        row = "" if self.row is None else f", row {self.row}"
        return f"{self.source}: {shown_file(self.file)}{row}: {self.problem}"


def shown_file(file: str) -> str:
    """A file as shown in messages."""
    return file.removeprefix("file://").removeprefix("file:")


# -- reading


def read_raw(
    spark: SparkSession,
    source: Source,
    relation: Relation,
    *,
    stream: bool = False,
    files: Files | None = None,
    refine: Callable[[DataFrame], DataFrame] = lambda frame: frame,
) -> Raw:
    """Read a source by Spark; with `files`, just these, with the schema of the whole source."""
    place = f"{'streams' if stream else 'sources'}.{relation.name}"
    with naming(place):
        form = _form(source)
        reader: Any = spark.readStream if stream else spark.read
        part = source if files is None else replace(source, paths=tuple(map(as_literal, files.paths)))
        folders = frozenset() if files is None else _in_folders(source, relation, files)
        inner = replace(relation, columns=tuple(c for c in relation.columns if c.name not in folders))
        layout = delimited(place, spark, source, inner) if form is Form.CELLS else None
        if source.frame is not None:
            frame = source.frame
        elif source.table is not None:
            frame = reader.options(**source.options).table(source.table)
        elif form in _LINES:
            frame = _load(reader.format("text").options(**_line_options(form, source)), part)
            frame = frame.withColumn(LINE, sf.col(LINE).cast("binary"))  # raw bytes, valid UTF-8 or not
        else:
            infers = not stream and (files is None or files.is_all)
            frame = _load(_values(spark, reader, source, infers=infers), part)
        frame = refine(frame)
        lines = as_lines(source, frame) if form is Form.VALUES else None
        if lines is not None:
            form, frame = Form.JSON, lines
        elif form is Form.VALUES:
            frame = as_texts(source, relation, frame)
        frame, arranged = _arranged(place, source, inner, form, frame, layout, stream=stream)
        names = tuple(source.columns.get(c.name, c.name) for c in relation.columns)
        columns = (*relation.columns, *arranged.relation.columns[len(inner.columns) :])
        if not folders:
            columns = arranged.relation.columns
        arranged = replace(
            arranged,
            relation=replace(arranged.relation, columns=columns),
            names=(*names, *event_names(source)),
            folders=folders,
        )
        return Raw(place, frame, replace(arranged, has_files=files is not None and files.is_apart))


def _in_folders(source: Source, relation: Relation, files: Files) -> frozenset[str]:
    """The columns of the relation whose values are in the names of folders."""
    names = {c.name for c in relation.columns if source.columns.get(c.name, c.name) in files.folders}
    if names and len(names) == len(relation.columns):
        raise PipelineError(
            f"sources.{relation.name}: all columns are in the names of folders; "
            "the relation needs at least one column of the files"
        )
    return frozenset(names)


def _line_options(form: Form, source: Source) -> dict[str, str]:
    """Lines end at LF, as in sessions, and the format handles a CR; Spark splits lines of `text` itself."""
    if form is Form.TEXT:
        return dict(source.options)
    return {**file_options(source.options), "lineSep": "\n"}


def in_batch(raw: Raw, batch: DataFrame) -> Raw:
    """A batch of a stream, with numbered rows: streams cannot number theirs."""
    numbered = batch.withColumn(_ROW, sf.monotonically_increasing_id()) if raw.layout.carried else batch
    return replace(raw, frame=numbered)


def _form(source: Source) -> Form:
    if source.options.get("multiLine", "").lower() == "true" and source.format == "json":
        return Form.VALUES  # a document, not lines: Spark parses it
    known = format_of(source.format)
    if source.table is not None or not known.is_lines:
        return Form.VALUES
    return Form.CELLS if known.is_delimited else _FORMS[known.name]


def _load(reader: Any, source: Source) -> DataFrame:
    """Load the paths: streams take one path as a string, others a list of any length."""
    streams = type(reader).__name__ == "DataStreamReader"
    paths = [source.paths[0] if streams else list(source.paths)] if source.paths else []
    frame: DataFrame = reader.load(*paths)
    return frame


def _values(spark: SparkSession, reader: Any, source: Source, *, infers: bool) -> Any:
    """A reader of typed values: it infers the schema, or uses that of the whole source."""
    made = reader.format(source.format).options(**source.options)
    if source.paths and not infers:
        found = spark.read.format(source.format).options(**source.options)
        if format_of(source.format).is_apart:
            found = found.option("recursiveFileLookup", "true")  # without columns of folders
        made = made.schema(_load(found, source).schema)
    return made


def _arranged(
    place: str,
    source: Source,
    relation: Relation,
    form: Form,
    frame: DataFrame,
    delimited: Delimited | None,
    *,
    stream: bool,
) -> tuple[DataFrame, Layout]:
    """Select the needed columns and the location of each row."""
    events = event_relation(place, source, relation, form, frame)
    wanted = tuple(source.columns.get(c.name, c.name) for c in relation.columns)
    sign = OP if source.envelope is not None else source.sign
    if form is Form.VALUES and source.envelope is not None:
        frame = opened(place, source, frame, list(dict.fromkeys(wanted)))
    wanted = (*wanted, *event_names(source))
    kept = [sf.col(LINE)]
    beside = tuple(name for name in frame.columns if name.startswith("kafka.")) if form is Form.JSON else ()
    kept += [sf.col(f"`{name}`") for name in beside]
    if form is Form.VALUES:
        signs = () if sign is None else (sign,)
        expect_columns(place, [*wanted, *signs], frame.columns)
        kept = [sf.col(f"`{n}`") for n in dict.fromkeys(wanted) if n not in signs]
        kept += [sf.col(f"`{n}`").cast("string").alias(n) for n in signs]
    has_places = format_of(source.format).has_places and source.table is None and source.envelope is None
    has_places = has_places or (form in _LINES and format_of(source.format).is_lines)
    if has_places:
        file, block = sf.col("_metadata.file_path"), sf.col("_metadata.file_block_start")
        kept += [file.alias(_FILE), block.alias(_BLOCK)]
        kept += [] if stream else [sf.monotonically_increasing_id().alias(_ROW)]
    carried = (_FILE, _BLOCK, _ROW) if has_places else ()
    layout = Layout(events, form, wanted, sign, carried, delimited)
    if source.sign_map or source.envelope is not None:
        layout = replace(layout, signs=source.sign_map or _OPERATIONS)
    return frame.select(*kept), replace(
        layout,
        envelope=source.envelope is not None and form is Form.JSON,
        sequence=tuple(source.sequence),
        beside=beside,
        wanted=wanted_in_rows(relation, events),
    )


def expect_columns(place: str, wanted: Sequence[str], there: Sequence[str]) -> None:
    """Raise PipelineError if the source lacks a column."""
    missing = [n for n in wanted if n not in there]
    if missing:
        problem = f"missing column {', '.join(missing)}; the source has {', '.join(there)}"
        raise PipelineError(f'{place}: {problem}; map names with columns = {{ OURS = "THEIRS" }}')


# -- checking


def spark_schema(relation: Relation, *, sign: bool = False) -> Any:
    """The Arrow schema of a relation in DataFrames: types of Spark, all columns nullable."""
    fields = [field.with_nullable(True) for field in signed(schema(relation))]
    return pa.schema([*fields, *([pa.field(SIGN, pa.int8())] if sign else [])])


def in_blocks(raw: Raw) -> Raw:
    """The same source, with files that tasks may split."""
    delimited = raw.layout.delimited
    if delimited is None:
        return raw
    parts = replace(delimited, has_whole_files=False)
    return replace(raw, layout=replace(raw.layout, delimited=parts))


def in_whole_files(raw: Raw) -> Raw:
    """The same source, with each file read by one task."""
    assert raw.layout.delimited is not None, "only records of delimited text can span lines"
    whole = replace(raw.layout.delimited, has_whole_files=True)
    frame = raw.frame.repartition(_FILE).sortWithinPartitions(_FILE, _BLOCK, _ROW)
    return Raw(raw.place, frame, replace(raw.layout, delimited=whole))


def checked(raw: Raw) -> DataFrame:
    """The rows of a source, converted to the relation, each with its problem if any."""
    target = _target(raw)
    return raw.frame.mapInArrow(partial(check_batches, raw.layout, target), from_arrow_schema(target))


def collected(raw: Raw, *, forgives_deletions: bool = False) -> tuple[Any, Any]:
    """The good and the bad rows of a small source, as Arrow tables: one job, checked in this process.

    With `forgives_deletions`, bad rows that are deleted are left out: as bad rows, they never were inserted.
    """
    target = _target(raw)
    whole = raw.frame.toArrow()
    parts = _in_order(whole) if raw.layout.form is Form.CELLS else whole
    batches = check_batches(raw.layout, target, iter(parts.to_batches()))
    table = pa.Table.from_batches(batches, target)
    is_good = table[PROBLEM].is_null()
    good = table.filter(is_good).select(_wanted(raw.layout))
    bad = table.filter(pc.invert(is_good))
    if forgives_deletions:
        bad = bad.filter(pc.not_equal(pc.fill_null(bad[SIGN], 0), -1))
    nowhere = [pa.nulls(len(bad), pa.string()), pa.nulls(len(bad), pa.int64())]
    places = _places(bad, whole, _headers(raw)) if raw.layout.carried else nowhere
    return good, pa.table([*places, bad[PROBLEM], bad[RAW]], BAD)


def _wanted(layout: Layout) -> list[str]:
    """The columns of good rows."""
    names: list[str] = spark_schema(layout.relation, sign=layout.sign is not None).names
    return [*names, _FILE] if layout.has_files else names


def _blocks(whole: Any) -> list[dict[str, Any]]:
    """The blocks of all files, in order: Spark's number of the first row, and the number of rows."""
    counts = whole.group_by([_FILE, _BLOCK]).aggregate([(_ROW, "min"), (_ROW, "count")])
    blocks: list[dict[str, Any]] = counts.sort_by([(_FILE, "ascending"), (_BLOCK, "ascending")]).to_pylist()
    return blocks


def _in_order(whole: Any) -> Any:
    """The rows, with the blocks of each file in order; Spark's row numbers are increasing."""
    numbers = whole[_ROW].to_numpy()
    blocks = _blocks(whole)
    starts = np.searchsorted(numbers, [block[f"{_ROW}_min"] for block in blocks])
    slices = [whole.slice(start, b[f"{_ROW}_count"]) for start, b in zip(starts, blocks, strict=True)]
    return pa.concat_tables([whole.slice(0, 0), *slices])


def _places(bad: Any, whole: Any, headers: int) -> list[Any]:
    """The file and row number of each bad row; `whole` are all rows, `headers` lines are not counted."""
    starts: dict[tuple[str, int], int] = {}
    before: dict[str, int] = {}
    for block in _blocks(whole):
        file = block[_FILE]
        starts[file, block[_BLOCK]] = before.get(file, 0) - block[f"{_ROW}_min"] + 1
        before[file] = before.get(file, 0) + block[f"{_ROW}_count"]
    found = bad.select([_FILE, _BLOCK, _ROW]).to_pylist()
    numbers = [
        None if row[_ROW] is None else starts[row[_FILE], row[_BLOCK]] + row[_ROW] - headers for row in found
    ]
    return [bad[_FILE], pa.array(numbers, pa.int64())]


def _headers(raw: Raw) -> int:
    """The number of header lines in a file."""
    return 1 if raw.layout.delimited is not None and raw.layout.delimited.header else 0


def _target(raw: Raw) -> Any:
    layout = raw.layout
    target = spark_schema(layout.relation, sign=layout.sign is not None)
    for name in (PROBLEM, RAW):
        target = target.append(pa.field(name, pa.string()))
    for name in layout.carried:
        target = target.append(pa.field(name, to_arrow_type(raw.frame.schema[name].dataType)))
    return target


def good_rows(frame: DataFrame, layout: Layout) -> DataFrame:
    names = _wanted(layout)
    return frame.where(sf.col(f"`{PROBLEM}`").isNull()).select(*(sf.col(f"`{n}`") for n in names))


def bad_rows(raw: Raw, frame: DataFrame) -> DataFrame:
    """The bad rows of a checked source, with the columns `BAD`."""
    bad = frame.where(sf.col(f"`{PROBLEM}`").isNotNull())
    text = [sf.col(f"`{PROBLEM}`").alias("problem"), sf.col(f"`{RAW}`").alias("raw")]
    if not raw.layout.carried:
        nowhere = [sf.lit(None).cast("string").alias("file"), sf.lit(None).cast("bigint").alias("row")]
        return bad.select(*nowhere, *text)
    starts = _starts(raw.frame)
    return bad.join(sf.broadcast(starts), [_FILE, _BLOCK], "left").select(
        sf.col(f"`{_FILE}`").alias("file"),
        (sf.col(f"`{_ROW}`") - sf.col("first") + sf.col("before") + 1 - _headers(raw)).alias("row"),
        *text,
    )


def _starts(frame: DataFrame) -> DataFrame:
    """For each block of each file: Spark's number of its first row, and the number of rows before it."""
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
