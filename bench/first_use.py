"""The first minute of a new user: how long a fresh process takes until its first results.

Run with `python -m bench.first_use`. Each figure is the best and the median of several processes.
An editable installation must have compiled its kernels before. With `--spark`, it measures what a fresh
Python worker of Spark costs: the same small closure, computed with the kernels in one task, by a fresh worker
and by a warm one, each several times.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

__all__ = ["main", "worker_jobs"]

_REPEATS: Final = 15

_CLOSURE: Final = """
input relation Edge(src: int, dst: int)
output relation Path(src: int, dst: int)
Path(x, y) :- Edge(x, y).
Path(x, z) :- Path(x, y), Edge(y, z).
"""

_TIDELOG: Final = """
import json, time
start = time.perf_counter()
import tidelog
imported = time.perf_counter()
db = tidelog.open(text='''
input relation Edge(src: string, dst: string)
output relation Path(src: string, dst: string)
Path(x, y) :- Edge(x, y).
Path(x, z) :- Path(x, y), Edge(y, z).
''')
opened = time.perf_counter()
with db.transaction() as tx:
    tx.insert("Edge", [("a", "b"), ("b", "c")])
found = sorted(db["Path"])
assert len(found) == 3, found
done = time.perf_counter()
print(json.dumps([imported - start, opened - imported, done - opened]))
"""

_DUCKDB: Final = """
import json, time
start = time.perf_counter()
import duckdb
imported = time.perf_counter()
db = duckdb.connect()
db.execute("create table edge(src varchar, dst varchar)")
opened = time.perf_counter()
db.execute("insert into edge values ('a', 'b'), ('b', 'c')")
found = db.execute(
    "with recursive path(src, dst) as (select * from edge union "
    "select p.src, e.dst from path p join edge e on p.dst = e.src) select * from path"
).fetchall()
assert len(found) == 3, found
done = time.perf_counter()
print(json.dumps([imported - start, opened - imported, done - opened]))
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.first_use", description=__doc__)
    parser.add_argument("--spark", action="store_true", help="measure fresh Python workers of Spark")
    if parser.parse_args(arguments).spark:
        print("milliseconds of a job with one task, best (median)")
        for name, jobs in zip(("fresh worker", "warm worker"), worker_jobs(_REPEATS), strict=True):
            print(f"{name:16}{1000 * min(jobs):.0f} ({1000 * statistics.median(jobs):.0f})")
        return
    print(f"{'milliseconds':16}{'import':>14}{'open':>14}{'first commit':>14}{'process':>14}")
    for name, code in (("tidelog", _TIDELOG), ("duckdb", _DUCKDB)):
        runs = [_run(code) for _ in range(_REPEATS)]
        columns = [sorted(column) for column in zip(*runs, strict=True)]
        cells = [f"{1000 * c[0]:.0f} ({1000 * statistics.median(c):.0f})" for c in columns]
        print(f"{name:16}" + "".join(f"{cell:>14}" for cell in cells))


def worker_jobs(repeats: int) -> tuple[list[float], list[float]]:
    """The seconds of jobs whose Python worker is fresh, and of jobs whose worker has done one before."""
    from tidelog.engine.spark.runtime.session import local_session

    spark = local_session(conf={"spark.python.worker.reuse": "true"})
    rows = spark.range(1, numPartitions=1)
    fresh, warm = [], []
    for kill in [False, *[True] * repeats]:
        if kill:
            rows.mapInArrow(_end_worker, "id long").collect()
            time.sleep(1.0)
        times = []
        for _ in range(2):
            start = time.perf_counter()
            rows.mapInArrow(_closure, "x long").collect()
            times.append(time.perf_counter() - start)
        if kill:  # the first round warms Java up
            fresh.append(times[0])
            warm.append(times[1])
    spark.stop()
    return fresh, warm


def _closure(batches: Iterable[Any]) -> Iterator[Any]:
    """In a task: the size of a small closure, computed by the local engine."""
    import pyarrow as pa

    from tidelog.bench.database import Database

    for _ in batches:
        db = Database(_CLOSURE)
        db.commit({"Edge": pa.table({"src": range(20), "dst": range(1, 21)})})
        yield pa.RecordBatch.from_pydict({"x": [db.size("Path")]})


def _end_worker(batches: Iterable[Any]) -> Iterator[Any]:
    """In a task: let the worker end with the job, so that the next one starts a new worker."""
    import os
    import threading

    threading.Timer(0.5, os._exit, [0]).start()
    yield from batches


def _run(code: str) -> list[float]:
    """The seconds that the parts of one process take, and those of the process."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    whole = time.perf_counter() - start
    return [*json.loads(done.stdout), whole]


if __name__ == "__main__":
    main()
