"""How large a store gets: many commits to a relation and what follows from it, in this process.

    python -m bench.store_size [--nodes N] [--commits N]

Each commit replaces 1 % of the edges of a tree. After each, the files of the store are added up and compared
with the relations as Parquet files (one each, as Arrow writes them, with zstd), and saved states with the
number of rows.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

import tidelog
from tidelog.session import Session
from tidelog.session.backends.resume import save
from tidelog.store.durable import Store, Update
from tidelog.store.states import Offer
from tidelog.tables.signed import SIGN

PROGRAM = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
SHARE = 0.01


@dataclass(frozen=True)
class Sizes:
    """Bytes after a commit, the number of rows, and how long the store took."""

    segments: int
    states: int
    newest_state: int
    parquet: int
    rows: int
    seconds: float


def edge(node: int, parent: int) -> tuple[str, str]:
    return f"https://example.org/department/{node:07}", f"https://example.org/department/{parent:07}"


def history(nodes: int, commits: int) -> Iterator[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """Inserted and deleted edges: first a tree, then 1 % of the nodes get other parents."""
    dice = random.Random(0)
    parents = {node: node // 3 for node in range(1, nodes)}
    yield [edge(*pair) for pair in parents.items()], []
    for _ in range(commits - 1):
        moved = dice.sample(range(1, nodes), int(nodes * SHARE))
        deleted = [edge(node, parents[node]) for node in moved]
        parents.update((node, dice.randrange(node)) for node in moved)
        yield [edge(node, parents[node]) for node in moved], deleted


def measured(folder: Path, nodes: int, commits: int) -> Iterator[Sizes]:
    db = tidelog.open(text=PROGRAM)
    relations = dict(db.program.relations)
    for inserted, deleted in history(nodes, commits):
        with db.transaction() as tx:
            tx.delete("Edge", deleted)
            tx.insert("Edge", inserted)
        changes = {name: _signed(tx.changes[name].to_arrow()) for name in relations}
        start = time.process_time()
        with Store(folder) as store:
            store.commit(Update(PROGRAM, relations, changes, state=Offer(partial(save, db), "bench")))
            store.mark_shown()
            newest = store.current.state if store.current is not None else None
        yield Sizes(
            _bytes(folder / "segments"),
            _bytes(folder / "states"),
            0 if newest is None else newest.size,
            sum(_as_parquet(db, name) for name in relations),
            sum(len(db[name]) for name in relations),
            time.process_time() - start,
        )


def _signed(table: Any) -> Any:
    return table.rename_columns([*table.column_names[:-1], SIGN])


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _as_parquet(db: Session, name: str) -> int:
    sink = pa.BufferOutputStream()
    parquet.write_table(db[name].to_arrow(), sink, compression="zstd")
    return int(sink.getvalue().size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--commits", type=int, default=50)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(measured(Path(folder) / "store", asked.nodes, asked.commits))
    for number, sizes in enumerate(found):
        print(
            f"commit {number:3}: {sizes.rows:10,} rows, Parquet {sizes.parquet / 1e6:7.2f} MB, "
            f"segments {sizes.segments / 1e6:7.2f} MB ({sizes.segments / sizes.parquet:.2f}), "
            f"states {sizes.states / 1e6:7.2f} MB ({sizes.newest_state / sizes.rows:.1f} bytes a row), "
            f"{sizes.seconds:.2f} s",
            flush=True,
        )
    most = max(sizes.segments / sizes.parquet for sizes in found)
    states = max(sizes.newest_state / sizes.rows for sizes in found)
    both = max(sizes.states / sizes.rows for sizes in found)
    seconds = sum(sizes.seconds for sizes in found)
    print(
        f"at most: segments {most:.2f} times the Parquet files, a state {states:.1f} bytes a row, all states "
        f"{both:.1f}; {seconds:.1f} s of CPU for the store"
    )


if __name__ == "__main__":
    main()
