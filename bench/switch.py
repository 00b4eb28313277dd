"""Measures how good the choice between update and bootstrap is.

Three databases get the same commits in turn: one always updates, one always bootstraps, and one chooses, as
in normal use. Shares of the facts are deleted and inserted again, small and large alternating, so that what
one commit teaches is of little use for the next. The cost of a choice is its time divided by that of the
better alternative. Processor time is measured, also by what chooses, so that other work disturbs it less.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.batch import warm_up
from bench.data import Dataset
from bench.programs import Program
from tidelog.bench.database import Database

__all__ = ["Choice", "choice_table", "measure_choices"]

SHARES = (0.02, 0.5, 0.1, 0.01, 0.3, 0.05, 0.2, 0.8)


@dataclass(frozen=True, slots=True)
class Choice:
    """The times of one commit: always updated, always bootstrapped, and chosen."""

    program: str
    data: str
    change: str
    update: float
    bootstrap: float
    chosen: float

    @property
    def cost(self) -> float:
        return self.chosen / min(self.update, self.bootstrap)


def measure_choices(program: Program, dataset: Dataset, repeat: int) -> list[Choice]:
    """The best time of each commit over `repeat` runs."""
    warm_up(program, dataset.make())
    runs = [list(_run(program, dataset)) for _ in range(repeat)]
    return [
        Choice(
            one.program,
            one.data,
            one.change,
            min(c.update for c in same),
            min(c.bootstrap for c in same),
            min(c.chosen for c in same),
        )
        for same in zip(*runs, strict=True)
        for one in same[:1]
    ]


def _run(program: Program, dataset: Dataset) -> Iterator[Choice]:
    tables = dataset.make()
    databases = [
        Database(program.text, switch=float("inf"), clock=time.process_time),
        Database(program.text, "recompute", clock=time.process_time),
        Database(program.text, clock=time.process_time),
    ]
    for db in databases:
        db.commit(tables)
    rng = np.random.default_rng(3)
    for share in SHARES:
        part = {
            name: table.take(np.sort(rng.choice(table.num_rows, int(share * table.num_rows), replace=False)))
            for name, table in tables.items()
        }
        for verb in ("delete", "insert"):
            times = []
            for db in databases:
                start = time.process_time()
                db.commit(*((None, part) if verb == "delete" else (part, None)))
                times.append(time.process_time() - start)
            yield Choice(program.name, dataset.name, f"{verb} {share:.0%}", *times)


def choice_table(choices: list[Choice]) -> str:
    """A line for each commit, and how many were within the goal."""
    lines = [f"{'program':14} {'data':18} {'change':11} {'update':>9} {'bootstrap':>9} {'chosen':>9}  cost"]
    lines += [
        f"{c.program:14} {c.data:18} {c.change:11} {c.update * 1e3:6.1f} ms {c.bootstrap * 1e3:6.1f} ms "
        f"{c.chosen * 1e3:6.1f} ms  {c.cost:.2f}"
        for c in choices
    ]
    if choices:
        good = sum(c.cost <= 1.3 for c in choices)
        worst = max(c.cost for c in choices)
        lines.append(f"within 1.3 of the better: {good} of {len(choices)}; at worst {worst:.2f}")
    return "\n".join(lines)
