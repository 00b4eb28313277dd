"""Whole recursions in tasks: each partition is worked out from its seeds by a local engine of its own.

The seeds of all relations of the unit travel in one frame: a number that says whose a row is, the columns of
every relation side by side, and the value that the recursion passes through, by which they are partitioned.
What else the rules read is sent along with the task. Nothing is kept between commits: a commit that reaches
such a unit works it out anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.data.types import Type
from tidelog.engine.local.codec import Codes
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.run import Limits, Run
from tidelog.engine.spark.cuts import Cut, Cuts, union
from tidelog.engine.spark.layout import (
    PROBLEM,
    arrow_schema,
    columns,
    ddl,
    decode,
    encode,
    spark_type,
    stored,
    whole,
)
from tidelog.errors import TidelogError
from tidelog.plan.flat import FlatProgram, FlatRule, Stored, Unit
from tidelog.program.typed import Function, PythonFunction

__all__ = ["Inputs", "fixpoint"]

_WHICH: Final = "which"


@dataclass(frozen=True, slots=True)
class Inputs:
    """A unit with its recursive rules, and what they read: frames from below, functions."""

    unit: Unit
    rules: tuple[FlatRule, ...]
    types: Mapping[str, tuple[Type, ...]]
    read: Mapping[str, DataFrame]
    functions: Mapping[str, Function | PythonFunction]
    limits: Limits


def fixpoint(
    inputs: Inputs,
    seeds: Mapping[str, Sequence[DataFrame]],
    through: Mapping[str, int] | None,
    cuts: Cuts,
) -> dict[str, Cut]:
    """The tuples of the unit's relations, with ranks and counts that mean nothing."""
    names = sorted(seeds)
    tagged = [
        _tagged(frame, number, None if through is None else through[name])
        for number, name in enumerate(names)
        for frame in seeds[name]
    ]
    if not tagged:
        return {name: cuts.empty(f"{ddl(inputs.types[name])}, rank int, count bigint") for name in names}
    task = _Task(names, inputs, {n: _shipped(f, inputs.types[n]) for n, f in inputs.read.items()})
    rows = _side_by_side(tagged, task)
    rows = rows.repartition(cuts.partitions, "part") if through is not None else rows.repartition(1)
    wide = rows.select(_WHICH, *task.wide_names)
    made = cuts.checked(wide.mapInArrow(task.run, f"{_WHICH} int, {task.wide_ddl}, {PROBLEM} string"))
    if len(names) == 1:
        return {names[0]: made.with_columns(_part(made.frame, 0, inputs.types[names[0]]))}
    return {
        name: cuts.cut(_part(made.frame, number, inputs.types[name])) for number, name in enumerate(names)
    }


def _tagged(frame: DataFrame, number: int, key: int | None) -> DataFrame:
    part = F.lit(0).cast("bigint") if key is None else F.xxhash64(f"c{key}")
    renamed = [F.col(c).alias(f"r{number}{c}") for c in frame.columns]
    return frame.select(F.lit(number).alias(_WHICH), part.alias("part"), *renamed)


def _side_by_side(frames: Sequence[DataFrame], task: _Task) -> DataFrame:
    """Frames of different relations as one, with nulls in the columns of the others."""
    wide = [
        frame.select(_WHICH, "part", *(_column(frame, name, type_) for name, type_ in task.wide))
        for frame in frames
    ]
    return union(wide)


def _column(frame: DataFrame, name: str, type_: str) -> Any:
    return F.col(name) if name in frame.columns else F.lit(None).cast(type_).alias(name)


def _part(frame: DataFrame, number: int, types: Sequence[Type]) -> DataFrame:
    own = [F.col(f"r{number}{c}").alias(c) for c in columns(len(types))]
    rank, count = F.lit(0).alias("rank"), F.lit(1).cast("bigint").alias("count")
    return frame.where(F.col(_WHICH) == number).select(*own, rank, count)


def _shipped(frame: DataFrame, types: Sequence[Type]) -> bytes:
    """The rows of a frame, as they are sent along with a task."""
    table = frame.select(*columns(len(types))).toArrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    shipped: bytes = sink.getvalue().to_pybytes()
    return shipped


class _Task:
    """What runs in every task; it is sent to executors, so it holds nothing of Spark."""

    def __init__(self, names: Sequence[str], inputs: Inputs, shipped: Mapping[str, bytes]) -> None:
        self.names = tuple(names)
        self.types = inputs.types
        self.shipped = shipped
        self.limits = inputs.limits
        self.wide = [
            (f"r{number}{c.name}", spark_type(c.type))
            for number, name in enumerate(names)
            for c in stored(inputs.types[name]).columns
        ]
        below = [Unit(frozenset([name]), (), False) for name in sorted(shipped)]
        self.program = FlatProgram(
            {name: Stored(name, types) for name, types in inputs.types.items()},
            {rule.id: rule for rule in inputs.rules},
            functions=inputs.functions,
            units=(*below, replace(inputs.unit, rules=inputs.rules)),
        )

    @property
    def wide_names(self) -> list[str]:
        return [name for name, _ in self.wide]

    @property
    def wide_ddl(self) -> str:
        return ", ".join(f"{name} {type_}" for name, type_ in self.wide)

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        table = whole(batches, [_WHICH, *self.wide_names])
        if table is None:
            return
        try:
            yield from self._tuples(table)
        except TidelogError as error:  # told, not raised: trying again would not help
            yield from self._row(-1, {}, 1, str(error)).to_batches()

    def _tuples(self, seeds: Any) -> Iterator[Any]:
        engine = LocalEngine()
        engine.prepare(self.program)
        which = seeds.column(_WHICH).to_numpy()
        for number, name in enumerate(self.names):
            names = columns(len(self.types[name]))
            rows = seeds.filter(pa.array(which == number)).select([f"r{number}{c}" for c in names])
            self._assert(engine, name, rows.rename_columns(names))
        for name, shipped in self.shipped.items():
            self._assert(engine, name, pa.ipc.open_stream(shipped).read_all())
        Run(engine, "recompute").commit(FlatProgram(), self.program, self.limits)
        engine.commit()
        for number, name in enumerate(self.names):
            table = decode(engine.codec, self.types[name], engine.rows(name).T)
            made = {f"r{number}{c}": table.column(c) for c in table.column_names}
            yield from self._row(number, made, table.num_rows, None).to_batches()

    def _assert(self, engine: LocalEngine, name: str, rows: Any) -> None:
        if rows.num_rows:
            codes = np.ascontiguousarray(encode(engine.codec, self.types[name], rows).T)
            nothing: Codes = np.empty((0, codes.shape[1]), np.int64)
            engine.assert_rows(name, codes, nothing)

    def _row(self, number: int, made: Mapping[str, Any], size: int, problem: str | None) -> Any:
        """Tuples of one relation, or a problem, in the wide layout."""
        kinds = {
            f"r{i}{f.name}": f.type for i, n in enumerate(self.names) for f in arrow_schema(self.types[n])
        }
        filled = {name: made.get(name, pa.nulls(size, kinds[name])) for name in self.wide_names}
        which = pa.array(np.full(size, number, np.int32))
        return pa.table({_WHICH: which, **filled, PROBLEM: pa.array([problem] * size, pa.string())})
