"""Checkpoints: frames that are evaluated, counted and persisted.

A plan that grows with every round would soon take longer to optimise than to run. So the results of a round
are *checkpointed*: evaluated at once and persisted (see `persistence`), with their size and their
partitioning. Checkpoints belong to a commit and are released when it ends, except those that readers may
have.

All work is done in a session of Tidelog's own; `runtime.sessions` moves rows there from users, and back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.data.types import Type
from tidelog.engine.spark.frames.arrow import publisher
from tidelog.engine.spark.frames.layout import PROBLEM, arrow_schema, columns, ddl
from tidelog.engine.spark.frames.persistence import Holding, holding
from tidelog.engine.spark.frames.release import release
from tidelog.engine.spark.runtime.failures import failures_told
from tidelog.engine.spark.runtime.job_names import JobNames
from tidelog.engine.spark.runtime.sessions import Sessions, shuffle_partitions
from tidelog.errors import EngineError
from tidelog.tables.casting import cast_table

__all__ = ["BROADCAST", "Checkpoint", "Checkpoints", "Held", "looked_up", "smaller", "union"]

Key = TypeVar("Key", bound=Hashable)

BROADCAST: Final = 200_000  # rows up to which one side of a join is broadcast instead of shuffling both
_HASHED: Final = 4_000_000  # rows up to which one side of a join is hashed; more are sorted, and may spill

_JOB: Final = 0.1  # seconds to evaluate a frame, whatever its size
_ROW: Final = 1e-6  # seconds for each of its rows

SMALL: Final = 20_000  # rows up to which the driver is faster than tasks


@dataclass(slots=True, eq=False)
class Held:
    """A frame with the blocks or files of its rows; `is_shared` says that readers may have it.

    A frame that only combines others has no blocks or files of its own, and depends on theirs.
    """

    frame: DataFrame
    is_shared: bool = False
    rests_on: tuple[Held, ...] = ()

    @property
    def depth(self) -> int:
        """How many times frames were combined to make this one."""
        return 1 + max((held.depth for held in self.rests_on), default=-1)

    def share(self) -> None:
        """Record that readers may have it from now on."""
        for held in self.all():
            held.is_shared = True

    def all(self) -> Iterator[Held]:
        """This frame and all that it depends on."""
        yield self
        for held in self.rests_on:
            yield from held.all()


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """An evaluated frame, or columns or rows of one; `size` is its number of rows."""

    frame: DataFrame
    size: int
    held: Held
    is_part: bool = False

    @property
    def small(self) -> DataFrame:
        """The frame as the smaller side of a join: broadcast, if it is small."""
        return smaller(self.frame, self.size)

    def with_columns(self, frame: DataFrame) -> Checkpoint:
        """The same rows with other columns."""
        return Checkpoint(frame, self.size, self.held, self.is_part)

    def part(self, condition: str, size: int, expressions: Sequence[str]) -> Checkpoint:
        """The rows that satisfy a condition, with these columns; `size` is their known number."""
        return Checkpoint(self.frame.where(condition).selectExpr(*expressions), size, self.held, is_part=True)


class Checkpoints:
    """Makes and releases the checkpoints of a session; the session `spark` does the work.

    Frames have as many partitions as the session's shuffles. Up to `small` rows are evaluated and aggregated
    in the driver, which calls `check` periodically; an exception from it ends the work. `jobs_run` counts
    what Spark was asked to compute.
    """

    def __init__(self, spark: SparkSession, small: int = SMALL, held: Holding | None = None) -> None:
        self.holding = held or holding(spark)
        self.sessions = Sessions(spark)
        self.spark = self.sessions.own
        self.publish = publisher(spark)
        self.jobs = JobNames(spark)
        self.partitions = shuffle_partitions(spark)
        self.small = small
        self.check: Callable[[], None] = lambda: None
        self.scratch = self.holding.scratch()
        self.jobs_run = 0
        self._cost = 0.0
        self._held: dict[int, Held] = {}
        self._empty: dict[str, Checkpoint] = {}

    def cost(self) -> float:
        """The estimated seconds of all evaluations so far, if no other work interferes."""
        return self._cost

    def make(self, frame: DataFrame) -> Checkpoint:
        """Evaluate and persist a frame."""
        return self.asked(frame)[0]

    def asked(self, frame: DataFrame, *questions: str) -> tuple[Checkpoint, list[Any]]:
        """Evaluate and persist a frame, and compute aggregates over its rows, given in SQL, on the way."""
        held = self._hold(frame)
        size, *answers = self.collect(held.frame.selectExpr("count(1)", *questions))[0]
        self._cost += _JOB + size * _ROW
        return Checkpoint(held.frame, size, held), answers

    def told(self, frame: DataFrame, column: str) -> tuple[Checkpoint, list[Any]]:
        """Evaluate and persist a frame, and collect the values in a column. Its size is not computed."""
        held = self._hold(frame)
        rows = self.collect(held.frame.where(F.col(column).isNotNull()).select(column))
        return Checkpoint(held.frame, 0, held), [row[0] for row in rows]

    def collect(self, frame: DataFrame) -> list[Any]:
        """The rows of a frame."""
        self.jobs_run += 1
        return frame.collect()

    def arrow(self, frame: DataFrame) -> Any:
        """The rows of a frame as an Arrow table."""
        self.jobs_run += 1
        return frame.toArrow()

    def _hold(self, frame: DataFrame) -> Held:
        """A persisted frame; the first action on its rows evaluates it, if that is still to be done."""
        held = Held(self.holding.hold(frame))
        self.jobs_run += self.holding.is_eager
        self._held[id(held)] = held
        return held

    def combined(self, frame: DataFrame, size: int, *checkpoints: Checkpoint) -> Checkpoint:
        """A frame of `size` rows that combines checkpoints; evaluated whenever it is read."""
        return Checkpoint(
            frame, size, Held(frame, rests_on=tuple(checkpoint.held for checkpoint in checkpoints))
        )

    def shared(self, frame: DataFrame) -> Checkpoint:
        """Evaluate a frame for a reader, in any thread; it belongs to the reader."""
        held = Held(self.holding.hold(frame), is_shared=True)
        return Checkpoint(held.frame, held.frame.count(), held)

    def checked(self, frame: DataFrame) -> Checkpoint:
        """Evaluate a frame whose tasks may report problems; EngineError if one does."""
        checkpoint, (problem,) = self.asked(frame, f"first({PROBLEM}, true)")
        if problem is not None:
            raise EngineError(problem)
        return checkpoint.with_columns(checkpoint.frame.drop(PROBLEM))

    def checked_rows(self, table: Any) -> Checkpoint:
        """Rows computed in the driver, with a column of problems; EngineError if there is one.

        They are persisted when they are first read.
        """
        problems = table.column(PROBLEM).drop_null()
        if len(problems):
            raise EngineError(problems[0].as_py())
        held = self._hold(self.sessions.made(table.drop_columns([PROBLEM])))
        self._cost += _JOB + table.num_rows * _ROW
        return Checkpoint(held.frame, table.num_rows, held)

    def rows(self, table: Any) -> Checkpoint:
        """Rows in the driver. They are persisted when they are first read."""
        held = self._hold(self.sessions.made(table))
        return Checkpoint(held.frame, table.num_rows, held)

    def read(self, frames: Mapping[Key, DataFrame]) -> dict[Key, Checkpoint]:
        """Evaluate and persist frames with columns of problems, in one job; EngineError if there is one."""
        held = {key: self._hold(frame) for key, frame in frames.items()}
        asked = ("count(1) as size", f"first({PROBLEM}, true) as problem")
        counts = [
            one.frame.selectExpr(f"{number} as number", PROBLEM).groupBy("number").agg(*map(F.expr, asked))
            for number, one in enumerate(held.values())
        ]
        found = {row["number"]: row for row in (self.collect(union(counts)) if counts else ())}
        problem = next((row["problem"] for row in found.values() if row["problem"] is not None), None)
        if problem is not None:
            raise EngineError(problem)
        return {
            key: Checkpoint(one.frame.drop(PROBLEM), found[number]["size"] if number in found else 0, one)
            for number, (key, one) in enumerate(held.items())
        }

    def notes(self, frames: Sequence[DataFrame]) -> list[Any]:
        """What tasks note as JSON while frames are evaluated, in one job; EngineError for a problem."""
        notes = [json.loads(row[0]) for row in self.collect(union(frames))] if frames else []
        problem = next((note["problem"] for note in notes if "problem" in note), None)
        if problem is not None:
            raise EngineError(problem)
        return notes

    def empty(self, schema: str) -> Checkpoint:
        """A frame without rows; `schema` is Spark's."""
        if schema not in self._empty:
            frame = self.sessions.made([], schema)
            self._empty[schema] = Checkpoint(frame, 0, Held(frame, is_shared=True))
        return self._empty[schema]

    def nothing(self, types: Sequence[Type]) -> Checkpoint:
        return self.empty(ddl(types))

    def table(self, types: Sequence[Type], table: Any) -> Checkpoint:
        """The distinct rows of an Arrow table, in the layout of frames."""
        if not table.num_rows:
            return self.nothing(types)
        fields = [f.with_nullable(True) for f in arrow_schema(types)]
        frame = self.sessions.made(cast_table(table.rename_columns(columns(len(types))), pa.schema(fields)))
        return self.make(self.distinct(frame, types))

    @contextmanager
    def taken(self, frame: DataFrame) -> Iterator[DataFrame]:
        """A user's frame, evaluated once in its session, for use in Tidelog's session inside this block."""
        if not self.sessions.are_two:
            yield frame
            return
        held = self.holding.hold(frame, eager=True)
        try:
            yield self.sessions.inward(held)
        finally:
            release(held)

    def distinct(self, frame: DataFrame, types: Sequence[Type]) -> DataFrame:
        """The distinct rows of a frame, partitioned by all their columns."""
        names = columns(len(types))
        return frame.repartition(self.partitions, *names).select(*names).distinct()

    def drop(self, *checkpoints: Checkpoint) -> None:
        """Release checkpoints that nothing depends on any more; mere parts of frames are not released."""
        for checkpoint in checkpoints:
            held = None if checkpoint.is_part else self._held.pop(id(checkpoint.held), None)
            if held is not None and not held.is_shared:
                release(held.frame)

    def held(self) -> list[Checkpoint]:
        """All current checkpoints, without their sizes."""
        return [Checkpoint(held.frame, 0, held) for held in list(self._held.values())]

    def release(self, kept: Sequence[Checkpoint]) -> None:
        """Release all checkpoints except these and the shared ones, which Java's garbage collector frees."""
        staying = {id(held) for checkpoint in kept for held in checkpoint.held.all()}
        for key, held in list(self._held.items()):
            if key not in staying:
                del self._held[key]
                if not held.is_shared:
                    release(held.frame)

    @contextmanager
    def working(self, name: str = "Tidelog") -> Iterator[None]:
        """Inside this block, Spark's jobs have this name, and its errors become EngineError."""
        with self.jobs.named(name), failures_told("complete a job"):
            yield


def looked_up(frame: DataFrame, size: int) -> DataFrame:
    """A frame as the hashed or, if large, sorted side of a join; both sides are partitioned alike."""
    return frame.hint("shuffle_hash" if size <= _HASHED else "merge")


def smaller(frame: DataFrame, size: int) -> DataFrame:
    """A frame as the smaller side of a join: broadcast, if it is small."""
    return F.broadcast(frame) if size <= BROADCAST else looked_up(frame, size)


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """The union of frames with the same layout."""
    return reduce(DataFrame.unionByName, frames)
