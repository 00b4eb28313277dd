"""Computes results of groups in tasks: the rows of a group are brought together and aggregated locally."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.evaluator import Evaluator, Functions
from tidelog.engine.local.expressions.folds import Folds
from tidelog.engine.local.kernels.layout import INSTANCE
from tidelog.engine.local.rules import groups as local
from tidelog.engine.local.storage.table import Table
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints
from tidelog.engine.spark.frames.layout import PROBLEM, arrow_schema, columns, ddl, decode, encode, whole
from tidelog.errors import TidelogError
from tidelog.plan.flat import Grouping
from tidelog.program.folds import fold_of

__all__ = ["results"]


def results(
    grouping: Grouping,
    instances: DataFrame,
    most: int,
    given: Sequence[Type],
    made: Sequence[Type],
    checkpoints: Checkpoints,
    functions: Functions,
) -> Checkpoint:
    """A row for each group of the instances, with a rank and a count like any tuple.

    There are at most `most` instances.
    """
    functions = _used(grouping, functions)
    names = columns(len(given))
    if not most:
        return checkpoints.empty(_schema(made))
    if most <= checkpoints.small:
        found = checkpoints.arrow(instances.select(*names, "count"))
        return _here(grouping, found, given, made, checkpoints, functions)
    rows = checkpoints.make(instances.select(*names, "count"))
    if rows.size <= checkpoints.small:
        return _here(grouping, checkpoints.arrow(rows.frame), given, made, checkpoints, functions)
    keys = names[: grouping.keys]
    together = rows.frame.repartition(checkpoints.partitions, *keys) if keys else rows.frame.repartition(1)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        table = whole(batches, [*names, "count"])
        if table is not None:
            yield from _aggregated(grouping, table, given, made, functions).to_batches()

    return checkpoints.checked(together.mapInArrow(run, f"{_schema(made)}, {PROBLEM} string"))


def _used(grouping: Grouping, functions: Functions) -> Functions:
    """The functions that tasks need: none but for aggregates of the program, which may call any."""
    return dict(functions) if any(fold_of(a.function) for a in grouping.aggregates) else {}


def _schema(made: Sequence[Type]) -> str:
    return f"{ddl(made)}, rank bigint, count bigint"


def _here(
    grouping: Grouping,
    rows: Any,
    given: Sequence[Type],
    made: Sequence[Type],
    checkpoints: Checkpoints,
    functions: Functions,
) -> Checkpoint:
    """Aggregate few rows in the driver, because starting tasks would take longer."""
    if not rows.num_rows:
        return checkpoints.empty(_schema(made))
    return checkpoints.checked_rows(_aggregated(grouping, rows, given, made, functions, checkpoints.check))


def _aggregated(
    grouping: Grouping,
    rows: Any,
    given: Sequence[Type],
    made: Sequence[Type],
    functions: Functions,
    check: Callable[[], None] = lambda: None,
) -> Any:
    codec = Codec()
    instances = Table(len(given))
    try:
        numbers = instances.add(np.ascontiguousarray(encode(codec, given, rows).T))
        instances.set_support(numbers, 0, INSTANCE * rows.column("count").to_numpy())
        folds = Folds(Evaluator(codec, functions, check=check), check)
        table = decode(codec, made, local.results(grouping, instances, numbers, folds, check).T)
        problem = None
    except TidelogError as error:  # reported, not raised: a retry would not help
        table, problem = pa.table({f.name: pa.nulls(1, f.type) for f in arrow_schema(made)}), str(error)
    size = table.num_rows
    table = table.append_column("rank", pa.array(np.zeros(size, np.int64)))
    table = table.append_column("count", pa.array(np.ones(size, np.int64)))
    return table.append_column(PROBLEM, pa.array([problem] * size, pa.string()))
