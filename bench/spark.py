"""Tidelog on Spark by placement, compared with plain Spark and with one process: `python -m bench.spark`.

- *load*: a first commit, from a DataFrame until the results are readable as one. Closure of a random graph
  and RDFS on generated universities are compared with a plain loop (`spark_loops`) and with a session in
  process that gets the same data as an Arrow table. Closure of a tree is compared with recursive SQL, and is
  also computed by a rule that joins the closure with itself, which needs joins of DataFrames.
- *updates*: one per cent of the facts is deleted and inserted again, and so is one fact, on data whose first
  load takes some time in that placement.
- *growth*: first loads of more and more universities.

All times of a table are from one run, after a warm-up, so that their ratios are meaningful.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tidelog
from bench import files, spark_loops
from bench.data import table
from tidelog import rdf
from tidelog.bench import graphs
from tidelog.rdf.rdfs import RDFS

PLACEMENTS = ("driver", "tasks", "shuffled")
CLOSURE = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
DOUBLING = CLOSURE.replace("Reach(x, y), Edge(y, z)", "Reach(x, y), Reach(y, z)")


@dataclass(frozen=True, slots=True)
class Work:
    """A program, its input relation, its result relation, and the data."""

    name: str
    text: str
    given: str
    wanted: str
    data: Any

    def loop(self, frame: Any) -> Any:
        loops = {RDFS: spark_loops.rdfs, CLOSURE: spark_loops.closure, DOUBLING: spark_loops.doubling}
        return loops[self.text](frame)


@dataclass(slots=True)
class Line:
    """Seconds by name of measurement."""

    work: str
    engine: str
    rows: int
    seconds: dict[str, float] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    from tidelog.engine.spark.runtime.session import local_session  # slow to load

    bench = Bench(local_session(conf={"spark.driver.memory": options.memory}), options.repeat)
    lines: list[Line] = []
    for line in _lines(bench, options):
        lines.append(line)
        if options.json is not None:
            options.json.write_text(json.dumps([asdict(x) for x in lines], indent=1))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--part", choices=("all", "load", "updates", "growth"), default="all")
    parser.add_argument("--graph", type=Path, help="a CSV file with edges for the closure")
    parser.add_argument("--universities", type=int, help="number of universities for RDFS (10)")
    parser.add_argument("--seconds", type=float, help="minimum time of a first load for updates (20)")
    parser.add_argument(
        "--placement", choices=PLACEMENTS, action="append", help="only these placements (all)"
    )
    parser.add_argument("--repeat", type=int, default=1, help="repeats; the best time counts (1)")
    parser.add_argument("--memory", default="8g", help="memory of Spark's Java process (8g)")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    return parser.parse_args(arguments)


def _lines(bench: Bench, options: argparse.Namespace) -> Iterator[Line]:
    quick = options.quick
    places = tuple(options.placement or PLACEMENTS)
    if options.part in ("all", "load"):
        if options.graph is not None:
            edges = files.read_graph(options.graph)
        else:
            edges = graphs.gnp(500 if quick else 5000, 5.0)
        yield from bench.loads(_closure("closure", edges), places)
        yield from bench.loads(_universities(options.universities or (1 if quick else 10)), places)
        tree = graphs.tree(2_000 if quick else 100_000, 3)
        yield from bench.sql(_closure("closure of a tree", tree))
        yield from bench.loads(_closure("closure of a tree by doubling", tree, DOUBLING), ("shuffled",))
    if options.part in ("all", "updates"):
        for place in places:
            for works in _growing(place):
                yield from bench.updates(place, works, options.seconds or (1 if quick else 20))
    if options.part in ("all", "growth"):
        for count in (1, 2) if quick else (1, 3, 10, 30):
            yield from bench.loads(_universities(count), ("driver",), loop=count <= 3)


def _closure(name: str, edges: Any, text: str = CLOSURE) -> Work:
    return Work(name, text, "Edge", "Reach", table("Edge", edges))


def _universities(count: int) -> Work:
    data = rdf.union([rdf.university_ontology(), rdf.universities(count)])
    return Work(f"RDFS, universities: {count}", RDFS, "T", "T", data)


class Bench:
    def __init__(self, spark: Any, repeat: int) -> None:
        self.spark = spark
        self.repeat = repeat

    # -- first loads

    def loads(self, work: Work, places: Sequence[str], *, loop: bool = True) -> Iterator[Line]:
        """Measure a first load by each engine; all must find the same number of rows."""
        frame = self._frame(work.data)
        _print_title(f"{work.name}: {work.data.num_rows:,} facts", ("first load", "loop / it", "it / local"))
        little = _small(work)  # to warm up
        self._local(work)
        local = self._line(work, "local", lambda: self._local(work))
        lines = [local]
        if loop:
            work.loop(self._frame(little.data)).count()
            lines.append(self._line(work, "loop", lambda: int(work.loop(frame).count())))
        for line in lines:
            yield _shown(line, lines)
        for place in places:
            self._session(little, place)
            lines.append(self._line(work, place, lambda p=place: self._loaded(work, p, frame)))  # type: ignore[misc]
            yield _shown(lines[-1], lines)
            if lines[-1].rows != local.rows:
                raise SystemExit(f"{place} finds {lines[-1].rows:,} rows, not {local.rows:,}")

    def sql(self, work: Work) -> Iterator[Line]:
        """Measure recursive SQL and a first load, on data that recursive SQL can process."""
        frame = self._frame(work.data)
        lines = [
            self._line(work, "sql", lambda: int(spark_loops.recursive_sql(self.spark, frame).count())),
            *self.loads(work, PLACEMENTS),
        ]
        print(f"{'sql':10} {lines[0].seconds['load']:>10.2f} s", flush=True)
        yield from lines

    def _local(self, work: Work) -> int:
        db = tidelog.open(text=work.text)
        with db.transaction() as tx:
            tx.insert(work.given, work.data)
        return len(db[work.wanted])

    def _loaded(self, work: Work, place: str, frame: Any) -> int:
        db = tidelog.open(text=work.text, spark=self.spark, placement=place)
        with db.transaction() as tx:
            tx.insert(work.given, frame)
        return len(db[work.wanted])

    # -- updates

    def updates(self, place: str, works: Iterator[Work], seconds: float) -> Iterator[Line]:
        """Measure updates on the first of growing data sets whose first load takes long enough."""
        for work in works:
            self._session(_small(work), place)  # to warm up
            start = time.perf_counter()
            db = self._session(work, place)
            load = time.perf_counter() - start
            if load >= seconds:
                break
        _print_title(f"{work.name}: {work.data.num_rows:,} facts, {place}", ("first load", "1 %", "one fact"))
        line = Line(work.name, place, len(db[work.wanted]), {"load": load})
        order = np.random.default_rng(0).permutation(work.data.num_rows)
        for name, count in (("update", work.data.num_rows // 100), ("fact", 1)):
            rows = self._frame(work.data.take(pa.array(np.sort(order[:count]))))
            timed = [self._changed(db, work, rows) for _ in range(2)]
            line.seconds[f"{name}: delete"] = min(away for away, _ in timed)
            line.seconds[f"{name}: insert"] = min(back for _, back in timed)
        if len(db[work.wanted]) != line.rows:
            raise SystemExit(f"{place}: the number of rows after the updates differs from that before")
        print(_update_line(line), flush=True)
        yield line

    def _changed(self, db: tidelog.Session, work: Work, rows: Any) -> tuple[float, float]:
        """The seconds to delete facts and to insert them again."""
        start = time.perf_counter()
        with db.transaction() as tx:
            tx.delete(work.given, rows)
        middle = time.perf_counter()
        with db.transaction() as tx:
            tx.insert(work.given, rows)
        return middle - start, time.perf_counter() - middle

    # -- how

    def _session(self, work: Work, place: str) -> tidelog.Session:
        db = tidelog.open(text=work.text, spark=self.spark, placement=place)
        with db.transaction() as tx:
            tx.insert(work.given, self._frame(work.data))
        return db

    def _frame(self, data: Any) -> Any:
        return self.spark.createDataFrame(data).localCheckpoint()

    def _line(self, work: Work, engine: str, run: Callable[[], int]) -> Line:
        best = float("inf")
        for _ in range(self.repeat):
            gc.collect()  # garbage of earlier runs
            start = time.perf_counter()
            rows = run()
            best = min(best, time.perf_counter() - start)
        return Line(work.name, engine, rows, {"load": best})


def _growing(place: str) -> Iterator[Iterator[Work]]:
    """Series of growing data sets for a placement."""
    if place == "tasks":
        sizes = (1024, 4096, 8192, 12_000)
        yield (_closure(f"closure, R-MAT of {n:,} nodes", graphs.rmat(n, 9 * n)) for n in sizes)
    else:
        yield (_universities(count) for count in (1, 10, 30, 60, 90))
    if place == "shuffled":
        trees = ((n, graphs.tree(n, 3)) for n in (2_000, 100_000, 200_000, 400_000))
        yield (_closure(f"closure of a tree by doubling, {n:,} nodes", t, DOUBLING) for n, t in trees)


def _small(work: Work) -> Work:
    return Work(work.name, work.text, work.given, work.wanted, work.data.slice(0, 1000))


def _print_title(title: str, columns: Sequence[str]) -> None:
    print(f"\n{title}\n{'':10} " + " ".join(f"{column:>12}" for column in columns), flush=True)


def _shown(line: Line, lines: Sequence[Line]) -> Line:
    """Print a line with its ratios to earlier ones."""
    by = {other.engine: other.seconds["load"] for other in lines}
    load = line.seconds["load"]
    loop = f"{by['loop'] / load:>12.1f}" if "loop" in by else f"{'':>12}"
    print(f"{line.engine:10} {load:>10.2f} s {loop} {load / by['local']:>12.1f}", flush=True)
    return line


def _update_line(line: Line) -> str:
    load = line.seconds["load"]
    parts = [f"{line.engine:10} {load:>10.2f} s"]
    for name in ("update", "fact"):
        away, back = (line.seconds[f"{name}: {what}"] for what in ("delete", "insert"))
        share = f" ({away / load:.0%}, {back / load:.0%} of the load)" if name == "update" else ""
        parts.append(f"delete {away:.2f} s, insert {back:.2f} s{share}")
    return "  ".join(parts)


if __name__ == "__main__":
    raise SystemExit(main())
