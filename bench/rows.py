"""What rows cost: the memory of a row, and the gain of a second thread: `python -m bench.rows [--quick]`.

The memory is what the arrays of a derived relation take after a commit (rows, hash table, indexes, ranks and
counts), divided by its rows, on average over sizes between two powers of two. Threads are measured in turn;
the best of each counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import tidelog
from bench.data import ontology
from bench.programs import PROGRAMS
from tidelog.bench.database import Database

__all__ = ["bytes_per_row", "main", "seconds"]

BINARY = """
input relation Given(a: int, b: int)
input relation Key(k: int)
relation R(a: int, b: int)
output relation Hit(b: int)
R(a, b) :- Given(a, b).
Hit(b) :- Key(a), R(a, b).
"""
TERNARY = """
input relation Given(a: int, b: int, c: int)
input relation Key(k: int)
relation R(a: int, b: int, c: int)
output relation Hit(x: int)
R(a, b, c) :- Given(a, b, c).
Hit(b) :- Key(a), R(a, b, _).
Hit(c) :- Key(b), R(_, b, c).
Hit(a) :- Key(c), R(a, _, c).
"""
STEPS = 8  # sizes between two powers of two
REPEAT = 3


def bytes_per_row(text: str, arity: int, smallest: int) -> float:
    """The average of several sizes, from `smallest` up to twice as many rows."""
    found = []
    for step in range(STEPS):
        rows = int(smallest * 2 ** (step / STEPS))
        numbers = np.random.default_rng(step).permutation(rows * arity).reshape(rows, arity)
        db = Database(text)
        given = {name: np.ascontiguousarray(numbers[:, i]) for i, name in enumerate("abc"[:arity])}
        db.commit({"Given": pa.table(given), "Key": pa.table({"k": numbers[:10, 0]})})
        found.append(db.memory("R") / rows)
    return float(np.mean(found))


def seconds(concepts: int, threads: Sequence[int], repeat: int = REPEAT) -> dict[int, float]:
    """The best time to complete an ontology with each number of threads."""
    tables = ontology("", concepts).make()
    best = dict.fromkeys(threads, float("inf"))
    for _ in range(repeat):
        for number in threads:
            db = tidelog.open(text=PROGRAMS["completion"].text, max_threads=number)
            tx = db.transaction()
            for name, table in tables.items():
                tx.insert(name, table)
            start = time.perf_counter()
            tx.commit()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rows")
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    smallest = 2**14 if quick else 2**20
    print(f"binary rows with one index:     {bytes_per_row(BINARY, 2, smallest):.0f} bytes")
    print(f"ternary rows with three:        {bytes_per_row(TERNARY, 3, smallest):.0f} bytes")
    for concepts in (2_000,) if quick else (16_000, 64_000):
        found = seconds(concepts, (1, 2))
        print(
            f"{concepts:>7,} concepts: {found[1]:.2f} s with one thread, {found[2]:.2f} s with two, "
            f"a gain of {found[1] / found[2]:.2f}"
        )


if __name__ == "__main__":
    main()
