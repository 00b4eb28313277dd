"""Takes the new rows of a table that cannot say what changed, by a column that only grows: its watermark.

The highest value that was read is in the manifest. The next run reads the rows from that value on, including
those that have it: rows that were written later with the same value are not lost, and those that are known
change nothing. Without a key, such rows are added; with a key, they replace the rows of their keys. Deletions
leave no trace in such a table, so they are not seen until all rows are read again and compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tidelog.errors import PipelineError
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.sources.fingerprints import digest
from tidelog.pipeline.sources.prints import read_print, to_text
from tidelog.pipeline.sources.reading import Raw, read_raw, spark_schema
from tidelog.pipeline.sources.sequencing import expect_one, newest_rows, replaced
from tidelog.pipeline.sources.taking import Taking
from tidelog.program.declared import Relation
from tidelog.store.sidecars import SEQUENCE
from tidelog.tables.given import to_table

__all__ = ["ByWatermark"]

_MARK: Final = f"{SEQUENCE}0"
_NUMBERS: Final = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)


@dataclass(frozen=True, slots=True)
class _Print:
    """What the manifest keeps: `described` is a digest of the spec, `last` the highest value, as text."""

    described: str
    last: str


class ByWatermark:
    def __init__(self, taking: Taking, progress: Callable[[str], object]) -> None:
        self._taking = taking
        self._progress = progress

    def take(self, source: Source, relation: Relation, *, reread: bool) -> None:
        """Take the rows since the last commit; with `reread`, compare all rows."""
        assert source.watermark is not None, "a source without a watermark is read otherwise"
        described = digest(source, relation)
        before = None if reread else read_print(_Print, self._taking.before(relation), described)
        ordered = replace(source, sequence={source.watermark: ""})
        self._progress(f"reading {relation.name}")
        if before is None or not before.last:
            last = self._whole(ordered, relation)
        else:
            last = self._newer(ordered, relation, before.last)
        self._taking.found.sidecars[relation.name] = {}
        self._taking.found.prints[relation.name] = to_text(_Print(described, last))

    def _newer(self, source: Source, relation: Relation, last: str) -> str:
        """Take the rows from a value on; the highest value."""
        raw = self._read(source, relation, last)
        good = self._taking.small_rows(source, raw)
        names = spark_schema(relation).names
        rows = (
            newest_rows(raw.place, source, relation, good)
            if source.key
            else to_table(relation, good.select(names))
        )
        inserted, deleted = replaced(self._taking.store, relation, source.key or names, rows)
        self._taking.report(relation, inserted, deleted)
        return _text(pc.max(good[_MARK]).as_py()) or last

    def _whole(self, source: Source, relation: Relation) -> str:
        """Take the differences of all rows; the highest value."""
        raw = self._read(source, relation, "")
        names = [sf.col(f"`{name}`") for name in spark_schema(relation).names]
        with self._taking.checked(source, raw) as frame:
            last = frame.agg(sf.max(f"`{_MARK}`")).toArrow().column(0)[0].as_py()
            rows = (
                self._last_of_keys(raw.place, source, frame).select(*names)
                if source.key
                else frame.select(*names)
            )
            self._taking.report(relation, *self._taking.large_difference(relation, rows))
        return _text(last)

    def _last_of_keys(self, place: str, source: Source, frame: DataFrame) -> DataFrame:
        """The row of each key with the highest watermark. Raises PipelineError if there are two."""
        keys = [sf.col(f"`{name}`") for name in source.key]
        newest = Window.partitionBy(*keys).orderBy(sf.col(f"`{_MARK}`").desc())
        rows = frame.withColumn("#rank", sf.rank().over(newest)).where("`#rank` = 1").drop("#rank").distinct()
        twice = rows.groupBy(*keys).count().where("count > 1").limit(1).toArrow()
        expect_one(place, source, twice.select([*source.key]))
        return rows

    def _read(self, source: Source, relation: Relation, last: str) -> Raw:
        place = f"sources.{relation.name}"

        def since(frame: DataFrame) -> DataFrame:
            mark = str(source.watermark)
            if mark not in frame.columns:
                problem = f"missing column {mark}; the source has {', '.join(frame.columns)}"
                raise PipelineError(f"{place}.watermark: {problem}")
            value = _literal(place, mark, frame.schema[mark].dataType, last)
            column = sf.col(f"`{mark}`")
            return frame if not last else frame.where((column >= value) | column.isNull())

        return read_raw(self._taking.spark, source, relation, refine=since)


def _literal(place: str, mark: str, type_: st.DataType, last: str) -> Column:
    """A value of the watermark's type that databases can compare with. Raises PipelineError."""
    if isinstance(type_, _NUMBERS):
        return sf.lit(int(last or 0))
    if isinstance(type_, st.DecimalType):
        return sf.lit(Decimal(last or 0))
    if isinstance(type_, st.DateType):
        return sf.lit(date.fromisoformat(last or "1970-01-01"))
    if isinstance(type_, st.TimestampType):
        return sf.timestamp_micros(sf.lit(_micros(last)))
    if isinstance(type_, st.TimestampNTZType):
        return sf.lit(last or "1970-01-01 00:00:00").cast("timestamp_ntz")
    raise PipelineError(
        f"{place}.watermark: column {mark} has the type {type_.simpleString()}, whose order may be "
        "another one in the database; use a column of integers, decimals, dates or timestamps"
    )


def _micros(text: str) -> int:
    if not text:
        return 0
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001


def _text(value: Any) -> str:
    """A value as text: times are in UTC, with all their digits."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "microseconds")
    return value.isoformat() if isinstance(value, date) else str(value)
