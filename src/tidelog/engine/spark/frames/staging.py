"""What a transaction says about asserted facts, in frames: one after the other, as it was said.

The last thing said about a row is what counts; that is worked out when the transaction is carried out. Keys
are looked at then too, for all rows at once (see `expect_one_each`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pyspark.sql import functions as F

from tidelog.engine.spark.frames.checkpoints import Cut, Cuts, union
from tidelog.engine.spark.frames.layout import columns, named
from tidelog.engine.spark.frames.relation_state import Kept
from tidelog.engine.spark.ingest import is_frame, take_in
from tidelog.engine.spark.joins.matching import without
from tidelog.errors import DataError, shown
from tidelog.program.typed import Relation
from tidelog.tables.keys import key_of, rows_of_keys

__all__ = ["FrameStaging", "expect_one_each"]


class FrameStaging:
    """`kept` is the relation at the last commit, None if it is new; `working` lends Spark for work."""

    def __init__(
        self,
        relation: Relation,
        kept: Kept | None,
        cuts: Cuts,
        working: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.relation = relation
        self._kept = kept
        self._cuts = cuts
        self._working = working
        self._said: list[tuple[Cut, int]] = []

    def insert(self, data: object) -> None:
        with self._working():
            self._said.append((take_in(self.relation, data, self._cuts), 1))

    def delete(self, data: object) -> None:
        with self._working():
            self._said.append((take_in(self.relation, data, self._cuts), -1))

    def upsert(self, data: object) -> None:
        with self._working():
            rows = take_in(self.relation, data, self._cuts)
            assert self.relation.key is not None
            keys = rows.frame.selectExpr(*(f"c{i} as k{k}" for k, i in enumerate(self.relation.key)))
            self._delete_holders(keys)
            self._said.append((rows, 1))

    def delete_keys(self, keys: object) -> None:
        key = key_of(self.relation)
        rows = keys if is_frame(keys) else rows_of_keys(key, keys)
        with self._working():
            frame = take_in(key, rows, self._cuts).frame
            self._delete_holders(frame.selectExpr(*(f"c{k} as k{k}" for k in range(len(key.columns)))))

    def delete_all(self) -> None:
        with self._working():
            came, _ = self.net()
            if came.size:
                self._said.append((came, -1))
            if self._kept is not None and self._kept.given.size:
                self._said.append((self._kept.given, -1))

    def net(self) -> tuple[Cut, Cut]:
        """The rows that are to be there, and those that are not."""
        nothing = self._cuts.nothing(self.relation.types)
        said = [(cut, sign) for cut, sign in self._said if cut.size]
        if not said:
            return nothing, nothing
        if len(said) == 1:  # rows that are taken in are there once
            cut, sign = said[0]
            return (cut, nothing) if sign == 1 else (nothing, cut)
        names = columns(len(self.relation.columns))
        spoken = [
            cut.frame.selectExpr(*names, f"{sign} as sign", f"{number} as number")
            for number, (cut, sign) in enumerate(said)
        ]
        last = union(spoken).groupBy(*names).agg(F.expr("max_by(sign, number) as sign"))
        rows, (came, went) = self._cuts.asked(last, "count_if(sign = 1)", "count_if(sign = -1)")
        return rows.part("sign = 1", came, names), rows.part("sign = -1", went, names)

    def cuts(self) -> Sequence[Cut]:
        """What has to be held while more may be said."""
        return [cut for cut, _ in self._said]

    def _delete_holders(self, keys: Any) -> None:
        """Say of the rows that are there under these keys that they are not to be."""
        assert self.relation.key is not None
        came, went = self.net()
        names = columns(len(self.relation.columns))
        there = [came.frame.select(*names)]
        if self._kept is not None:
            facts = self._kept.facts.frame.select(*names)
            there.append(without(facts, went.small, self.relation.types) if went.size else facts)
        equal = " and ".join(f"c{i} = k{k}" for k, i in enumerate(self.relation.key))
        held = union(there).join(keys.hint("broadcast"), F.expr(equal), "left_semi")
        self._said.append((self._cuts.cut(self._cuts.distinct(held, self.relation.types)), -1))


def expect_one_each(relation: Relation, came: Cut, now: Kept) -> None:
    """DataError if a row that came has the key of another that is there."""
    if relation.key is None or not came.size:
        return
    names = [f"c{i}" for i in relation.key]
    keys = came.frame.selectExpr(*(f"{name} as k{k}" for k, name in enumerate(names)))
    equal = " and ".join(f"{name} <=> k{k}" for k, name in enumerate(names))
    there = now.facts.frame.join(keys.hint("broadcast"), F.expr(equal), "left_semi")
    twice = there.groupBy(*names).count().where("count > 1").select(*names)
    found = there.join(twice.limit(1).hint("broadcast"), names, "left_semi").select(*now.names)
    rows = [tuple(row) for row in named(found, relation).take(2)]
    if len(rows) == 2:
        key = ", ".join(f"{relation.columns[i].name} = {shown(rows[1][i])}" for i in relation.key)
        remedy = "keep one of them, or upsert to replace a row that is there"
        problem = f"the key {key} would have two rows: {shown(rows[0])} and {shown(rows[1])}; {remedy}"
        raise DataError(relation.name, problem, value=rows[1])
