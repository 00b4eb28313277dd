"""The first minute of a new user: how long a fresh process takes until its first results.

Run with `python -m bench.first_use`. Each figure is the best and the median of several processes.
An editable installation must have compiled its kernels before.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Final

__all__ = ["main"]

_REPEATS: Final = 15

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


def main() -> None:
    """Print a table."""
    print(f"{'milliseconds':16}{'import':>14}{'open':>14}{'first commit':>14}{'process':>14}")
    for name, code in (("tidelog", _TIDELOG), ("duckdb", _DUCKDB)):
        runs = [_run(code) for _ in range(_REPEATS)]
        columns = [sorted(column) for column in zip(*runs, strict=True)]
        cells = [f"{1000 * c[0]:.0f} ({1000 * statistics.median(c):.0f})" for c in columns]
        print(f"{name:16}" + "".join(f"{cell:>14}" for cell in cells))


def _run(code: str) -> list[float]:
    """The seconds that the parts of one process take, and those of the process."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    whole = time.perf_counter() - start
    return [*json.loads(done.stdout), whole]


if __name__ == "__main__":
    main()
