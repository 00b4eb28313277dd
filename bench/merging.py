"""A run of a pipeline in which 1 % of the facts change, by the mode of its output: `python -m bench.merging`.

The output is written as a whole, or only its changes are merged into it. The facts are chains of five and six
edges, so an edge has few consequences. Shown is the processor time (user and system) of Python and of Spark's
Java process, and what the run wrote. The modes run in turn in one process, each on a store of its own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet

from bench.spark import CLOSURE
from tidelog import pipeline

CHAINS = 220_000
SHARE = 0.01
MODES = {"whole": {}, "merged": {"mode": "merge"}}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.merging", description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--repeat", type=int, default=2, help="runs with changes (2)")
    options = parser.parse_args(arguments)
    from tidelog.engine.spark.runtime.session import local_session  # slow to load

    spark = local_session()
    edges = _chains(CHAINS // 100 if options.quick else CHAINS)
    with tempfile.TemporaryDirectory() as folder:
        specs = {name: _spec(Path(folder) / name, more) for name, more in MODES.items()}
        for number in range(1 + options.repeat):
            _write(edges, Path(folder), number)
            for name, spec in specs.items():
                _measure(f"run {number}, {name}", spec, Path(folder) / name, spark)
    return 0


def _chains(count: int) -> Any:
    """The edges of chains, half of five edges and half of six."""
    starts = np.arange(count, dtype=np.int64) * 10
    parts = [starts[: None if i < 5 else count // 2] + i for i in range(6)]
    nodes = np.concatenate(parts)
    return pa.table({"src": nodes, "dst": nodes + 1})


def _spec(folder: Path, more: dict[str, str]) -> pipeline.Spec:
    folder.mkdir()
    (folder / "closure.dl").write_text(CLOSURE)
    tables = {"program": "closure.dl", "store": "store", "sources": {"Edge": {"path": "../Edge.parquet"}}}
    outputs = {"Reach": {"path": "out", **more}}
    return pipeline.spec_from({**tables, "outputs": outputs}, folder=folder)


def _write(edges: Any, folder: Path, number: int) -> None:
    """Write the facts of a run, without half a per cent, which differs from run to run."""
    kept = np.random.default_rng(number).random(edges.num_rows) >= SHARE / 2
    parquet.write_table(edges.filter(kept), folder / "Edge.parquet")


def _measure(title: str, spec: pipeline.Spec, folder: Path, spark: Any) -> None:
    before, start = processor_time(), time.perf_counter()
    outcome = pipeline.run(spec, spark=spark)
    used, seconds = processor_time() - before, time.perf_counter() - start
    version = folder / "out" / f"v{outcome.commit}"
    files = [f.stat() for f in version.rglob("*.parquet")]
    size = sum(f.st_size for f in files if f.st_nlink == 1) / 2**20
    if pipeline.read(folder / "out").num_rows != outcome.sizes["Reach"]:
        raise SystemExit(f"{title}: the output does not have {outcome.sizes['Reach']:,} rows")
    print(
        f"{title:16} {used:6.1f} s of processor time, {seconds:6.1f} s, output of {size:6.1f} MB written, "
        f"{outcome.changes['Reach']} of {outcome.sizes['Reach']:,} rows",
        flush=True,
    )


def processor_time() -> float:
    """The processor time of this process and those that it started."""
    this = psutil.Process()
    times = [process.cpu_times() for process in (this, *this.children(recursive=True))]
    return sum(t.user + t.system for t in times) + times[0].children_user + times[0].children_system


if __name__ == "__main__":
    raise SystemExit(main())
