"""Sidecars hold what was added up, in few parts, in the version that the manifest names."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sizes import size
from store.stops import Stopped, Stopping
from tidelog.data import types
from tidelog.errors import StoreError
from tidelog.program.declared import Column, Relation, Role
from tidelog.store.durable import Store, Update
from tidelog.store.local import LocalFiles
from tidelog.store.sidecars import COUNT, COUNTS, FILE, FILES, SIDECARS, SidecarChange, added_up

R = Relation("R", (Column("x", types.INT), Column("y", types.Option(types.Vec(types.INT)))), Role.INPUT)
FIELDS = [pa.field("x", pa.int64()), pa.field("y", pa.list_(pa.int64()))]

Row = tuple[int, tuple[int, ...] | None]


def table(rows: list[tuple[Any, ...]], last: str) -> Any:
    schema = pa.schema([*FIELDS, pa.field(last, pa.int64(), nullable=False)])
    columns = list(zip(*rows, strict=True)) or [()] * 3
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def listed(rows: Any) -> list[tuple[Any, ...]]:
    return [
        (r["x"], None if r["y"] is None else tuple(r["y"]), *list(r.values())[2:]) for r in rows.to_pylist()
    ]


class Model:
    """What the sidecars of a relation should have: the rows of each file, and counts."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.files: dict[int, set[Row]] = {}
        self.counts: Counter[Row] = Counter()

    def row(self) -> Row:
        return self.dice.randrange(5), self.dice.choice([None, (), (1,), (1, 2)])

    def update(self, store: Store) -> Update:
        """A commit that removes some files and adds others, some of which were there before."""
        gone = self.dice.sample(sorted(self.files), self.dice.randrange(len(self.files) + 1) // 2)
        rows = store.sidecar("R", FILES)
        found, dead = ([], {}) if rows is None else rows.of_files(gone)
        assert sorted(map(repr, (r for t in found for r in listed(t)))) == sorted(
            repr((*row, file)) for file in gone for row in self.files[file]
        )
        for file in gone:
            del self.files[file]
        new = {
            f: {self.row() for _ in range(self.dice.randrange(1, 9))}
            for f in self.dice.sample(range(-9, 9), 2)
        }
        new = {file: rows for file, rows in new.items() if file not in self.files}
        self.files.update(new)
        step = Counter({self.row(): self.dice.choice([-1, 1, 2]) for _ in range(3)})
        self.counts = Counter({r: n for r in {*self.counts, *step} if (n := self.counts[r] + step[r])})
        added = table([(*row, file) for file, rows in new.items() for row in rows], FILE)
        changes = {
            FILES: SidecarChange("d", added, dead),
            COUNTS: SidecarChange("d", table([(*r, n) for r, n in step.items()], COUNT)),
        }
        return Update("", {"R": R}, {}, sidecars={"R": changes})

    def expect(self, store: Store) -> None:
        rows, counts = store.sidecar("R", FILES), store.sidecar("R", COUNTS)
        assert rows is not None
        assert counts is not None
        found = [row for part in rows.sidecar.parts for row in listed(rows.live(part))]
        assert Counter(found) == Counter((*row, file) for file, rows in self.files.items() for row in rows)
        parts = [counts.live(part) for part in counts.sidecar.parts]
        sums = listed(added_up(pa.concat_tables(parts))) if parts else []
        assert {(x, y): n for x, y, n in sums} == self.counts
        assert len(rows.sidecar.parts) < 8
        assert sum(p.rows for p in rows.sidecar.parts) <= 2 * len(found) + 1
        asked = table([(*row, 0) for row in [(0, None), (1, (1,))]], COUNT).drop_columns([COUNT])
        matched = [row for part in rows.matching(asked) for row in listed(part)]
        assert set(matched) >= {row for row in found if row[:2] in [(0, None), (1, (1,))]}


@pytest.mark.parametrize("seed", range(size(4, 100)))
def test_sidecars_hold_what_was_added_up(seed: int, tmp_path: Path) -> None:
    model = Model(seed)
    for _ in range(12):
        with Store(tmp_path) as store:
            for _ in range(model.dice.randrange(1, 4)):
                store.commit(model.update(store))
                model.expect(store)
            needed = {part.file for part in store.current.parts} if store.current else set()
            assert needed <= set(store.at.list(SIDECARS))


def test_stopping_a_commit_leaves_the_sidecars_of_one_version(tmp_path: Path) -> None:
    origin = Model(1)
    with Store(tmp_path / "origin") as store:
        for _ in range(3):
            store.commit(origin.update(store))
    step, is_done = 0, False
    while not is_done:
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "origin", copy)
        models = [deepcopy(origin), deepcopy(origin)]  # of the version before, and of the one after
        is_done = True
        try:
            with Store(LocalFiles(copy, Stopping(step))) as store:
                store.commit(models[1].update(store))
        except Stopped:
            is_done = False
        with Store(copy) as store:
            assert store.current is not None
            models[store.current.commit - 2].expect(store)
        shutil.rmtree(copy)
        step += 1
    assert step > 10


def test_a_relation_that_goes_takes_its_sidecars_with_it(tmp_path: Path) -> None:
    model = Model(3)
    with Store(tmp_path) as store:
        store.commit(model.update(store))
        store.commit(Update("", {"R": R}, {}))
        model.expect(store)
        store.commit(Update("", {"R": R}, {}, sidecars={"R": {}}))
        assert store.sidecar("R", FILES) is None
        store.commit(Update("", {}, {}))
        assert not list((tmp_path / SIDECARS).rglob("*.parquet"))


def test_a_corrupt_sidecar_is_reported(tmp_path: Path) -> None:
    model = Model(3)
    with Store(tmp_path) as store:
        store.commit(model.update(store))
    (file,) = (tmp_path / SIDECARS / "R").glob("*-files-*.parquet")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with Store(tmp_path) as store:
        rows = store.sidecar("R", FILES)
        assert rows is not None
        with pytest.raises(StoreError, match="its digest differs from the manifest"):
            rows.of_files(model.files)
