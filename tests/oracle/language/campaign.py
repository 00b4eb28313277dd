"""Cases of many seeds in a row, on the sessions of this process; what was run is counted and printed.

TIDELOG_SEEDS is how many, from TIDELOG_FIRST_SEED on, so that several processes share the work:
`TIDELOG_SEEDS=10000 TIDELOG_FIRST_SEED=10000 python -m oracle.language.campaign`, with `tests` on the path.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable

from oracle.language.case import Case, render
from oracle.language.checking import Opened, Report, difference, names_for, open_local
from oracle.language.histories import programs
from oracle.language.shrinking import shrink

__all__ = ["FIRST", "check", "run", "seeds", "summary"]

FIRST = int(os.environ.get("TIDELOG_FIRST_SEED", "0"))


def seeds(default: int) -> range:
    """The seeds that this process is asked to run."""
    return range(FIRST, FIRST + int(os.environ.get("TIDELOG_SEEDS", str(default))))


def check(
    seed: int,
    report: Report | None = None,
    names: Iterable[str] = (),
    opened: Opened = open_local,
    *,
    shrinks: bool = True,
) -> str | None:
    """None, or a text with the smallest case found that fails as the seed's does."""
    case = programs(seed)
    names = tuple(names) or names_for(seed)
    problem = difference(case, names, opened, report)
    if problem is None:
        return None
    if not shrinks:
        return f"seed {seed}: {problem}"

    def fails(smaller: Case) -> bool:
        found = difference(smaller, names, opened)
        return found is not None and _kind(found) == _kind(problem)

    smallest = shrink(case, fails)
    found = difference(smallest, names, opened)
    return (
        f"seed {seed}: {problem}\n\nshrunk:\n{render(smallest)}\n\n{found}\n\nthe program:\n{smallest.text}"
    )


def _kind(problem: str) -> str:
    """Which exception it was, or that it was none."""
    return problem.split(": ")[1] if problem.startswith("crash") else ""


def summary(report: Report) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in report.items())


def run(wanted: Iterable[int], *, stop: bool = False) -> int:
    """Run cases and print what differs; the number of those that do. With `stop`, the first is enough."""
    report = Report()
    wrong = 0
    begun = time.monotonic()
    for number, seed in enumerate(wanted, 1):
        problem = check(seed, report, shrinks=not stop)
        if problem is not None:
            wrong += 1
            print(problem, "\n", flush=True)
            if stop:
                break
        if number % 500 == 0:
            print(f"{number:,} in {time.monotonic() - begun:,.0f} s: {summary(report)}", flush=True)
    print(f"{wrong} wrong; {summary(report)}; {time.process_time():,.0f} s of CPU")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if run(seeds(1_000), stop="--stop" in sys.argv) else 0)
