"""A second run of a pipeline, with and without the saved state of the first: `python -m bench.reopening`.

The second run inserts or deletes one per cent of the facts. *Opening* is the time from the store to a session
at the last commit; *run* is the rest: reading, comparing, evaluating, committing. Without the state, the
input relations are loaded and everything is recomputed. `--placement` is that of the pipeline; without it,
data is in the driver.

Both start from copies of the same store and run in turn in one process. The best of all repeats is shown.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from pyarrow import parquet

from bench.data import table
from bench.spark import CLOSURE
from tidelog import pipeline, rdf
from tidelog.bench import graphs
from tidelog.rdf.rdfs import RDFS

SHARE = 0.01
TRIPLES = "input relation Given(s: string, p: string, o: string)\nT(s, p, o) :- Given(s, p, o).\n"


@dataclass(frozen=True, slots=True)
class Work:
    """A program with one input relation, and its facts."""

    name: str
    text: str
    given: str
    data: Any


@dataclass(frozen=True, slots=True)
class Times:
    """Times in seconds, and the number of rows of all results."""

    opening: float
    run: float
    rows: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.reopening", description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--repeat", type=int, default=3, help="repeats; the best time counts (3)")
    parser.add_argument("--placement", choices=["driver", "tasks", "shuffled"], default="driver")
    options = parser.parse_args(arguments)
    from tidelog.engine.spark.runtime.session import local_session  # slow to load

    spark = local_session()
    for work in _works(quick=options.quick):
        with tempfile.TemporaryDirectory() as folder:
            _measure(Bench(work, Path(folder), spark, options.placement), options.repeat)
    return 0


def _works(*, quick: bool) -> Iterator[Work]:
    tree = table("Edge", graphs.tree(2_000 if quick else 190_000, 3))
    yield Work("closure of a tree", CLOSURE, "Edge", tree)
    count = 1 if quick else 5
    data = rdf.union([rdf.university_ontology(), rdf.universities(count)])
    text = RDFS.replace("input relation T", "output relation T") + TRIPLES
    yield Work(f"RDFS, universities: {count}", text, "Given", data)


def _measure(bench: Bench, repeat: int) -> None:
    first = bench.run()
    bench.keep()
    found: dict[str, list[Times]] = {"with the state": [], "without": []}
    for number in range(repeat):
        for name, times in found.items():
            bench.go_back(number, state=name != "without")
            times.append(bench.run())
    size, rows = bench.size, first.rows + len(bench.work.data)
    print(
        f"{bench.work.name}: {first.rows:,} rows, first run {first.run:.2f} s, "
        f"state {size / 2**20:.0f} MB, {size / rows:.1f} bytes a row"
    )
    for name, times in found.items():
        best = min(times, key=lambda t: t.opening)
        print(f"  {name}: opening {best.opening:.2f} s, run {best.run:.2f} s", flush=True)


class Bench:
    """A pipeline in a folder."""

    def __init__(self, work: Work, folder: Path, spark: Any, placement: str) -> None:
        self.work = work
        self._folder = folder
        self._spark = spark
        (folder / "program.dl").write_text(work.text)
        source = {work.given: {"path": "facts.parquet"}}
        tables = {
            "program": "program.dl",
            "store": "store",
            "sources": source,
            "placement": placement,
        }
        self._spec = pipeline.spec_from(tables, folder=folder)
        self._write(0)

    def _write(self, number: int) -> None:
        """Write the facts of a run, without half a per cent, which differs from run to run."""
        dice = Random(number)
        kept = [dice.random() >= SHARE / 2 for _ in range(len(self.work.data))]
        parquet.write_table(self.work.data.filter(np.array(kept)), self._folder / "facts.parquet")

    def keep(self) -> None:
        shutil.copytree(self._folder / "store", self._folder / "kept")

    @property
    def size(self) -> int:
        return sum(file.stat().st_size for file in (self._folder / "kept" / "states").iterdir())

    def go_back(self, number: int, *, state: bool) -> None:
        """Restore the store after the first run, and write the facts of a second."""
        shutil.rmtree(self._folder / "store")
        shutil.copytree(self._folder / "kept", self._folder / "store")
        if not state:
            shutil.rmtree(self._folder / "store" / "states")
        self._write(number + 1)

    def run(self) -> Times:
        with pipeline.open(self._spec, spark=self._spark) as opened:
            start = time.perf_counter()
            opened.session()
            middle = time.perf_counter()
            outcome = opened.run()
            return Times(middle - start, time.perf_counter() - middle, sum(outcome.sizes.values()))


if __name__ == "__main__":
    raise SystemExit(main())
