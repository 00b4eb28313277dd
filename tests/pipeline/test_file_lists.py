"""After any edits of its files, a source has the rows of all its files; only what changed is read.

The law: after every run, outputs, the sums of changes and the input equal a computation from scratch over the
files of that moment, and so does what the store knows of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from sizes import size
from tidelog import pipeline
from tidelog.data.file_names import file_name
from tidelog.errors import PipelineError
from tidelog.pipeline.sources.intake import Found
from tidelog.store.durable import Store
from tidelog.store.sidecars import COUNT, COUNTS, FILE, FILES, added_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """input relation Sale(item: string, cents: option<int>, day: string)
output relation Sold(item: string, cents: option<int>, day: string)
Sold(i, c, d) :- Sale(i, c, d).
"""
Row = tuple[str, int | None, str]


class Shop:
    """A folder of sales in folders by day, and a pipeline."""

    def __init__(self, folder: Path, spark: SparkSession, form: str = "csv", **more: object) -> None:
        self.spark = spark
        self.form = form
        self.files: dict[str, list[Row]] = {}
        folder = folder / "work"
        folder.mkdir()
        (folder / "p.dl").write_text(PROGRAM)
        tables = {
            "program": "p.dl",
            "store": "store",
            "quarantine": "bad",
            "sources": {"Sale": {"format": form, "path": "../in", **more}},
            "outputs": {"Sold": {"path": "out", "mode": "merge"}},
            "changes": {"Sold": {"path": "changes"}},
        }
        self.spec = pipeline.spec_from(tables, folder=folder)
        self.folder = folder
        self.source = folder.parent / "in"
        self.source.mkdir()

    def write(self, name: str, rows: list[tuple[str, int | None]]) -> None:
        """A file in the folder `day=…` of its name."""
        file = self.source / name
        file.parent.mkdir(exist_ok=True)
        if self.form == "parquet":
            items, cents = [i for i, _ in rows], [c for _, c in rows]
            parquet.write_table(pa.table({"item": items, "cents": pa.array(cents, pa.int64())}), file)
        else:
            file.write_text("item,cents\n" + "".join(f"{i},{'' if c is None else c}\n" for i, c in rows))
        day = name.partition("/")[0].partition("=")[2]
        self.files[name] = [(i, c, day) for i, c in rows]

    def remove(self, name: str) -> None:
        (self.source / name).unlink()
        del self.files[name]

    def run(self, *, reread: bool = False) -> pipeline.Outcome:
        return pipeline.run(self.spec, spark=self.spark, reread=reread)

    @property
    def wanted(self) -> set[Row]:
        return {row for rows in self.files.values() for row in rows}

    def shown(self) -> set[Row]:
        table = pipeline.read(self.folder / "out")
        rows = list(zip(*(table[n].to_pylist() for n in ("item", "cents", "day")), strict=True))
        assert len(rows) == len(set(rows))
        return set(rows)

    def added_up(self) -> set[Row]:
        sums: Counter[Row] = Counter()
        for file in (self.folder / "changes").glob("commit=*/*.parquet"):
            for row in parquet.ParquetFile(file).read().to_pylist():
                sums[row["item"], row["cents"], row["day"]] += row["sign"]
        assert set(sums.values()) <= {0, 1}
        return {row for row, total in sums.items() if total}

    def known(self) -> tuple[list[tuple[Any, ...]], Counter[Row]]:
        """The rows of each file and the surplus that the store knows."""
        with Store(self.folder / "store") as store:
            rows, surplus = store.sidecar("Sale", FILES), store.sidecar("Sale", COUNTS)
            assert rows is not None
            assert surplus is not None
            listed = [row for part in rows.sidecar.parts for row in rows.live(part).to_pylist()]
            assert rows.sidecar.rows == len(listed)
            more = [surplus.live(part) for part in surplus.sidecar.parts]
            counts = added_up(pa.concat_tables(more)).to_pylist() if more else []
        facts = [tuple(v for n, v in row.items() if n != FILE) for row in listed]
        return facts, Counter({(r["item"], r["cents"], r["day"]): r[COUNT] for r in counts})

    def expect_right(self) -> None:
        wanted = self.wanted
        assert self.shown() == self.added_up() == wanted
        facts, surplus = self.known()
        apart = [row for rows in self.files.values() for row in set(rows)]
        assert Counter(facts) == Counter(apart)
        assert surplus == Counter({row: n - 1 for row, n in Counter(apart).items() if n > 1})


@pytest.mark.parametrize(
    ("form", "seed"), [("csv", 1), ("parquet", 2), *(("csv", n) for n in range(3, size(3, 40)))]
)
def test_any_edits_of_files_give_what_all_files_give(
    form: str, seed: int, tmp_path: Path, spark: SparkSession
) -> None:
    dice = random.Random(seed)
    shop = Shop(tmp_path, spark, form)

    def rows() -> list[tuple[str, int | None]]:
        return [(dice.choice("abcd"), dice.choice([1, 2, None])) for _ in range(dice.randrange(1, 6))]

    shop.write("day=07/first", rows())
    for step in range(size(8, 15)):
        for _ in range(dice.randrange(3)):
            names = sorted(shop.files)
            if len(names) > 1 and dice.random() < 0.4:
                shop.remove(dice.choice(names))
            elif dice.random() < 0.4:
                shop.write(dice.choice(names), rows())
            else:
                shop.write(f"day={dice.choice(['07', '8', 'a%2Fb'])}/{step}-{dice.randrange(9)}", rows())
        shop.files = {n: [(i, c, d.replace("%2F", "/")) for i, c, d in r] for n, r in shop.files.items()}
        told = str(shop.run())
        assert "in full" not in told
        shop.expect_right()


def test_a_file_that_comes_back_as_it_was_counts_once(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark)
    shop.write("day=1/a", [("tea", 1)])
    shop.write("day=1/b", [("tea", 1), ("salt", 2)])
    shop.run()
    away = tmp_path / "away"
    for _ in range(2):
        (tmp_path / "in" / "day=1" / "b").rename(away)
        kept = shop.files.pop("day=1/b")
        shop.run()
        shop.expect_right()
        away.rename(tmp_path / "in" / "day=1" / "b")
        shop.files["day=1/b"] = kept
        shop.run()
        shop.expect_right()


def test_the_values_in_names_of_folders_have_the_declared_types(tmp_path: Path, spark: SparkSession) -> None:
    program = """input relation Sale(item: string, cents: int, day: date, shop: option<int>)
output relation Sold(item: string, day: date, shop: option<int>)
Sold(i, d, s) :- Sale(i, _, d, s).
"""
    shop = Shop(tmp_path, spark, columns={"shop": "no"})
    (shop.folder / "p.dl").write_text(program)
    for folder in ("day=2026-01-31/no=007", "day=2026-01-31/no=__HIVE_DEFAULT_PARTITION__", "day=soon/no=1"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        (tmp_path / "in" / folder / "a").write_text('item,cents\n"tea, green",1\n')
    told = shop.run()
    assert told.sources["Sale"].bad == 1
    assert "day=soon/no=1/a: column day, in the name of the folder: " in str(told)
    found = pipeline.read(shop.folder / "out").to_pylist()
    assert sorted((str(r["day"]), r["shop"] or 0) for r in found) == [("2026-01-31", 0), ("2026-01-31", 7)]


def test_an_unchanged_source_and_removed_files_cost_no_job(
    tmp_path: Path, spark: SparkSession, jobs: Callable[[], int]
) -> None:
    shop = Shop(tmp_path, spark)
    shop.write("day=1/a", [("tea", 1)])
    shop.write("day=1/b", [("tea", 1), ("salt", 2)])
    with pipeline.open(shop.spec, spark=spark) as work:
        work.run()
        before = jobs()
        assert not work.run().is_new
        assert jobs() == before
        found = Found()
        shop.remove("day=1/b")
        work.intake.take(found, work.spec.sources["Sale"], work.program.relations["Sale"], reread=False)
        assert jobs() == before
        assert found.deleted["Sale"].num_rows == 1


def test_a_store_that_knows_no_files_reads_all_once(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark)
    shop.write("day=1/a", [("tea", 1)])
    with pytest.MonkeyPatch.context() as patch:  # as a version without sidecars did
        patch.setattr("tidelog.pipeline.sources.by_files.ByFiles._keep", lambda *_: None)
        shop.run()
    shop.write("day=1/b", [("tea", 1), ("salt", 2)])
    assert "in full, since the store did not know the files" in str(shop.run())
    shop.expect_right()
    shop.remove("day=1/a")
    assert "in full" not in str(shop.run())
    shop.expect_right()


def test_a_run_that_fails_leaves_what_was_known(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark, bad_rows="fail")
    shop.write("day=1/a", [("tea", 1)])
    shop.write("day=1/b", [("tea", 1)])
    shop.run()
    shop.remove("day=1/b")
    (tmp_path / "in" / "day=1" / "c").write_text("item,cents\nrice,many\n")
    with pytest.raises(PipelineError, match="1 row does not match the schema"):
        shop.run()
    shop.write("day=1/c", [("rice", 3)])
    shop.run()
    shop.expect_right()
    files = {f.name for f in (shop.folder / "store" / "sidecars" / file_name("Sale")).iterdir()}
    assert len(files) < 5


def test_large_files_go_the_same_way(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.pipeline.sources.taking.SMALL", 0)
    shop = Shop(tmp_path, spark)
    shop.write("day=1/a", [("tea", 1), ("tea", 1)])
    shop.write("day=2/b", [("tea", 1), ("rice", None)])
    shop.run()
    shop.expect_right()
    shop.write("day=1/a", [("salt", 1)])
    shop.write("day=1/c", [("tea", 1)])
    shop.run()
    shop.expect_right()
