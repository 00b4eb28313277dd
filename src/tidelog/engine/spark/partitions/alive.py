"""Engines that stay in memory from one task to the next.

Spark uses the processes of its Python workers again, so a task often runs where the last state of its
partition was made. A worker is known by the files that its state adds up from (a base and logs). Their names
are unique, so it is only found by tasks that begin with exactly this state or a later one, which replay the
logs in between. A task takes a worker out before it works with it, and puts it back after its commit, so one
that failed or was cancelled is never found. Nothing depends on whether Spark accepts the answer of a task,
since the files of other answers are not asked for again.

Workers are dropped if one of their files is gone, and the longest unused ones if all together take more than
a share of the memory of the machine or container.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from tidelog.engine.spark.partitions.worker import Worker

__all__ = ["Alive", "alive"]

_SHARE: Final = 1 / 8  # of the memory, divided by the number of cores: Spark has a process for each
_CGROUPS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Alive:
    """Workers by their kind and the files of their states.

    `room` is how many bytes all of them may take, `exists` says whether a file is still there.
    """

    def __init__(self, room: int, exists: Callable[[str], bool]) -> None:
        self._room, self._exists = room, exists
        self._workers: OrderedDict[tuple[str, ...], Worker] = OrderedDict()

    def take(self, kind: str, files: Sequence[str]) -> tuple[Worker, int] | None:
        """The worker with the state of these files, or of as many of them as possible, and their number."""
        for number in range(len(files), 0, -1):
            worker = self._workers.pop((kind, *files[:number]), None)
            if worker is not None:
                return worker, number
        return None

    def keep(self, kind: str, files: Sequence[str], worker: Worker) -> None:
        """Keep a worker between commits."""
        for key in [key for key in self._workers if not self._exists(key[-1])]:
            del self._workers[key]
        self._workers[kind, *files] = worker
        while sum(kept.nbytes for kept in self._workers.values()) > self._room:
            self._workers.popitem(last=False)

    def __len__(self) -> int:
        return len(self._workers)


def _room() -> int:
    total = psutil.virtual_memory().total
    for name in _CGROUPS:
        with suppress(OSError, ValueError):  # there is no such limit
            total = min(total, int(Path(name).read_text()))
    return int(total * _SHARE / (os.cpu_count() or 1))


def _exists(file: str) -> bool:
    """Whether a file is there; assumed of those that are not local, since asking takes time."""
    return not file.startswith("/") or Path(file).exists()


alive: Final = Alive(_room(), _exists)
