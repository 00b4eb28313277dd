"""Facts of one day after the other, always the same, and what readers without Spark find of the results.

They come as whole files, or by a stream, which brings a batch of changes a day.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal, TypeAlias

from pyarrow import parquet

from pipeline.places import MERGED_FAN, SPEC, Place, Rows, expected
from tidelog import pipeline
from tidelog.store.local import LocalFiles
from tidelog.store.log import find_slots, last_manifests
from tidelog.store.manifest import SEGMENTS
from tidelog.store.sidecars import SIDECARS
from tidelog.store.states import STATES

Kind: TypeAlias = Literal["files", "stream"]

NODES = 9
KEPT = 2  # versions of a store
STREAM = """[streams.Edge]
format = "csv"
path = "edges"
sign = "sign"
options = { maxFilesPerTrigger = 1 }
"""
FILES = """[sources.Edge]
path = "Edge.csv"
"""


def facts(day: int, kind: Kind = "files") -> tuple[Rows, set[int]]:
    """Edges and blocked nodes of a day."""
    dice = random.Random(day)
    if kind == "stream":
        edges: Rows = set()
        for batch in range(day + 1):
            for edge, sign in changes(batch).items():
                (edges.add if sign > 0 else edges.discard)(edge)
        return edges, {0}
    edges = {(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(NODES)}
    return edges, {dice.randrange(NODES)}


def changes(batch: int) -> dict[tuple[int, int], int]:
    """Edges that a stream inserts (1) and deletes (-1), whether they are there or not."""
    dice = random.Random(batch)
    return {(dice.randrange(NODES), dice.randrange(NODES)): dice.choice([1, 1, -1]) for _ in range(NODES)}


def write(folder: Path, day: int, kind: Kind = "files", placement: str = "") -> None:
    spec = SPEC + MERGED_FAN
    assert FILES in spec
    if kind == "stream":
        spec = spec.replace(FILES, STREAM)
    if placement:
        spec = f'placement = "{placement}"\n{spec}'
    edges, blocked = facts(day, kind)
    Place(folder, spec).write(edges, blocked)
    if kind == "stream":
        inbox = folder / "edges"
        inbox.mkdir(exist_ok=True)
        rows = "".join(f"{sign},{src},{dst}\n" for (src, dst), sign in changes(day).items())
        (folder / "batch").write_text(f"sign,src,dst\n{rows}")
        (folder / "batch").rename(inbox / f"{day:06}.csv")


def wanted(day: int, kind: Kind = "files") -> Rows:
    return expected(*facts(day, kind))


def wanted_fans(day: int, kind: Kind = "files") -> Rows:
    return expected(*facts(day, kind), relation="Fan")


def fans(folder: Path) -> Rows | None:
    """What a reader of the merged output finds; None if there is none yet."""
    if not (folder / "out" / "Fan" / "current").exists():
        return None
    rows = [tuple(row.values()) for row in pipeline.read(folder / "out" / "Fan").to_pylist()]
    assert len(set(rows)) == len(rows)
    return set(rows)


def output(folder: Path) -> Rows | None:
    """What a reader of the results finds; None if there are none yet."""
    current = folder / "out" / "Reach" / "current"
    if not current.exists():
        return None
    rows = parquet.read_table(current).select(["src", "dst"]).to_pylist()
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    return {tuple(row.values()) for row in rows}


def added_up(folder: Path) -> Rows:
    """What a reader finds who adds up all changes."""
    sums: dict[tuple[int, ...], int] = {}
    for part in (folder / "out" / "changes").glob("commit=*/*.parquet"):
        for row in parquet.ParquetFile(part).read().to_pylist():
            key = (row["src"], row["dst"])
            sums[key] = sums.get(key, 0) + row["sign"]
    assert set(sums.values()) <= {0, 1}
    return {row for row, total in sums.items() if total}


def left_behind(folder: Path) -> set[str]:
    """The files of a store that no version needs, and unfinished ones of outputs."""
    store = LocalFiles(folder / "store")
    needed = {name for kept in last_manifests(store, find_slots(store), KEPT) for name in kept.needed}
    found = {name for room in (SEGMENTS, SIDECARS, STATES) for name in store.list(room)}
    unfinished = {p for p in (folder / "out").rglob("*") if p.name.startswith(("_prepared", "_temporary"))}
    return {*(found - needed), *map(str, unfinished)}
