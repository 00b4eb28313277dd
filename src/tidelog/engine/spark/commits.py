"""Commits of the Spark engine: DataFrames that no state needs any more are released when one ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.engine.commit import Commits
from tidelog.engine.scheduler import SWITCH, Scheduler
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints
from tidelog.maintain.strategy import ELASTIC, Strategy
from tidelog.plan.flat import FlatProgram, Stratum
from tidelog.progress import Report

__all__ = ["SparkCommits"]


class SparkCommits(Commits[Checkpoint, Checkpoint]):
    """`strategy` is what the session asked for; strata in frames have it if they can."""

    def __init__(
        self,
        engine: SparkEngine,
        strategy: Strategy = ELASTIC,
        switch: float | None = SWITCH,
        begun: Report | None = None,
    ) -> None:
        self.engine = engine
        self.staged: Sequence[Checkpoint] = ()  # what a transaction has staged; it survives a rollback
        placed: Callable[[Stratum], str] = engine.placed
        clock = engine.checkpoints.cost
        in_frames = strategy if strategy.in_frames else ELASTIC
        scheduler = Scheduler(engine, in_frames, switch, placed=placed, begun=begun, clock=clock)
        super().__init__(engine, scheduler)

    @property
    def checkpoints(self) -> Checkpoints:
        return self.engine.checkpoints

    def publish(self) -> None:
        super().publish()
        self.checkpoints.release(self.engine.checkpoints_in_use())

    def roll_back(self) -> None:
        super().roll_back()
        self.checkpoints.release([*self.engine.checkpoints_in_use(), *self.staged])

    def adopt(self, program: FlatProgram) -> None:
        """The engine has taken over the state of this program from elsewhere."""
        self.engine.forget(program)
        self.program = program
