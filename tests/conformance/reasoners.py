"""The reasoners under test, behind one interface: a program and a change of facts in, the changes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

import numpy as np

from tidelog.data.types import Type
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.commit import Commits
from tidelog.engine.cost import StratumCost
from tidelog.engine.limits import Limits
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense import matrix as bits
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage.snapshot import Unread
from tidelog.engine.scheduler import Scheduler
from tidelog.engine.statistics import Stats
from tidelog.maintain.strategy import DIFFERENTIAL, DRED, RECOMPUTE
from tidelog.plan.flat import FlatProgram, Stratum
from tidelog.plan.flatten import flatten
from tidelog.program.model import Program
from tidelog.reference.chibi import Chibi
from tidelog.reference.circuit.reasoner import Circuit

Changes = dict[str, ZSet[Row]]


class Reasoner(Protocol):
    @property
    def contents(self) -> Mapping[str, frozenset[Row]]: ...

    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]]) -> Changes: ...


class CircuitReasoner:
    """The circuit takes rules, not programs."""

    def __init__(self, *, indexed: bool) -> None:
        self._circuit = Circuit(indexed=indexed)

    @property
    def contents(self) -> Mapping[str, frozenset[Row]]:
        return self._circuit.contents

    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]]) -> Changes:
        return self._circuit.commit(program.rules, facts, program.functions)


class ImpatientScheduler(Scheduler):
    """Begins every update, and gives it up at a point that is drawn anew for each unit."""

    def __init__(self, engine: LocalEngine) -> None:
        super().__init__(engine, switch=0.0)
        self._random = Random(0)

    def memory(self, stratum: Stratum) -> StratumCost:
        known = super().memory(stratum)
        known.insertions, known.deletions = {}, {}
        known.bootstrap = known.bootstrap or 1
        self.patience = self._random.choice([0, 1, 2, 4, 8, 16, 32, 1000])
        return known


class LocalReasoner:
    """The local engine, driven as a session would: values in and out through its codec."""

    def __init__(self, scheduler: Callable[[LocalEngine], Scheduler] = Scheduler) -> None:
        self.work_with(LocalEngine(), scheduler)
        self.stats = Stats()
        self._types: dict[str, tuple[Type, ...]] = {}

    def work_with(
        self,
        engine: LocalEngine,
        scheduler: Callable[[LocalEngine], Scheduler],
        program: FlatProgram | None = None,
    ) -> None:
        """Have this engine, which holds the state of a program."""
        self.engine = engine
        self.commits = Commits(engine, scheduler(engine))
        if program is not None:
            self.commits.begin(program)
            self.commits.publish()

    @property
    def flat(self) -> FlatProgram:
        return self.commits.program

    @property
    def contents(self) -> Mapping[str, frozenset[Row]]:
        made = {n: frozenset(self.decode(t, self.engine.rows(n))) for n, t in self._types.items()}
        return {name: rows for name, rows in made.items() if rows}

    @property
    def given(self) -> Mapping[str, frozenset[Row]]:
        """The asserted facts."""
        tables = {name: self.engine.tables[name] for name in self._types}
        rows = {name: table.codes()[table.given[: table.rows] == 1] for name, table in tables.items()}
        return {name: frozenset(self.decode(t, rows[name])) for name, t in self._types.items()}

    def commit(
        self, program: Program, facts: Mapping[str, ZSet[Row]], limits: Limits | None = None
    ) -> Changes:
        """If this raises, nothing has changed."""
        types = {r.name: r.types for r in program.relations.values()}
        with self.commits.attempt(self.flatten(program)):
            self.stage(types, facts)
            self.stats = self.commits.run(limits or Limits())
            changes = self.changes(types)
            self.commits.publish()
        self._types = types
        return changes

    def flatten(self, program: Program) -> FlatProgram:
        return flatten(program)

    def stage(self, types: Mapping[str, tuple[Type, ...]], facts: Mapping[str, ZSet[Row]]) -> None:
        """Hand the change of facts to the engine."""
        for name, change in facts.items():
            inserted = self._encode(types[name], [row for row, weight in change.items() if weight > 0])
            deleted = self._encode(types[name], [row for row, weight in change.items() if weight < 0])
            self.commits.stage(name, inserted, deleted)

    def changes(self, types: Mapping[str, tuple[Type, ...]]) -> Changes:
        """What the commit at work has changed."""
        made: Changes = {}
        for name in types:
            parts = [p.codes() if isinstance(p, Unread) else p for p in self.commits.changes(name)]
            came, went = (ZSet.of(self.decode(types[name], rows)) for rows in parts)
            made[name] = came - went
        return {name: change for name, change in made.items() if change}

    def _encode(self, types: tuple[Type, ...], rows: list[Row]) -> Codes:
        codec = self.engine.codec
        columns = [codec.encode_column(t, [row[i] for row in rows]) for i, t in enumerate(types)]
        return np.array(columns, np.int64).reshape(len(types), len(rows)).T.copy()

    def decode(self, types: tuple[Type, ...], rows: Codes) -> list[Row]:
        if not types:
            return [()] * len(rows)
        columns = [self.engine.codec.decode_column(t, rows[:, i].copy()) for i, t in enumerate(types)]
        return list(zip(*columns, strict=True))


class DenseReasoner(LocalReasoner):
    """Keeps every relation as a bit matrix that can be one, however few rows it has."""

    def commit(
        self, program: Program, facts: Mapping[str, ZSet[Row]], limits: Limits | None = None
    ) -> Changes:
        enough, bits._ENOUGH_ROWS = bits._ENOUGH_ROWS, 4
        try:
            return super().commit(program, facts, limits)
        finally:
            bits._ENOUGH_ROWS = enough


REASONERS: dict[str, Callable[[], Reasoner]] = {
    "chibi": lambda: Chibi(indexed=False),
    "chibi-indexed": lambda: Chibi(indexed=True),
    "circuit": lambda: CircuitReasoner(indexed=False),
    "circuit-indexed": lambda: CircuitReasoner(indexed=True),
    "local-elastic": LocalReasoner,
    "local-recompute": lambda: LocalReasoner(lambda engine: Scheduler(engine, RECOMPUTE)),
    "local-dred": lambda: LocalReasoner(lambda engine: Scheduler(engine, DRED)),
    "local-differential": lambda: LocalReasoner(lambda engine: Scheduler(engine, DIFFERENTIAL)),
    "local-switching": lambda: LocalReasoner(ImpatientScheduler),
    "local-dense": DenseReasoner,
}
