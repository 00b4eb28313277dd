"""Closure on Spark, by placement, against the loop that anybody would write: `python -m bench.spark`.

The baseline is semi-naive too: join the delta with the edges, take what is new, repeat until nothing is; with
adaptive execution on, and the plan cut every round, without which it does not end. All times are of one run,
after a first one to warm up, so only their ratios mean something.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import tidelog
from tidelog.bench import graphs

CLOSURE = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1024)
    parser.add_argument("--edges", type=int, default=9206)
    parser.add_argument("--share", type=float, default=0.01, help="of the edges that an update changes")
    parser.add_argument("--repeat", type=int, default=2, help="the best of so many (2)")
    options = parser.parse_args(arguments)
    spark = _session()
    edges = graphs.rmat(options.nodes, options.edges)
    frame = _frame(spark, edges)
    wanted, seconds = _best(lambda: plain_loop(frame), options.repeat)
    print(f"{len(edges):,} edges, closure {wanted:,} pairs\n")
    print(f"{'':10} {'first load':>12} {'loop / ours':>12} {'update':>10} {'of load':>8} {'one fact':>10}")
    print(f"{'loop':10} {seconds:>10.2f} s {'1':>12}")
    for placement in ("driver", "tasks", "shuffled"):
        print(_line(spark, placement, edges, options, wanted, seconds), flush=True)
    return 0


def _session() -> Any:
    from tidelog.engine.spark.session import local_session  # slow to load, and only needed here

    return local_session()


def _frame(spark: Any, edges: Any) -> Any:
    columns = {"src": pa.array(edges[:, 0]), "dst": pa.array(edges[:, 1])}
    return spark.createDataFrame(pa.table(columns)).localCheckpoint()


def plain_loop(edges: Any) -> int:
    """The closure of edges, as a loop over DataFrames; how many pairs it has."""
    found = edges.distinct().localCheckpoint()
    delta, steps = found, edges.withColumnsRenamed({"src": "mid", "dst": "next"})
    while not delta.isEmpty():
        heads = delta.join(steps, delta["dst"] == steps["mid"]).select("src", "next").toDF("src", "dst")
        delta = heads.distinct().join(found, ["src", "dst"], "left_anti").localCheckpoint()
        found = found.union(delta).localCheckpoint()
    return int(found.count())


def _line(
    spark: Any, placement: str, edges: Any, options: argparse.Namespace, wanted: int, loop: float
) -> str:
    size, first = _best(lambda: len(_loaded(spark, placement, edges)["Reach"]), options.repeat)
    if size != wanted:
        return f"{placement:10} wrong: {size:,} pairs"
    db = _loaded(spark, placement, edges)
    some = np.random.default_rng(0).permutation(len(edges))[: max(1, int(options.share * len(edges)))]
    update = _seconds(lambda: _changed(db, _frame(spark, edges[some])))
    single = _seconds(lambda: _changed(db, [tuple(map(int, edges[0]))]))
    return (
        f"{placement:10} {first:>10.2f} s {loop / first:>12.1f} {update:>8.2f} s {update / first:>8.0%} "
        f"{single:>8.2f} s"
    )


def _loaded(spark: Any, placement: str, edges: Any) -> tidelog.Session:
    db = tidelog.open(text=CLOSURE, spark=spark, placement=placement)
    with db.transaction() as tx:
        tx.insert("Edge", _frame(spark, edges))
    return db


def _changed(db: tidelog.Session, rows: Any) -> int:
    """Delete edges and put them back: how many changes that made, over both commits."""
    with db.transaction() as away:
        away.delete("Edge", rows)
    with db.transaction() as back:
        back.insert("Edge", rows)
    return len(away.changes["Reach"]) + len(back.changes["Reach"])


def _best(work: Callable[[], int], repeat: int) -> tuple[int, float]:
    work()
    timed = [(_timed(work)) for _ in range(repeat)]
    return timed[0][0], min(seconds for _, seconds in timed)


def _timed(work: Callable[[], int]) -> tuple[int, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _seconds(work: Callable[[], int]) -> float:
    """The mean of the two commits that the work makes."""
    return _timed(work)[1] / 2


if __name__ == "__main__":
    raise SystemExit(main())
