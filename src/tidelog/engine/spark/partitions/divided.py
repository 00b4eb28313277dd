"""A stratum in tasks between commits: how it is divided, and what its partitions left in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.engine.limits import Limits
from tidelog.engine.local.storage.record import Corrupt
from tidelog.engine.spark.partitions.packing import logged
from tidelog.engine.spark.partitions.routes import Routes
from tidelog.engine.spark.partitions.scratch import Scratch
from tidelog.engine.spark.partitions.worker import Worker
from tidelog.errors import EngineError
from tidelog.maintain.strategy import Strategy
from tidelog.plan.flat import FlatProgram

__all__ = ["Divided", "Settings", "worker_of"]


class Settings(NamedTuple):
    """The settings of workers; `most` limits the instances that a task may find."""

    strategy: Strategy
    limits: Limits
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Divided:
    """A stratum maintained in tasks: its programs since the base, and the files of each partition since then.

    `through` are the columns by which its relations are divided; None if one task has it all. It has so many
    `partitions`, also if the session uses another number by now. `moved` counts the changes since the base
    and the instances found for them, `rows` are those in all states. `work` is the work of its bootstrap (see
    `exchange`). If it is `unsettled`, the order in which tuples were found says nothing about the support of
    some of them.
    """

    programs: tuple[FlatProgram, ...]
    through: Mapping[str, int] | None
    partitions: int
    routes: Routes | None = None
    files: tuple[tuple[str, ...], ...] = ()
    moved: int = 0
    work: int = 0
    unsettled: bool = False
    rows: int = 0

    @property
    def all_files(self) -> Iterator[str]:
        return (name for files in self.files for name in files)


def worker_of(before: Divided, files: Sequence[str], settings: Settings, scratch: Scratch) -> Worker:
    """The worker of a partition in the state of the last commit, of which it left these files."""
    strategy, limits, _ = settings
    steady = before.routes is not None
    if not files:
        return Worker(strategy, steady=steady)
    base, *logs = files
    try:
        worker = Worker.of(scratch.read(base), before.programs[0], strategy, steady=steady)
        for log, program in zip(logs, before.programs[1:], strict=True):
            worker.advance(program, logged(scratch.read(log)), limits, lambda: None)
            worker.commit()
    except Corrupt as problem:
        raise EngineError(
            f"a state that a task saved in {scratch.folder} is corrupt ({problem}); reopen the session"
        ) from None
    return worker
