"""What the change of some files does to the counts of rows, whichever way it is computed."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa

from sizes import size
from tidelog.pipeline.sources.ledger import change_of_files
from tidelog.store.sidecars import COUNT, FILE

FIELDS = [pa.field("item", pa.string(), False), pa.field("cents", pa.int64())]
SCHEMA = pa.schema([*FIELDS, pa.field(FILE, pa.int64(), False)])


def test_rows_count_once_for_each_file_that_has_them() -> None:
    dice = random.Random(1)

    def row(file: int) -> tuple[str, int | None, int]:
        return dice.choice("ab"), dice.choice([1, None]), file

    for _ in range(size(200, 20_000)):
        added = [row(file) for file in range(dice.choice([0, 1, 1, 2])) for _ in range(dice.randrange(1, 5))]
        lost = [{row(file) for _ in range(dice.randrange(4))} for file in range(8, 8 + dice.randrange(3))]
        change, files = change_of_files(table(added), [table(sorted(rows, key=repr)) for rows in lost])
        assert Counter(tuple(found.values()) for found in files.to_pylist()) == Counter(set(added))
        wanted = Counter(found[:2] for found in set(added))
        wanted.subtract(found[:2] for rows in lost for found in rows)
        assert {(r["item"], r["cents"]): r[COUNT] for r in change.to_pylist()} == {
            found: count for found, count in wanted.items() if count
        }
        assert change.num_rows == len([count for count in wanted.values() if count])


def table(rows: list[tuple[str, int | None, int]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)
