"""The changes of a transaction to asserted facts, in frames, in the order of its calls.

The last change of a row wins; this is computed when the transaction is carried out. Keys are checked then
too, for all rows at once (see `expect_one_each`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pyspark.sql import functions as F

from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints, union
from tidelog.engine.spark.frames.layout import columns
from tidelog.engine.spark.frames.relation_state import RelationState
from tidelog.engine.spark.ingest import is_frame, take_in
from tidelog.engine.spark.joins.matching import without
from tidelog.errors import DataError, shown
from tidelog.program.declared import Relation
from tidelog.tables.keys import key_of, rows_of_keys

__all__ = ["FrameStaging", "expect_one_each"]


class FrameStaging:
    """`state` is the relation at the last commit, None if it is new; `working` reserves Spark for a block."""

    def __init__(
        self,
        relation: Relation,
        state: RelationState | None,
        checkpoints: Checkpoints,
        working: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.relation = relation
        self._state = state
        self._checkpoints = checkpoints
        self._working = working
        self._said: list[tuple[Checkpoint, int]] = []

    def insert(self, data: object) -> None:
        with self._working():
            self._said.append((take_in(self.relation, data, self._checkpoints), 1))

    def delete(self, data: object) -> None:
        with self._working():
            self._said.append((take_in(self.relation, data, self._checkpoints), -1))

    def upsert(self, data: object) -> None:
        with self._working():
            rows = take_in(self.relation, data, self._checkpoints)
            assert self.relation.key is not None
            keys = rows.frame.selectExpr(*(f"c{i} as k{k}" for k, i in enumerate(self.relation.key)))
            self._delete_holders(keys)
            self._said.append((rows, 1))

    def delete_keys(self, keys: object) -> None:
        key = key_of(self.relation)
        rows = keys if is_frame(keys) else rows_of_keys(key, keys)
        with self._working():
            frame = take_in(key, rows, self._checkpoints).frame
            self._delete_holders(frame.selectExpr(*(f"c{k} as k{k}" for k in range(len(key.columns)))))

    def delete_all(self) -> None:
        with self._working():
            inserted, _ = self.net()
            if inserted.size:
                self._said.append((inserted, -1))
            if self._state is not None and self._state.given.size:
                self._said.append((self._state.given, -1))

    def net(self) -> tuple[Checkpoint, Checkpoint]:
        """The rows to insert, and the rows to delete."""
        nothing = self._checkpoints.nothing(self.relation.types)
        said = [(checkpoint, sign) for checkpoint, sign in self._said if checkpoint.size]
        if not said:
            return nothing, nothing
        if len(said) == 1:  # ingested rows are distinct
            checkpoint, sign = said[0]
            return (checkpoint, nothing) if sign == 1 else (nothing, checkpoint)
        names = columns(len(self.relation.columns))
        spoken = [
            checkpoint.frame.selectExpr(*names, f"{sign} as sign", f"{number} as number")
            for number, (checkpoint, sign) in enumerate(said)
        ]
        last = union(spoken).groupBy(*names).agg(F.expr("max_by(sign, number) as sign"))
        rows, (inserted, deleted) = self._checkpoints.asked(last, "count_if(sign = 1)", "count_if(sign = -1)")
        return rows.part("sign = 1", inserted, names), rows.part("sign = -1", deleted, names)

    def checkpoints(self) -> Sequence[Checkpoint]:
        """The checkpoints that are needed while the transaction is open."""
        return [checkpoint for checkpoint, _ in self._said]

    def _delete_holders(self, keys: Any) -> None:
        """Delete the rows that have these keys."""
        assert self.relation.key is not None
        inserted, deleted = self.net()
        names = columns(len(self.relation.columns))
        there = [inserted.frame.select(*names)]
        if self._state is not None:
            facts = self._state.facts.frame.select(*names)
            there.append(without(facts, deleted.small, self.relation.types) if deleted.size else facts)
        equal = " and ".join(f"c{i} = k{k}" for k, i in enumerate(self.relation.key))
        held = union(there).join(keys.hint("broadcast"), F.expr(equal), "left_semi")
        self._said.append((self._checkpoints.make(self._checkpoints.distinct(held, self.relation.types)), -1))


def expect_one_each(relation: Relation, inserted: Checkpoint, now: RelationState) -> None:
    """DataError if an inserted row has the key of another row."""
    if relation.key is None or not inserted.size:
        return
    names = [f"c{i}" for i in relation.key]
    keys = inserted.frame.selectExpr(*(f"{name} as k{k}" for k, name in enumerate(names)))
    equal = " and ".join(f"{name} <=> k{k}" for k, name in enumerate(names))
    there = now.facts.frame.join(keys.hint("broadcast"), F.expr(equal), "left_semi")
    row = f"struct({', '.join(now.names)})"
    twice = there.groupBy(*names).agg(F.expr(f"min({row}) as one"), F.expr(f"max({row}) as other"))
    found = twice.where("not (one <=> other)").selectExpr("first(struct(one, other))").collect()[0][0]
    if found is not None:
        rows = [tuple(row) for row in found]
        key = ", ".join(f"{relation.columns[i].name} = {shown(rows[1][i])}" for i in relation.key)
        remedy = "keep one of them, or use upsert to replace the existing row"
        problem = f"the key {key} would have two rows: {shown(rows[0])} and {shown(rows[1])}; {remedy}"
        raise DataError(relation.name, problem, value=rows[1])
