"""A backend on Spark whose data is in the driver while it fits, and in frames from then on.

Users do not notice the move: the last commit is copied into frames as it is, with the changes of an open
transaction. Two things cause a move: a DataFrame with too many rows for the driver, and a commit whose tables
outgrow the budget, which then starts again in frames. Data never moves back: what was too large once is
likely to be so again.

Both backends share the same locks (see `locks`). The switch happens while all of them are held. So a thread
that holds any of them uses one backend, and a snapshot is of one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import numpy as np

from tidelog.engine.limits import Limits
from tidelog.engine.local.storage.record import Record
from tidelog.engine.spark.frames.arrow import publisher
from tidelog.engine.spark.frames.layout import decode
from tidelog.engine.spark.ingest import is_frame
from tidelog.engine.spark.runtime.job_names import JobNames
from tidelog.maintain.strategy import Strategy
from tidelog.plan.fan_outs import Start
from tidelog.plan.flat import Stratum
from tidelog.program.declared import Relation
from tidelog.program.model import Program
from tidelog.program.query import Query
from tidelog.progress import Report
from tidelog.session.backends.local.decoding import Decoder
from tidelog.session.backends.local.staging import StagedData
from tidelog.session.backends.local.state import LocalBackend
from tidelog.session.backends.protocol import Done, Saved, Staging
from tidelog.session.backends.spark.state import SparkBackend
from tidelog.session.facts import Facts, WholeFacts
from tidelog.session.locks import Locks
from tidelog.session.profiles.observed import Observed
from tidelog.store.states import StateParts

__all__ = ["BUDGET", "AdaptiveBackend"]

BUDGET: Final = 10_000_000  # rows of all tables together, some 50 bytes each
_UNITS: Final = 10  # a stratum may have a tenth of it in the driver when the rest is in frames


class _TooLarge(Exception):
    """The tables have outgrown the budget."""


class AdaptiveBackend:
    def __init__(
        self,
        strategy: Strategy,
        limits: Limits,
        report: Report | None = None,
        *,
        spark: Any,
        budget: int = BUDGET,
    ) -> None:
        self._jobs = JobNames(spark)
        self.locks = Locks()
        self.current: LocalBackend | SparkBackend = LocalBackend(
            strategy, limits, report, publisher(spark), "driver: the data fits", self._jobs.taking, self.locks
        )
        self._make: Callable[[], SparkBackend] = lambda: SparkBackend(
            strategy, limits, report, spark=spark, placement=None, room=budget // _UNITS, locks=self.locks
        )
        self._budget = budget

    # -- delegated to the current backend

    @property
    def program(self) -> Program:
        return self.current.program

    @property
    def commit(self) -> int:
        return self.current.commit

    @property
    def report(self) -> Report | None:
        return self.current.report

    def view(self, relation: Relation) -> WholeFacts:
        with self.locks.reading:
            return self.current.view(relation)

    def placed(self) -> list[tuple[Stratum, str]]:
        return self.current.placed()

    def plan(self, found: Mapping[str, tuple[int, float]], only: Collection[str] | None) -> str:
        return self.current.plan(found, only)

    def observed(self, starts: Sequence[Start]) -> Observed:
        with self.locks.turn:
            return self.current.observed(starts)

    def still(self) -> AbstractContextManager[None]:
        return self.current.still()

    def answer(self, query: Query, check: Callable[[], None]) -> Facts:
        with self.locks.turn:
            return self.current.answer(query, check)

    def saved(self) -> Saved:
        return self.current.saved()

    def resume(self, program: Program, record: Record) -> bool:
        return self.current.resume(program, record)

    def resume_frames(self, program: Program, record: Record, parts: StateParts) -> Mapping[str, str]:
        """Go on in frames, where the data was."""
        frames = self._make()
        lost = frames.resume_frames(program, record, parts)
        with self.locks.turn, self.locks.reading:
            self.current = frames
        return lost

    def stage(self, relation: Relation) -> Staging:
        return _MovingStaging(relation, self)

    def carry_out(
        self, program: Program, staged: Mapping[str, _MovingStaging], check: Callable[[], None], *, keep: bool
    ) -> Done:
        local = self.current

        def checked() -> None:
            check()
            if isinstance(local, LocalBackend):
                self.expect_room(local)

        try:
            here = {name: facts.here() for name, facts in staged.items()}
            return self.current.carry_out(program, here, checked, keep=keep)
        except _TooLarge:
            self.move()
        here = {name: facts.here() for name, facts in staged.items()}
        return self.current.carry_out(program, here, check, keep=keep)

    # -- moving

    def expect_room(self, local: LocalBackend, more: int = 0) -> None:
        if more + sum(table.rows for table in local.engine.tables.values()) > self._budget:
            raise _TooLarge

    def make_room(self, relation: Relation, frame: Any) -> None:
        """Move, if a DataFrame is too large for the driver."""
        if isinstance(self.current, LocalBackend):
            try:
                with self._jobs.taking(relation.name):
                    rows = frame.count()
                with self.locks.turn:  # a running query has other tables
                    self.expect_room(self.current, rows)
            except _TooLarge:
                self.move()

    def move(self) -> None:
        """Copy the last commit into frames, and use them from now on."""
        local = self.current
        assert isinstance(local, LocalBackend)
        frames = self._make()
        tables = local.engine.tables

        def rows(name: str) -> tuple[Any, Any]:
            types = local.flat.relations[name].types
            given = tables[name].codes(np.flatnonzero(tables[name].given[: tables[name].rows]))
            codec = local.engine.codec
            facts, asserted = (decode(codec, types, codes.T) for codes in (local.engine.rows(name), given))
            return facts, asserted

        with self.locks.turn:
            frames.adopt(local.program, local.flat, local.commit, rows)
            with self.locks.reading:
                self.current = frames


class _MovingStaging:
    """The changes of a transaction to a relation, wherever its data currently is."""

    def __init__(self, relation: Relation, backend: AdaptiveBackend) -> None:
        self.relation = relation
        self._backend = backend
        self._of = backend.current
        self._staging: Staging = backend.current.stage(relation)

    def here(self) -> Any:
        """The changes, in the current backend."""
        if self._of is not self._backend.current:
            assert isinstance(self._staging, StagedData)
            assert isinstance(self._of, LocalBackend)
            decoder = Decoder(self._of.engine.codec)
            inserted, deleted = (decoder.table(self.relation, codes) for codes in self._staging.staged.net())
            self._of, self._staging = self._backend.current, self._backend.current.stage(self.relation)
            self._staging.insert(inserted)
            self._staging.delete(deleted)
        return self._staging

    def _for(self, data: object) -> Staging:
        if is_frame(data):
            self._backend.make_room(self.relation, data)
        staging: Staging = self.here()
        return staging

    def insert(self, data: object) -> None:
        self._for(data).insert(data)

    def delete(self, data: object) -> None:
        self._for(data).delete(data)

    def upsert(self, data: object) -> None:
        self._for(data).upsert(data)

    def delete_keys(self, keys: object) -> None:
        self._for(keys).delete_keys(keys)

    def delete_all(self) -> None:
        self._for(None).delete_all()
