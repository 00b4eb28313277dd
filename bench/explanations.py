"""What `why` and `why_not` cost on a closure of about a million tuples.

    python -m bench.explanations [STRATEGY …]

The closure is that of paths with a few shortcuts, or of a single path, whose proofs are as long as they can
be. Tables keep ranks; `recompute` does not, and neither do bit
matrices, into which a second graph, small and dense, is put. Times are milliseconds of
processor time, of which explanations use one core: the median and the worst over rows drawn at random.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import tidelog

__all__ = ["Times", "measure", "path", "paths", "thicket"]

PROGRAM = """
input relation Edge(x: int, y: int)
output relation Reach(x: int, y: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
ASKED = 40
MILLION = 1_000_000

Edges = list[tuple[int, int]]


class Times(NamedTuple):
    """Milliseconds of processor time of many questions."""

    median: float
    worst: float


def paths(tuples: int = MILLION, length: int = 200) -> Edges:
    """Paths whose closure has about so many tuples, with a shortcut in every tenth node."""
    many = max(1, 2 * tuples // (length * length))
    starts = range(0, many * length, length)
    edges = [(start + i, start + i + 1) for start in starts for i in range(length - 1)]
    return edges + [(start + i, start + i + 7) for start in starts for i in range(0, length - 7, 10)]


def path(tuples: int = MILLION) -> Edges:
    """One path whose closure has about so many tuples. The proof of a pair has two steps for each edge."""
    return [(i, i + 1) for i in range(int((2 * tuples) ** 0.5) - 1)]


def thicket(tuples: int = MILLION) -> Edges:
    """A random graph with one large component, whose closure has about so many tuples."""
    random, nodes = Random(3), int(tuples**0.5)
    return [(random.randrange(nodes), random.randrange(nodes)) for _ in range(6 * nodes)]


def measure(edges: Edges, strategy: str = "elastic", asked: int = ASKED) -> tuple[int, Times, Times]:
    """The size of the closure, and the times of `why` and of `why_not`."""
    db = tidelog.open(text=PROGRAM, facts={"Edge": edges}, strategy=strategy)
    random, nodes = Random(5), 1 + max(max(edge) for edge in edges)
    present = [db["Reach"][random.randrange(len(db["Reach"]))] for _ in range(asked)]
    drawn = ((random.randrange(nodes), random.randrange(nodes, 2 * nodes)) for _ in range(asked))
    absent = [(y, x) if random.random() < 0.5 else (x, y) for x, y in drawn]
    for explain, rows in ((db.why, present), (db.why_not, absent)):
        explain("Reach", rows[0]).check()
    return len(db["Reach"]), _times(db.why, present), _times(db.why_not, absent)


def _times(explain: Callable[..., Any], rows: Sequence[Any]) -> Times:
    found = sorted(_timed(explain, row) for row in rows)
    return Times(found[len(found) // 2], found[-1])


def _timed(explain: Callable[..., Any], row: Any) -> float:
    start = time.process_time()
    explain("Reach", row)
    return 1000 * (time.process_time() - start)


def main(strategies: Sequence[str]) -> None:
    for name, edges in (("paths", paths()), ("path", path()), ("thicket", thicket())):
        for strategy in strategies or ("elastic", "recompute"):
            size, why, why_not = measure(edges, strategy)
            print(
                f"{name}, {strategy}: {size:,} tuples; why {why.median:,.1f} ms, worst {why.worst:,.1f} ms; "
                f"why_not {why_not.median:,.1f} ms, worst {why_not.worst:,.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
