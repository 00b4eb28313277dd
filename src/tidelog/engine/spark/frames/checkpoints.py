"""Frames that are worked out, counted and held.

A plan that grows with every round would soon take longer to read than to run, so what a round finds is *cut*:
worked out at once and held (see `holding`), with its size and with how it is partitioned. Cuts belong to a
commit and are released when it is over, except those that readers may have.

All this is done in a session of our own; `crossing` says how rows get there from users, and back to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

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

__all__ = ["BROADCAST", "Checkpoint", "Checkpoints", "Held", "looked_up", "smaller", "union"]

BROADCAST: Final = 200_000  # rows up to which a frame is sent to every executor rather than both shuffled
_HASHED: Final = 4_000_000  # rows up to which a frame is looked up in by hash; more are sorted, and may spill

_JOB: Final = 0.1  # seconds that a frame takes to be worked out, whatever its size
_ROW: Final = 1e-6  # and for each of its rows

SMALL: Final = 20_000  # rows that are sooner worked out in the driver than sent to tasks


@dataclass(slots=True, eq=False)
class Held:
    """A frame, and with it the blocks or files of its rows; `is_shared` says that readers may have it.

    A frame that is only put together from others has none of its own, and rests on theirs.
    """

    frame: DataFrame
    is_shared: bool = False
    rests_on: tuple[Held, ...] = ()

    @property
    def depth(self) -> int:
        """How many times frames were put together to make this one."""
        return 1 + max((held.depth for held in self.rests_on), default=-1)

    def share(self) -> None:
        """Readers may have it from now on."""
        for held in self.all():
            held.is_shared = True

    def all(self) -> Iterator[Held]:
        """It and what it rests on."""
        yield self
        for held in self.rests_on:
            yield from held.all()


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A frame that was worked out, or columns or a part of one; `size` is its number of rows."""

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
        """Some of the rows, known to be so many, with these columns."""
        return Checkpoint(self.frame.where(condition).selectExpr(*expressions), size, self.held, is_part=True)


class Checkpoints:
    """Makes the cuts of a session, and releases them; `spark` is where work is done.

    Frames have as many partitions as the session's shuffles; up to `small` rows are evaluated and aggregated
    in the driver, where `check` is called now and then: what it raises ends the work.
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
        self._cost = 0.0
        self._held: dict[int, Held] = {}
        self._empty: dict[str, Checkpoint] = {}

    def cost(self) -> float:
        """About how many seconds all that was worked out takes, if nothing holds it up."""
        return self._cost

    def make(self, frame: DataFrame) -> Checkpoint:
        """Work a frame out and hold it."""
        return self.asked(frame)[0]

    def asked(self, frame: DataFrame, *questions: str) -> tuple[Checkpoint, list[Any]]:
        """Work a frame out and hold it; aggregates over its rows, in SQL, are answered on the way."""
        held = self._hold(frame)
        size, *answers = held.frame.selectExpr("count(1)", *questions).collect()[0]
        self._cost += _JOB + size * _ROW
        return Checkpoint(held.frame, size, held), answers

    def told(self, frame: DataFrame, column: str) -> tuple[Checkpoint, list[Any]]:
        """Work a frame out and hold it; what stands in a column comes along. Its size is not found out."""
        held = self._hold(frame)
        rows = held.frame.where(F.col(column).isNotNull()).select(column).collect()
        return Checkpoint(held.frame, 0, held), [row[0] for row in rows]

    def _hold(self, frame: DataFrame) -> Held:
        """A frame to be held; whatever asks for its rows first works it out, if nothing has yet."""
        held = Held(self.holding.hold(frame))
        self._held[id(held)] = held
        return held

    def combined(self, frame: DataFrame, size: int, *checkpoints: Checkpoint) -> Checkpoint:
        """A frame put together from cuts, of so many rows; worked out whenever it is read."""
        return Checkpoint(
            frame, size, Held(frame, rests_on=tuple(checkpoint.held for checkpoint in checkpoints))
        )

    def shared(self, frame: DataFrame) -> Checkpoint:
        """Work a frame out for a reader, in whatever thread; it is the reader's to keep."""
        held = Held(self.holding.hold(frame), is_shared=True)
        return Checkpoint(held.frame, held.frame.count(), held)

    def checked(self, frame: DataFrame) -> Checkpoint:
        """Work a frame out whose tasks may tell of problems; EngineError if one does."""
        checkpoint, (problem,) = self.asked(frame, f"first({PROBLEM}, true)")
        if problem is not None:
            raise EngineError(problem)
        return checkpoint.with_columns(checkpoint.frame.drop(PROBLEM))

    def empty(self, schema: str) -> Checkpoint:
        """A frame without rows; `schema` is Spark's."""
        if schema not in self._empty:
            frame = self.sessions.made([], schema)
            self._empty[schema] = Checkpoint(frame, 0, Held(frame, is_shared=True))
        return self._empty[schema]

    def nothing(self, types: Sequence[Type]) -> Checkpoint:
        return self.empty(ddl(types))

    def table(self, types: Sequence[Type], table: Any) -> Checkpoint:
        """Rows of Arrow, in the layout of frames, each once."""
        if not table.num_rows:
            return self.nothing(types)
        fields = [f.with_nullable(True) for f in arrow_schema(types)]
        frame = self.sessions.made(table.rename_columns(columns(len(types))).cast(pa.schema(fields)))
        return self.make(self.distinct(frame, types))

    @contextmanager
    def taken(self, frame: DataFrame) -> Iterator[DataFrame]:
        """A user's frame, evaluated once in its session, for use in ours inside this block."""
        if not self.sessions.are_two:
            yield frame
            return
        held = self.holding.hold(frame, eager=True)
        try:
            yield self.sessions.inward(held)
        finally:
            release(held)

    def distinct(self, frame: DataFrame, types: Sequence[Type]) -> DataFrame:
        """The rows of a frame, each once, partitioned by all their columns."""
        names = columns(len(types))
        return frame.repartition(self.partitions, *names).select(*names).distinct()

    def drop(self, *checkpoints: Checkpoint) -> None:
        """Release cuts that nothing is made from any more; what others are parts of too stays."""
        for checkpoint in checkpoints:
            held = None if checkpoint.is_part else self._held.pop(id(checkpoint.held), None)
            if held is not None and not held.is_shared:
                release(held.frame)

    def held(self) -> list[Checkpoint]:
        """All cuts that are held now; their sizes do not matter."""
        return [Checkpoint(held.frame, 0, held) for held in list(self._held.values())]

    def release(self, kept: Sequence[Checkpoint]) -> None:
        """Release all cuts but these and the shared ones, which Java's collector sees to."""
        staying = {id(held) for checkpoint in kept for held in checkpoint.held.all()}
        for key, held in list(self._held.items()):
            if key not in staying:
                del self._held[key]
                if not held.is_shared:
                    release(held.frame)

    @contextmanager
    def working(self, name: str = "Tidelog") -> Iterator[None]:
        """Jobs of Spark have this name, and its own errors are told as ours."""
        with self.jobs.named(name), failures_told("do the work"):
            yield


def looked_up(frame: DataFrame, size: int) -> DataFrame:
    """A frame as the side of a join that is looked up in, where it is: the other is partitioned alike."""
    return frame.hint("shuffle_hash" if size <= _HASHED else "merge")


def smaller(frame: DataFrame, size: int) -> DataFrame:
    """A frame as the smaller side of a join: sent to every executor, if it is small."""
    return F.broadcast(frame) if size <= BROADCAST else looked_up(frame, size)


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """Frames of one layout, one after the other."""
    return reduce(DataFrame.unionByName, frames)
