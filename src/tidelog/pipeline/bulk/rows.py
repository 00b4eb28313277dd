"""Many rows, in a frame. Few rows are Arrow tables, which are faster.

A source, a difference or a change of a relation is a table or a `Bulk`, by the number of its rows alone. Both
have `num_rows`; `as_frame` and `as_table` make one of the other. Only `Frames` decides: it evaluates a frame
once, and collects it if it has at most `LARGE` rows. So the driver never has more of them at a time, however
many there are.

What was evaluated is held like the results of sessions (see `engine.spark.frames.persistence`): it is never
computed again from sources that may have changed in the meantime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.engine.spark.frames.arrow import signed
from tidelog.engine.spark.frames.persistence import holding
from tidelog.engine.spark.frames.release import release
from tidelog.engine.spark.runtime.sessions import from_table
from tidelog.pipeline.bulk.writing import write_pieces
from tidelog.store.distributed import Distributed, Piece
from tidelog.store.files import Files
from tidelog.tables.casting import cast_table
from tidelog.tables.signed import SIGN

__all__ = ["LARGE", "Bulk", "Frames", "as_frame", "as_table", "is_large", "quoted", "with_sign"]

LARGE: Final = 500_000  # rows up to which the driver holds them as a table


def is_large(rows: int) -> bool:
    """Whether so many rows stay in frames."""
    return rows > LARGE


def quoted(names: Sequence[str]) -> list[Any]:
    """Columns by their names, whatever these are."""
    return [sf.col(f"`{name.replace('`', '``')}`") for name in names]


class Bulk(Distributed):
    """Rows in a frame; `schema` is that of the same rows in a table, whose types Spark may lack.

    Of signed rows, `inserted` is the number of those that are inserted.
    """

    def __init__(self, frame: DataFrame, num_rows: int, schema: Any, inserted: int = 0) -> None:
        self.frame = frame
        self.num_rows = num_rows
        self.schema = schema
        self.inserted = inserted

    def write(self, files: Files, stem: str) -> list[Piece]:
        return write_pieces(self.frame, self.num_rows, self.schema, files, stem)


def as_frame(spark: SparkSession, rows: Any) -> DataFrame:
    """The rows of a table or of a frame, as a frame."""
    if isinstance(rows, Bulk):
        return rows.frame
    return from_table(spark, cast_table(rows, signed(rows.schema)))


def as_table(rows: Any) -> Any:
    """The same as a table, for rows that are known to be few."""
    return cast_table(rows.frame.toArrow(), rows.schema) if isinstance(rows, Bulk) else rows


class Frames:
    """Evaluates frames, and holds them until `release`."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._held: list[DataFrame] = []

    def hold(self, frame: DataFrame) -> DataFrame:
        """The same rows, evaluated once."""
        held = holding(self.spark).hold(frame)
        self._held.append(held)
        return held

    def release(self, *frames: DataFrame) -> None:
        """Release these frames, or without arguments all that are held."""
        for frame in frames or tuple(self._held):
            self._held = [held for held in self._held if held is not frame]
            release(frame)

    def rows(self, frame: DataFrame, schema: Any) -> Any:
        """The rows of a frame, in the columns of a table's schema: as a table if they are few."""
        held = self.hold(frame.select(*quoted(schema.names)))
        count = held.count()
        if is_large(count):
            return Bulk(held, count, schema)
        table = cast_table(held.toArrow(), schema)
        self.release(held)
        return table

    def parts(self, held: DataFrame, schema: Any, **conditions: str) -> dict[str, Any]:
        """The rows of a held frame that satisfy each of some conditions in SQL, in the columns of a schema.

        They are tables if they are few together.
        """
        counts = held.selectExpr(*(f"count_if({condition})" for condition in conditions.values())).collect()[
            0
        ]
        chosen = {n: held.where(c).select(*quoted(schema.names)) for n, c in conditions.items()}
        if is_large(sum(counts)):
            made = zip(chosen.items(), counts, strict=True)
            return {name: Bulk(part, count, schema) for (name, part), count in made}
        return {name: cast_table(part.toArrow(), schema) for name, part in chosen.items()}


def with_sign(frame: DataFrame, sign: int) -> DataFrame:
    """The rows, each with the same sign."""
    return frame.withColumn(SIGN, sf.lit(sign).cast("tinyint"))
