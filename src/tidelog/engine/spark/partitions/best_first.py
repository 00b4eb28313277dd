"""Begins a recursion that keeps the best value per key with the best of its seeds.

A value is sent on as soon as it is found, and with it goes what it led to when a better one arrives. If every
node of a graph begins with its own label, most nodes change theirs in every step. So a few of the best seeds
come first, until nothing follows from them; then somewhat more, and then the rest, of which most are no
better than what is there. The order of insertions affects the work, not the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, NumericType, StringType

from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints
from tidelog.engine.spark.partitions.rerouting import Copy
from tidelog.engine.spark.partitions.tasks import Given
from tidelog.plan.flat import Stratum

__all__ = ["best_first"]

_MANY: Final = 100_000  # seeds for which it pays
_SIMPLE: Final = NumericType, StringType, DateType  # Spark orders their values about as Tidelog does
_FIRST: Final = (4, 256)  # how many seeds come first, and second


def best_first(
    stratum: Stratum, given: Mapping[str, Given], copies: Sequence[Copy], checkpoints: Checkpoints
) -> list[dict[str, Given]]:
    """The input of a bootstrap in batches, the best seeds first."""
    best, batches = dict(stratum.best), [dict(given), *(dict[str, Given]() for _ in _FIRST)]
    for copy in copies:
        seeds = given[copy.name].inserted
        if copy.head in best and seeds is not None and seeds.size > _MANY:
            of = best[copy.head]
            if not isinstance(seeds.frame.schema[f"c{of.column}"].dataType, _SIMPLE):
                continue
            for batch, part in zip(batches, _parts(seeds, of.column, of.function, checkpoints), strict=True):
                batch[copy.name] = Given(part, None)
    return [batches[0], *(batch for batch in batches[1:] if batch)]


def _parts(seeds: Checkpoint, column: int, function: str, checkpoints: Checkpoints) -> list[Checkpoint]:
    """The rows in batches, by their values in a column."""
    value = F.col(f"c{column}")
    order = value.asc() if function == "min" else value.desc()
    rows = checkpoints.collect(seeds.frame.select(value).orderBy(order).limit(_FIRST[-1]))

    def within(number: int) -> Column:
        limit: Any = F.lit(rows[min(number, len(rows)) - 1][0])
        return F.coalesce(value <= limit if function == "min" else value >= limit, F.lit(False))

    inside = [within(number) for number in _FIRST]
    before = [F.lit(False), *inside]
    conditions = [now & ~then for now, then in zip([*inside, F.lit(True)], before, strict=True)]
    sizes = checkpoints.collect(seeds.frame.select(*(F.count_if(c) for c in conditions)))[0]
    return [
        Checkpoint(seeds.frame.where(condition), size, seeds.held, is_part=True)
        for condition, size in zip(conditions, sizes, strict=True)
    ]
