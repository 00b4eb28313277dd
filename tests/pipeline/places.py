"""A small pipeline in a folder, for tests: edges and blocked nodes, and who reaches whom."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tidelog

PROGRAM = """input relation Edge(src: int, dst: int)
input relation Blocked(node: int)
output relation Reach(src: int, dst: int)
output relation Fan(src: int, n: int)
Reach(x, y) :- Edge(x, y), not Blocked(y).
Reach(x, z) :- Reach(x, y), Edge(y, z), not Blocked(z).
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
"""

SPEC = """program = "reach.dl"
store = "store"

[sources.Edge]
path = "Edge.csv"

[sources.Blocked]
path = "Blocked.json"

[outputs.Reach]
path = "out/Reach"

[changes.Reach]
path = "out/changes"
"""

MERGED_FAN = """
[outputs.Fan]
path = "out/Fan"
mode = "merge"
"""

Rows = set[tuple[int, ...]]


class Place:
    """A folder with a pipeline."""

    def __init__(self, folder: Path, spec: str = SPEC, program: str = PROGRAM) -> None:
        self.folder = folder
        self.spec = folder / "pipeline.toml"
        self.spec.write_text(spec)
        (folder / "reach.dl").write_text(program)

    def write(self, edges: Iterable[tuple[int, ...]], blocked: Iterable[int]) -> None:
        """The facts of a day, whole files as another system would export them."""
        rows = "".join(f"{src},{dst}\n" for src, dst in sorted(edges))
        (self.folder / "Edge.csv").write_text(f"src,dst\n{rows}")
        lines = "".join(f'{{"node": {node}}}\n' for node in sorted(blocked))
        (self.folder / "Blocked.json").write_text(lines)

    def output(self, spark: Any) -> Rows | None:
        """What a reader of the results finds; None if there are none yet."""
        current = self.folder / "out" / "Reach" / "current"
        return rows(spark.read.parquet(str(current))) if current.exists() else None

    def added_up(self, spark: Any) -> Rows:
        """What a reader finds who adds up all changes."""
        folder = self.folder / "out" / "changes"
        if not folder.exists() or not any(f.name.startswith("commit=") for f in folder.iterdir()):
            return set()
        sums: dict[tuple[int, ...], int] = {}
        for row in spark.read.parquet(str(folder)).select("src", "dst", "sign").collect():
            sums[row[:2]] = sums.get(row[:2], 0) + row[2]
        assert set(sums.values()) <= {0, 1}
        return {row for row, sum_ in sums.items() if sum_}


def rows(frame: Any) -> Rows:
    listed = [tuple(row) for row in frame.collect()]
    assert len(set(listed)) == len(listed)
    return set(listed)


def expected(
    edges: Iterable[tuple[int, ...]],
    blocked: Iterable[int],
    program: str = PROGRAM,
    relation: str = "Reach",
) -> Rows:
    """What follows, by a session without Spark."""
    db = tidelog.open(text=program)
    with db.transaction() as tx:
        tx.insert("Edge", sorted(edges))
        tx.insert("Blocked", [(node,) for node in sorted(blocked)])
    return set(db[relation])
