"""Change events as rows: the relation's columns, a sign, and the values by which events are ordered.

Events come as plain rows with a column for their operation, or in envelopes, which are opened here if their
rows are structs; those of JSON are opened line by line (`formats.envelopes`). All are checked like other
rows, by a relation with more columns. Of a deleted row only its key is needed: databases often write no more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tidelog.data import types
from tidelog.data.types import Type, present
from tidelog.errors import PipelineError
from tidelog.formats.assembly import LINE
from tidelog.formats.checking import Form
from tidelog.formats.envelopes import (
    AFTER,
    BEFORE,
    DELETED,
    INSERTED,
    OP,
    WRONG,
    missing,
    problem_of,
)
from tidelog.pipeline.source_spec import Source
from tidelog.program.declared import Column, Relation
from tidelog.store.sidecars import SEQUENCE

__all__ = [
    "as_lines",
    "as_texts",
    "event_names",
    "event_relation",
    "opened",
    "sequence_names",
    "wanted_in_rows",
]

_TYPES: Final[dict[str, Type]] = {
    "int": types.INT,
    "string": types.STRING,
    "timestamp": types.TIMESTAMP,
    "date": types.DATE,
    "double": types.DOUBLE,
}
_FOUND: Final[dict[type[st.DataType], Type]] = {
    st.ByteType: types.INT,
    st.ShortType: types.INT,
    st.IntegerType: types.INT,
    st.LongType: types.INT,
    st.StringType: types.STRING,
    st.TimestampType: types.TIMESTAMP,
    st.TimestampNTZType: types.TIMESTAMP,
    st.DateType: types.DATE,
    st.FloatType: types.DOUBLE,
    st.DoubleType: types.DOUBLE,
}
_PARTS: Final = (BEFORE, AFTER)


def sequence_names(source: Source) -> list[str]:
    """The names of the columns by which events are ordered, in checked rows."""
    return [f"{SEQUENCE}{i}" for i in range(len(source.sequence))]


def event_relation(place: str, source: Source, relation: Relation, form: Form, frame: DataFrame) -> Relation:
    """The relation by which the events of a source are checked."""
    columns = [_relaxed(source, form, column) for column in relation.columns]
    for name, (field, given) in zip(sequence_names(source), source.sequence.items(), strict=True):
        columns.append(Column(name, _type(place, relation, form, frame, field, given)))
    return replace(relation, columns=tuple(columns), key=None, row=None)


def event_names(source: Source) -> list[str]:
    """The columns of the source for the additional columns of the relation."""
    return sequence_names(source) if source.envelope is not None else list(source.sequence)


def wanted_in_rows(relation: Relation, events: Relation) -> frozenset[str]:
    """The columns that may be missing in deleted rows only."""
    pairs = zip(relation.columns, events.columns, strict=False)
    return frozenset(column.name for column, relaxed in pairs if column.type != relaxed.type)


def _relaxed(source: Source, form: Form, column: Column) -> Column:
    has_deletions = source.sign is not None or source.envelope is not None
    if not has_deletions or not source.key or column.name in source.key:
        return column
    if isinstance(column.type, types.Option):
        return column
    if form is Form.CELLS and isinstance(column.type, types.String | types.Bytes):
        return column  # an empty cell is an empty text
    return Column(column.name, types.Option(column.type))


def _type(place: str, relation: Relation, form: Form, frame: DataFrame, field: str, given: str) -> Type:
    """The type of a column that orders events: as declared, or as the source has it, or an integer."""
    if given:
        return _TYPES[given]
    declared = {c.name: c.type for c in relation.columns}
    if field in declared:
        return present(declared[field])
    if form is not Form.VALUES:
        return types.INT
    found = frame.select(_field(frame, field)).schema[0].dataType
    type_ = _FOUND.get(type(found))
    if isinstance(found, st.DecimalType):
        type_ = types.Decimal(found.precision, found.scale)
    if type_ is None:
        raise PipelineError(
            f"{place}.sequence: column {field} has the type {found.simpleString()}, which has no order here; "
            "use a number, a text or a time"
        )
    return type_


def _field(frame: DataFrame, name: str) -> SparkColumn:
    """A column, or a field of one: `source.lsn`."""
    if name in frame.columns or "." not in name:
        return sf.col(f"`{name}`")
    return sf.col(".".join(f"`{part}`" for part in name.split(".")))


# -- envelopes


def as_lines(source: Source, frame: DataFrame) -> DataFrame | None:
    """Events as lines of JSON, if that is what the source has: values of Kafka, or rows written as texts."""
    if source.format == "kafka":
        if source.value is None and source.envelope is None:
            return None
        known = [name for name in ("offset", "partition", "timestamp") if name in frame.columns]
        beside = [sf.col(name).alias(f"kafka.{name}") for name in known]
        return frame.where("value is not null").select(sf.col("value").alias(LINE), *beside)
    if source.envelope is None or not all(name in frame.columns for name in _PARTS):
        return None
    if not any(isinstance(frame.schema[name].dataType, st.StringType) for name in _PARTS):
        return None
    line = sf.to_json(sf.struct(*(sf.col(f"`{name}`") for name in frame.columns)))
    is_event = sf.coalesce(*(sf.col(n).cast("string") for n in ("op", *_PARTS) if n in frame.columns))
    return frame.where(is_event.isNotNull()).select(line.cast("binary").alias(LINE))


def as_texts(source: Source, relation: Relation, frame: DataFrame) -> DataFrame:
    """Keys and values of Kafka as texts, unless the relation's column has bytes."""
    for name in ("key", "value") if source.format == "kafka" else ():
        types_ = [present(c.type) for c in relation.columns if source.columns.get(c.name, c.name) == name]
        if types_ and not isinstance(types_[0], types.Bytes):
            frame = frame.withColumn(name, sf.col(name).cast("string"))
    return frame


def opened(place: str, source: Source, frame: DataFrame, wanted: list[str]) -> DataFrame:
    """The events in envelopes whose rows are structs: the wanted columns, the sequence and the operation."""
    lacking = [name for name in ("op", *_PARTS) if name not in frame.columns]
    if lacking:
        raise PipelineError(
            f"{place}.envelope: missing column {', '.join(lacking)} of Debezium's envelope; "
            f"the source has {', '.join(frame.columns)}"
        )
    order = [
        _field(frame, field).alias(name)
        for name, field in zip(sequence_names(source), source.sequence, strict=True)
    ]
    op, before, after = (sf.col(name) for name in ("op", *_PARTS))
    lost = _event(place, frame, BEFORE, wanted, order, DELETED)
    gained = _event(place, frame, AFTER, wanted, order, INSERTED)
    is_lost = op.isin("d") | (op.isin("u") & (before.isNotNull() | sf.lit(not source.key)))
    reasons = sf.lit(None).cast("string")
    for known in ("t",):
        reasons = sf.when(op == known, sf.lit(WRONG + problem_of(known))).otherwise(reasons)
    other = sf.concat(sf.lit(f"{WRONG}the operation is "), sf.coalesce(op, sf.lit("missing")))
    wrong = _nothing(frame, wanted, order, sf.coalesce(reasons, other))
    is_wrong = ~sf.coalesce(op.isin("c", "r", "u", "d", "m"), sf.lit(False)) & ~(
        op.isNull() & before.isNull() & after.isNull()
    )
    events = sf.array(
        sf.when(is_lost, lost), sf.when(op.isin("c", "r", "u"), gained), sf.when(is_wrong, wrong)
    )
    kept = sf.filter(events, lambda event: event.isNotNull())
    return frame.select(sf.explode(kept).alias("event")).select("event.*")


def _event(
    place: str, frame: DataFrame, part: str, wanted: list[str], order: list[SparkColumn], sign: str
) -> SparkColumn:
    fields = frame.schema[part].dataType
    if not isinstance(fields, st.StructType):
        raise PipelineError(f"{place}.envelope: column {part} is no row but {fields.simpleString()}")
    absent = [name for name in wanted if name not in fields.fieldNames()]
    if absent:
        raise PipelineError(
            f"{place}: missing column {', '.join(absent)} in {part}; it has {', '.join(fields.fieldNames())}"
        )
    columns = [sf.col(f"{part}.`{name}`").alias(name) for name in wanted]
    said = sf.when(sf.col(part).isNull(), sf.lit(WRONG + missing(part))).otherwise(sf.lit(sign))
    return sf.struct(*columns, *order, said.alias(OP))


def _nothing(
    frame: DataFrame, wanted: list[str], order: list[SparkColumn], reason: SparkColumn
) -> SparkColumn:
    fields: Any = frame.schema[AFTER].dataType
    columns = [sf.lit(None).cast(fields[name].dataType).alias(name) for name in wanted]
    return sf.struct(*columns, *order, reason.alias(OP))
