"""A run of a pipeline of whose source one file in a hundred changes: `python -m bench.file_lists`.

The files of the source are known apart (the default), or only as a whole, as those of a format whose files
depend on each other. Shown is the processor time (user and system) of Python and of Spark's Java process, and
what the store holds. Both ways run in turn in one process, each on a store of its own.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bench.merging import processor_time
from tidelog import pipeline

PROGRAM = """input relation Edge(src: int, dst: int)
output relation Fan(src: int, n: int)
Fan(x, n) :- Edge(x, y), var n = y.group_by(x).count().
"""
FILES = 100
ROWS = 12_000
WAYS = {"apart": {}, "as a whole": {"options": {"mergeSchema": True}}}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.file_lists", description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    options = parser.parse_args(arguments)
    from tidelog.engine.spark.runtime.session import local_session  # slow to load

    spark = local_session()
    rows = ROWS // 100 if options.quick else ROWS
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "in").mkdir()
        for number in range(FILES):
            _write(folder, number, number, rows)
        specs = {way: _spec(folder / way, more) for way, more in WAYS.items()}
        steps: dict[str, Callable[[], object]] = {
            "first": lambda: None,
            "one file replaced": lambda: _write(folder, 5, 1_000, rows),
            "one file removed": (folder / "in" / "7.parquet").unlink,
            "one file added": lambda: _write(folder, 200, 2_000, rows),
            "nothing": lambda: None,
        }
        works = {way: pipeline.open(spec, spark=spark) for way, spec in specs.items()}
        for title, step in steps.items():
            step()
            for way, work in works.items():
                before = processor_time()
                outcome = work.run()
                used = processor_time() - before
                print(f"{title:18} {way:11} {used:6.2f} s, {outcome.sources.get('Edge')}", flush=True)
        for way, work in works.items():
            work.close()
            held = {kind: _size(folder / way / "store" / kind) for kind in ("segments", "sidecars")}
            print(f"{way:11} store: {held}, source: {_size(folder / 'in')}")
    return 0


def _spec(folder: Path, more: Mapping[str, object]) -> pipeline.Spec:
    folder.mkdir()
    (folder / "fan.dl").write_text(PROGRAM)
    source = {"path": "../in", "format": "parquet", **more}
    tables = {"program": "fan.dl", "store": "store", "sources": {"Edge": source}}
    return pipeline.spec_from(tables, folder=folder)


def _write(folder: Path, number: int, seed: int, rows: int) -> None:
    dice = np.random.default_rng(seed)
    columns = [dice.integers(100_000, size=rows), dice.integers(10**9, size=rows)]
    parquet.write_table(pa.table(columns, ["src", "dst"]), folder / "in" / f"{number}.parquet")


def _size(folder: Path) -> str:
    return f"{sum(f.stat().st_size for f in folder.rglob('*') if f.is_file()) / 1e6:.1f} MB"


if __name__ == "__main__":
    raise SystemExit(main())
