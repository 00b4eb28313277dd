"""Results of measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Batch", "Missing", "Run", "Update", "best"]


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """One repeat: wall time, processor time (user and system, of all threads), and the size of the result."""

    seconds: float
    cpu: float
    size: int


@dataclass(frozen=True, slots=True)
class Batch:
    """From input tables to a readable result; `memory` is the growth of the peak in bytes.

    `cpu` is the processor time of the best run.
    """

    program: str
    data: str
    engine: str
    seconds: float
    cpu: float
    size: int
    memory: int
    tuples: int = 0
    instances: int = 0
    state: int = 0

    @property
    def bytes_per_tuple(self) -> float:
        return self.state / self.tuples if self.tuples else 0.0


@dataclass(frozen=True, slots=True)
class Update:
    """Commits of one kind compared with a bootstrap in the same process.

    `worst` is the slowest commit; `equal` is whether the contents equal those of a bootstrap, or None if this
    was not checked. Other engines don't say how many tuples changed and how many instances they found.
    """

    program: str
    data: str
    change: str
    facts: int
    seconds: float
    worst: float
    bootstrap: float
    changed: int
    instances: int
    bootstrap_instances: int
    strategy: str
    equal: bool | None = None
    engine: str = "tidelog"

    @property
    def ratio(self) -> float:
        return self.seconds / self.bootstrap


@dataclass(frozen=True, slots=True)
class Missing:
    """A measurement without a result, and the reason."""

    program: str
    data: str
    engine: str
    why: str


def best(work: Callable[[], Run], repeat: int) -> Run:
    """The run with the shortest time; the size must be the same in all of them."""
    runs = [work() for _ in range(repeat)]
    if len({run.size for run in runs}) != 1:
        raise ValueError(f"sizes differ between repeats: {sorted({run.size for run in runs})}")
    return min(runs)
