"""Commits of a local engine, whose state can also be saved and resumed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from tidelog.engine.commit import Commits
from tidelog.engine.limits import Limits
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage.record import Record
from tidelog.engine.local.storage.saved_state import Saved, restored
from tidelog.engine.local.storage.snapshot import Unread
from tidelog.engine.scheduler import SWITCH, Scheduler
from tidelog.engine.statistics import Stats
from tidelog.maintain.strategy import ELASTIC, Strategy
from tidelog.plan.flat import FlatProgram, Stratum
from tidelog.progress import Report

__all__ = ["LocalCommits"]


class LocalCommits(Commits[Codes, Codes | Unread]):
    """The commits of a local engine. `switch` and `placed` are those of the scheduler."""

    def __init__(
        self,
        strategy: Strategy = ELASTIC,
        switch: float | None = SWITCH,
        *,
        placed: Callable[[Stratum], str] = lambda _: "",
        guard: Callable[[], AbstractContextManager[object]] = nullcontext,
        engine: LocalEngine | None = None,
    ) -> None:
        self.engine = engine or LocalEngine()
        super().__init__(self.engine, Scheduler(self.engine, strategy, switch, placed=placed), guard)

    def run(
        self, limits: Limits, check: Callable[[], None] = lambda: None, report: Report | None = None
    ) -> Stats:
        self.engine.runner.threads = limits.threads
        return super().run(limits, check, report)

    def evaluate(
        self, limits: Limits, check: Callable[[], None] = lambda: None, report: Report | None = None
    ) -> Stats:
        self.engine.runner.threads = limits.threads
        return super().evaluate(limits, check, report)

    def publish(self) -> None:
        """Make the new state current, and drop indexes that no rule uses any more."""
        before = self.program
        super().publish()
        if self.program is not before:
            self.engine.tidy(before, self.program)

    def save(self, label: str = "") -> Saved:
        """The state of the engine between commits, to be written; it can be resumed only by its label."""
        return Saved(self.engine, self.scheduler.costs, label)

    @classmethod
    def resume(
        cls,
        program: FlatProgram,
        record: Record,
        strategy: Strategy = ELASTIC,
        switch: float | None = SWITCH,
        *,
        label: str = "",
        placed: Callable[[Stratum], str] = lambda _: "",
    ) -> LocalCommits | None:
        """Resume a saved state; None if it belongs to another program. Raises Corrupt if it is damaged."""
        found = restored(record, program, label)
        if found is None:
            return None
        made = cls(strategy, switch, placed=placed, engine=found.engine)
        made.scheduler.costs.update(found.costs)
        made.begin(program)
        made.publish()
        return made
