"""Facts of one day after the other, always the same, and what readers without Spark find of the results."""

from __future__ import annotations

import random
from pathlib import Path

from pyarrow import parquet

from pipeline.places import MERGED_FAN, SPEC, Place, Rows, expected
from tidelog import pipeline

NODES = 9


def facts(day: int) -> tuple[Rows, set[int]]:
    """Edges and blocked nodes of a day."""
    dice = random.Random(day)
    edges: Rows = {(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(NODES)}
    return edges, {dice.randrange(NODES)}


def write(folder: Path, day: int) -> None:
    """The pipeline, with the placement that a file in its folder may name, and the facts of a day."""
    chosen = folder / "placement"
    placement = f'placement = "{chosen.read_text()}"\n' if chosen.exists() else ""
    Place(folder, spec=placement + SPEC + MERGED_FAN).write(*facts(day))


def wanted(day: int) -> Rows:
    return expected(*facts(day))


def wanted_fans(day: int) -> Rows:
    return expected(*facts(day), relation="Fan")


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
