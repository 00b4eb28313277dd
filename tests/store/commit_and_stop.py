"""Run as a program by `test_durable`: opens a store, commits, and leaves at a step as if it were killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow as pa

from tidelog.data import types
from tidelog.program.declared import Column, Relation, Role
from tidelog.store.disk import Disk
from tidelog.store.durable import Store, Update
from tidelog.store.local import LocalFiles
from tidelog.tables.signed import signed_schema

EDGE = Relation("Edge", (Column("src", types.INT), Column("dst", types.INT)), Role.INPUT)


class Leaving(Disk):
    def __init__(self, at: int) -> None:
        self._left = at

    def step(self, what: str, path: Path) -> None:
        if not self._left:
            os._exit(9)
        self._left -= 1


def main(folder: Path, at: int) -> None:
    with Store(LocalFiles(folder, Leaving(at))) as store:
        number = store.next_commit
        rows = pa.table([[number], [number + 1], pa.array([1], pa.int8())], schema=signed_schema(EDGE))
        store.commit(Update("", {"Edge": EDGE}, {"Edge": rows}))
    print(number)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
