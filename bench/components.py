"""Measures connected components of a random graph, and updates of them, beside a loop over DataFrames.

    python -m bench.components [--edges 20000000]

The labels are exchanged between tasks (`placement="shuffled"`). The loop keeps the smallest label of each
node and sends on those that improved, until none does. Shown are the time and the processor time (user and
system) of Python and of Spark's Java process, which is warm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from pyspark.sql import functions as F

import tidelog
from tidelog.engine.spark.runtime.session import local_session

PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Label(node: int, label: int)
Label(x, l) :- Edge(x, _), var l = x.group_by(x).min().
Label(y, l) :- Edge(_, y), var l = y.group_by(y).min().
Label(y, l) :- Label(x, a), Edge(x, y), var l = a.group_by(y).min().
Label(x, l) :- Label(y, a), Edge(x, y), var l = a.group_by(x).min().
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    spark = local_session(conf={"spark.driver.memory": options.memory})
    spark.conf.set("spark.sql.shuffle.partitions", str(options.partitions))
    rows = _edges(options.edges, options.degree)
    changed = np.random.default_rng(1).random(len(rows)) < 0.01
    whole, part = (_frame(spark, edges) for edges in (rows, rows[changed]))
    print(f"{len(rows):,} edges, {len(np.unique(rows)):,} nodes, 1 % are {changed.sum():,}")
    _measure("warm up", lambda: _components(spark, _frame(spark, rows[:10_000])))
    counts = {}
    if not options.only or "loop" in options.only:
        counts["loop"] = _measure("loop of DataFrames", lambda: _components(spark, whole))
    if not options.only or "tidelog" in options.only:
        db = tidelog.open(text=PROGRAM, spark=spark, placement="shuffled")
        counts["tidelog"] = _measure("first load", lambda: _commit(db, "insert", whole))
        _measure("1 % deleted", lambda: _commit(db, "delete", part))
        counts["again"] = _measure("1 % inserted", lambda: _commit(db, "insert", part))
        _measure("one fact", lambda: _commit(db, "insert", _frame(spark, np.array([[0, 1]]))))
    print(counts)
    return int(len(set(counts.values())) > 1)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.components", description=__doc__.split("\n\n")[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--degree", type=float, default=4.0, help="edges for each node (4)")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--memory", default="8g", help="memory of Spark's Java process (8g)")
    parser.add_argument("--only", choices=("loop", "tidelog"))
    return parser.parse_args(arguments)


def _edges(count: int, degree: float) -> Any:
    """Distinct edges between random nodes."""
    nodes = int(count / degree)
    random = np.random.default_rng(0)
    keys = np.unique(random.integers(0, nodes * nodes, count))
    return np.stack([keys // nodes, keys % nodes], axis=1)


def _frame(spark: Any, edges: Any) -> Any:
    table = pa.table({"src": edges[:, 0], "dst": edges[:, 1]})
    return spark.createDataFrame(table).localCheckpoint()


def _measure(title: str, run: Callable[[], int]) -> int:
    before, start = _processor(), time.perf_counter()
    found = run()
    java, python = (now - then for now, then in zip(_processor(), before, strict=True))
    seconds = time.perf_counter() - start
    times = f"{java + python:7.1f} s of processor time, {python:.1f} of it in Python"
    print(f"{title:20} {seconds:7.1f} s, {times}; {found:,}", flush=True)
    return found


def _processor() -> tuple[float, float]:
    """The processor time of Java, and of this process and the other ones that it started."""
    this = psutil.Process()
    used = {False: 0.0, True: 0.0}
    for process in (this, *this.children(recursive=True)):
        times = process.cpu_times()
        used[process.name() == "java"] += times.user + times.system
    return used[True], used[False]


def _commit(db: tidelog.Session, change: str, edges: Any) -> int:
    """Returns the number of components."""
    with db.transaction() as tx:
        getattr(tx, change)("Edge", edges)
    for stratum in db.stats.strata:
        if stratum.steps:
            print(
                f"  {stratum.name}: {stratum.strategy}, {stratum.why}; {stratum.steps} steps, "
                f"{stratum.jobs} jobs, {stratum.seconds:.1f} s, {stratum.written / 1e6:.1f} MB written, "
                f"{stratum.instances:,} instances, {stratum.inserted:,} inserted, {stratum.deleted:,} deleted"
            )
    found: int = db["Label"].to_spark().where("node = label").count()
    return found


def _components(spark: Any, edges: Any) -> int:
    """A loop over DataFrames; returns the number of components."""
    both = edges.union(edges.select("dst", "src").toDF("src", "dst")).repartition("src").persist()
    labels = both.selectExpr("src as node", "src as label").distinct().localCheckpoint()
    delta = labels
    while not delta.isEmpty():
        sent = delta.join(both, delta["node"] == both["src"]).selectExpr("dst as node", "label")
        best = sent.groupBy("node").agg(F.min("label").alias("better"))
        delta = best.join(labels, "node").where("better < label").selectExpr("node", "better as label")
        delta = delta.localCheckpoint()
        improved = labels.join(delta.withColumnRenamed("label", "better"), "node", "left")
        labels = improved.selectExpr("node", "coalesce(better, label) as label").localCheckpoint()
    found: int = labels.where("node = label").count()
    both.unpersist()
    return found


if __name__ == "__main__":
    raise SystemExit(main())
