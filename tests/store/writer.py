"""Run as a program by tests that kill it: commits to a store without end.

Commit n holds `edges_at(n)`, whoever makes it. After each commit its changes are written to a file of their
own, and the commit is marked as shown, as a pipeline does with its sinks.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow import parquet

from store.histories import Rows, make, rows, update
from tidelog.store.durable import Store
from tidelog.store.files import Files
from tidelog.store.manifest import SEGMENTS
from tidelog.store.places import files_at, place_of

__all__ = ["added_up", "edges_at", "write_for_ever"]


def edges_at(commit: int) -> Rows:
    """Edges that change a little from commit to commit, and now and then a lot."""
    dice = random.Random(commit)
    few = {(commit % 7, commit), *((dice.randrange(50), dice.randrange(50)) for _ in range(3))}
    return {(i, i + 1) for i in range(60 + 40 * (commit % 11 == 10))} | few


def write_for_ever(files: Files, log: Path) -> None:
    with Store(files) as store:
        if not store.is_shown:
            _show(store, log)
        while True:
            store.commit(update(store, edges_at(store.next_commit)))
            _show(store, log)


def _show(store: Store, log: Path) -> None:
    assert store.current is not None
    changes = []
    for segment in store.changes_segments("Edge"):
        content = store.at.read(f"{SEGMENTS}/{segment.file}")
        changes += sorted(rows(parquet.read_table(pa.BufferReader(content))))
    unfinished = log / "unfinished"
    unfinished.write_text(json.dumps(changes))
    unfinished.replace(log / f"{store.current.commit}.json")
    store.mark_shown()


def added_up(log: Path, commit: int) -> Rows:
    """The sum of all changes up to a commit."""
    sums: dict[tuple[int, ...], int] = {}
    for number in range(commit + 1):
        for *row, sign in json.loads((log / f"{number}.json").read_text()):
            sums[tuple(row)] = sums.get(tuple(row), 0) + sign
    assert set(sums.values()) <= {0, 1}
    return {row for row, sum_ in sums.items() if sum_}


if __name__ == "__main__":
    with TemporaryDirectory() as elsewhere:
        make(Path(elsewhere), 1)  # all that takes its time when it is first done
    print("ready", flush=True)
    options = json.loads(sys.argv[3])
    write_for_ever(files_at(place_of(sys.argv[1], Path(), options)), Path(sys.argv[2]))
