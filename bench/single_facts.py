"""What a transaction of one fact costs, from `insert` to the rows of the change set.

    python -m bench.single_facts [FILE …]

The program is RDFS over the triples of N-Triples files, by default those of one generated university. Facts
are drawn at random; each is deleted and inserted again. Times are milliseconds: the best, the median and the
99th percentile of all facts, in the best of several repeats.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tidelog
from tidelog.rdf import graphs
from tidelog.rdf.lubm import universities
from tidelog.rdf.rdfs import RDFS
from tidelog.session import Session, Transaction

__all__ = ["Times", "measure"]

FACTS = 400
REPEAT = 5


class Times(NamedTuple):
    """Milliseconds of many transactions."""

    best: float
    median: float
    late: float


def measure(triples: Any, facts: int = FACTS, repeat: int = REPEAT) -> tuple[Times, Times]:
    """The times of deletions and of insertions of single facts."""
    db = tidelog.open(text=RDFS)
    with db.transaction() as tx:
        tx.insert("T", triples)
    chosen = np.random.default_rng(2).choice(len(triples), min(facts, len(triples)), replace=False)
    rows = graphs.triples(triples.take(chosen))
    size = len(db["T"])
    runs = [
        [(_timed(db, Transaction.delete, row), _timed(db, Transaction.insert, row)) for row in rows]
        for _ in range(repeat + 1)
    ][1:]  # the first one builds indexes
    if len(db["T"]) != size:
        raise ValueError(f"{len(db['T'])} triples instead of {size}")
    deleted, inserted = (min(_times(run, which) for run in runs) for which in (0, 1))
    return deleted, inserted


def _timed(db: Session, change: Callable[..., None], row: tuple[str, str, str]) -> float:
    start = time.perf_counter()
    with db.transaction() as tx:
        change(tx, "T", [row])
    list(tx.changes["T"])
    return 1000 * (time.perf_counter() - start)


def _times(run: Sequence[tuple[float, float]], which: int) -> Times:
    times = [pair[which] for pair in run]
    return Times(min(times), float(np.median(times)), float(np.quantile(times, 0.99)))


def main(files: Sequence[str]) -> None:
    triples = graphs.read(*files) if files else universities(1)
    print(f"{'one fact, ms':<14} {'best':>7} {'median':>7} {'99 %':>7}")
    for name, times in zip(("deleted", "inserted"), measure(triples), strict=True):
        print(f"{name:<14} {times.best:>7.3f} {times.median:>7.3f} {times.late:>7.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
