"""A stratum in tasks between commits: how it is divided, and what its partitions left in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.engine.limits import Limits
from tidelog.engine.local.storage.record import Corrupt
from tidelog.engine.spark.partitions.alive import alive
from tidelog.engine.spark.partitions.packing import logged
from tidelog.engine.spark.partitions.routes import Routes
from tidelog.engine.spark.partitions.scratch import Scratch
from tidelog.engine.spark.partitions.worker import Worker
from tidelog.errors import EngineError
from tidelog.maintain.strategy import Strategy
from tidelog.plan.flat import FlatProgram

__all__ = ["Divided", "Settings", "keep", "worker_of"]


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
    """The worker of a partition in the state of the last commit, of which it left these files.

    It is no longer kept in memory: `keep` it after what is done with it is complete.
    """
    if not files:
        return Worker(settings.strategy, steady=before.routes is not None)
    try:
        worker, number = _kept(before, files, settings, scratch) or (
            _read(before, files, settings, scratch),
            1,
        )
        for log, program in zip(files[number:], before.programs[number:], strict=True):
            worker.advance(program, logged(scratch.read(log)), settings.limits, lambda: None)
            worker.commit()
    except Corrupt as problem:
        raise EngineError(
            f"a state that a task saved in {scratch.folder} is corrupt ({problem}); reopen the session"
        ) from None
    return worker


def keep(worker: Worker, before: Divided, files: Sequence[str], settings: Settings, scratch: Scratch) -> None:
    """Keep a worker between commits in the memory of this process; its state is in these files, too."""
    alive.keep(_kind(before, settings), _places(files, scratch), worker)


def _kept(
    before: Divided, files: Sequence[str], settings: Settings, scratch: Scratch
) -> tuple[Worker, int] | None:
    return alive.take(_kind(before, settings), _places(files, scratch))


def _read(before: Divided, files: Sequence[str], settings: Settings, scratch: Scratch) -> Worker:
    record, steady = scratch.read(files[0]), before.routes is not None
    return Worker.of(record, before.programs[0], settings.strategy, steady=steady)


def _kind(before: Divided, settings: Settings) -> str:
    return f"{settings.strategy.name}{' steady' if before.routes is not None else ''}"


def _places(files: Sequence[str], scratch: Scratch) -> list[str]:
    return [f"{scratch.folder}/{file}" for file in files]
