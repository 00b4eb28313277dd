"""Differences of many rows, and how often a source has each of them: what `ledger` does, in frames.

Rows are matched by grouping the union of both sides, since groups take a missing value to equal another one.
Each question takes one exchange of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tidelog.pipeline.bulk.rows import Bulk, Frames, as_frame, quoted
from tidelog.pipeline.sources.ledger import Inconsistent
from tidelog.program.declared import Relation
from tidelog.store.sidecars import COUNT, COUNTS, FILE, FILES, Dead, SidecarChange
from tidelog.tables.arrow import schema
from tidelog.tables.signed import SIGN

__all__ = ["BulkSettling", "counts_schema", "difference", "files_schema", "settled_whole", "settling"]

_BEFORE: Final = "#before"
_NEW: Final = "#new"
_LOST: Final = f"`{COUNT}` < 0 and `{_BEFORE}` + `{COUNT}`"
_GAINED: Final = f"`{COUNT}` > 0 and `{_BEFORE}` = 0"
_DELETED: Final = f"{_LOST} = -1"


def counts_schema(relation: Relation) -> Any:
    """The columns of a sidecar of counts."""
    return schema(relation).append(pa.field(COUNT, pa.int64(), nullable=False))


def files_schema(relation: Relation) -> Any:
    """The columns of a sidecar of files."""
    return schema(relation).append(pa.field(FILE, pa.int64(), nullable=False))


def difference(frames: Frames, relation: Relation, old: DataFrame, new: DataFrame) -> tuple[Any, Any]:
    """The rows to insert and the rows to delete that turn one frame of a relation into the other."""
    names = schema(relation).names
    both = _with(new, names, SIGN, 1).unionByName(_with(old, names, SIGN, -1))
    sums = both.groupBy(*quoted(names)).agg(
        sf.min(f"`{SIGN}`").alias(SIGN), sf.max(f"`{SIGN}`").alias(_BEFORE)
    )
    held = frames.hold(sums.where(f"`{SIGN}` = `{_BEFORE}`"))
    found = frames.parts(held, schema(relation), inserted=f"`{SIGN}` > 0", deleted=f"`{SIGN}` < 0")
    if not isinstance(found["inserted"], Bulk):
        frames.release(held)
    return found["inserted"], found["deleted"]


def settled_whole(
    frames: Frames, relation: Relation, described: str, rows: DataFrame, files: Any = None
) -> dict[str, SidecarChange]:
    """The sidecars of a source that was read in full: `rows`, each as often as it has it."""
    names = schema(relation).names
    surplus = rows.groupBy(*quoted(names)).agg((sf.count("*") - 1).alias(COUNT)).where(f"`{COUNT}` > 0")
    made = {COUNTS: SidecarChange(described, frames.rows(surplus, counts_schema(relation)), is_whole=True)}
    if files is not None:
        made[FILES] = SidecarChange(described, files, is_whole=True)
    return made


class BulkSettling:
    """A change of a relation, and what is left to settle; `counted` has the count and surplus of each row."""

    def __init__(
        self,
        frames: Frames,
        relation: Relation,
        described: str,
        counted: DataFrame,
        files: Any,
        dead: Mapping[str, Dead],
    ) -> None:
        self._frames = frames
        self._relation = relation
        self._described = described
        self._counted = counted
        self._files = files
        self._dead = dead
        found = frames.parts(counted, schema(relation), inserted=_GAINED, deleted=_DELETED)
        self.inserted, self.deleted = found["inserted"], found["deleted"]

    def settle(self, changes: Any) -> dict[str, SidecarChange]:
        """The changes of the sidecars; `changes` are the signed rows that the commit changed."""
        names = schema(self._relation).names
        new = as_frame(self._frames.spark, changes).where(f"`{SIGN}` > 0")
        gained = self._counted.where(_GAINED).select(*quoted([*names, COUNT]))
        both = _with(gained, [*names, COUNT], _NEW, 0).unionByName(
            _with(_with(new, names, COUNT, 0), [*names, COUNT], _NEW, 1)
        )
        sums = both.groupBy(*quoted(names)).agg(
            sf.sum(f"`{COUNT}`").alias(COUNT), sf.sum(f"`{_NEW}`").alias(_NEW)
        )
        more = sums.where(f"`{COUNT}` > 0").withColumn(COUNT, sf.expr(f"`{COUNT}` - `{_NEW}`"))
        step = sf.expr(f"if({_DELETED}, -`{_BEFORE}`, `{COUNT}`)")
        others = self._counted.where(f"not ({_GAINED})").withColumn(COUNT, step)
        columns = quoted([*names, COUNT])
        rows = more.select(*columns).unionByName(others.select(*columns)).where(f"`{COUNT}` <> 0")
        surplus = self._frames.rows(rows, counts_schema(self._relation))
        return {
            COUNTS: SidecarChange(self._described, surplus),
            FILES: SidecarChange(self._described, self._files, self._dead),
        }


def settling(
    frames: Frames,
    relation: Relation,
    described: str,
    changed: tuple[DataFrame, DataFrame, DataFrame],
    files: Any,
    dead: Mapping[str, Dead],
) -> BulkSettling:
    """What a change of a source does to the relation: frames of gained rows, lost rows, and of the surplus.

    Raises Inconsistent.
    """
    names = schema(relation).names
    gained, lost, surplus = changed
    parts = [
        _with(_with(gained, names, COUNT, 1), [*names, COUNT], _BEFORE, 0),
        _with(_with(lost, names, COUNT, -1), [*names, COUNT], _BEFORE, 0),
        _with(surplus.withColumnRenamed(COUNT, _BEFORE), [*names, _BEFORE], COUNT, 0),
    ]
    sums = (
        reduce(DataFrame.unionByName, parts)
        .groupBy(*quoted(names))
        .agg(sf.sum(f"`{COUNT}`").alias(COUNT), sf.sum(f"`{_BEFORE}`").alias(_BEFORE))
    )
    counted = frames.hold(sums.where(f"`{COUNT}` <> 0"))
    if counted.selectExpr(f"count_if({_LOST} < -1)").collect()[0][0]:
        raise Inconsistent
    return BulkSettling(frames, relation, described, counted, files, dead)


def _with(rows: DataFrame, names: list[str], name: str, value: int) -> DataFrame:
    """Columns of a frame, and one more with the same value in all rows."""
    return rows.select(*quoted(names), sf.lit(value).cast("bigint").alias(name))
