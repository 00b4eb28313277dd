"""Commits of the Spark engine. When one ends, DataFrames that no state needs are released."""

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
    """`strategy` is the session's. Strata in frames use `ELASTIC` instead if it does not support frames."""

    def __init__(
        self,
        engine: SparkEngine,
        strategy: Strategy = ELASTIC,
        switch: float | None = SWITCH,
        begun: Report | None = None,
    ) -> None:
        self.engine = engine
        self.staged: Sequence[Checkpoint] = ()  # of the open transaction; they survive a rollback
        placed: Callable[[Stratum], str] = engine.placed
        clock = engine.checkpoints.cost
        in_frames = strategy if strategy.in_frames else ELASTIC
        scheduler = Scheduler(engine, in_frames, switch, placed=placed, begun=begun, clock=clock)
        super().__init__(engine, scheduler)

    @property
    def checkpoints(self) -> Checkpoints:
        return self.engine.checkpoints

    def release(self) -> None:
        """Release what the last commit left behind; between commits."""
        self.staged = ()
        self.checkpoints.release(self.engine.checkpoints_in_use())

    def roll_back(self) -> None:
        super().roll_back()
        staged, self.staged = self.staged, ()
        self.checkpoints.release([*self.engine.checkpoints_in_use(), *staged])

    def adopt(self, program: FlatProgram) -> None:
        """Continue with a program whose state the engine has adopted from another backend."""
        self.engine.forget(program)
        self.program = program
