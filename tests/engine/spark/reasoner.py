"""The Spark engine as a reasoner, driven as a session would: values in and out through frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from conformance.reasoners import Changes
from tidelog.data.types import Type
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.limits import Limits
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.spark.commits import SparkCommits
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints
from tidelog.engine.spark.frames.layout import encode, stored
from tidelog.engine.spark.frames.persistence import Holding
from tidelog.engine.statistics import Stats
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.model import Program
from tidelog.tables.given import to_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkReasoner:
    def __init__(
        self,
        spark: SparkSession,
        placement: Literal["tasks", "shuffled"] | None,
        strategy: str = "elastic",
        switch: float = 1e9,
        room: int = 0,
        held: Holding | None = None,
    ) -> None:
        self.checkpoints = Checkpoints(spark, held=held)
        known = STRATEGIES[strategy]
        self.engine = SparkEngine(self.checkpoints, placement, Limits(), known, room)
        self.commits = SparkCommits(self.engine, known, switch)
        self.stats = Stats()
        self._types: dict[str, tuple[Type, ...]] = {}

    @property
    def contents(self) -> Mapping[str, frozenset[Row]]:
        made = {n: frozenset(self._rows(t, self.engine.states[n].facts)) for n, t in self._types.items()}
        return {name: rows for name, rows in made.items() if rows}

    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]]) -> Changes:
        """If this raises, nothing has changed."""
        types = {r.name: r.types for r in program.relations.values()}
        with self.checkpoints.working(), self.commits.attempt(self.engine.flat(program)):
            for name, change in facts.items():
                rows = [[row for row, weight in change.items() if weight == sign] for sign in (1, -1)]
                self.commits.stage(name, *(self._checkpoint(types[name], part) for part in rows))
            self.stats = self.commits.run(Limits())
            changes = self._changes(types)
            self.commits.publish()
            self.commits.release()
        self._types = types
        return changes

    def _changes(self, types: Mapping[str, tuple[Type, ...]]) -> Changes:
        made: Changes = {}
        for name in types:
            inserted, deleted = (
                ZSet.of(self._rows(types[name], checkpoint)) for checkpoint in self.commits.changes(name)
            )
            made[name] = inserted - deleted
        return {name: change for name, change in made.items() if change}

    def _checkpoint(self, types: tuple[Type, ...], rows: list[Row]) -> Checkpoint:
        return self.checkpoints.table(
            types, to_table(stored(types), rows if types else [(True,) for _ in rows])
        )

    @staticmethod
    def _rows(types: tuple[Type, ...], checkpoint: Checkpoint) -> list[Any]:
        if not checkpoint.size:
            return []
        codec = Codec()
        codes = encode(codec, types, checkpoint.frame.toArrow())
        columns = [codec.decode_column(t, c.copy()) for t, c in zip(types, codes, strict=True)]
        return list(zip(*columns, strict=True)) if types else [()] * checkpoint.size
