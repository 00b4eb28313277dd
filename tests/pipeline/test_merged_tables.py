"""Changes are merged into tables of databases, which then have the rows of the results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from tidelog import pipeline
from tidelog.errors import PipelineError
from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.sinks.databases import Names, staging_name, statements
from tidelog.pipeline.sinks.keys import expect_partitions
from tidelog.program.draft import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """input relation Price(item: string, note: option<int>, cents: option<int>)
output relation Shown(item: string, note: option<int>, cents: option<int>)
Shown(i, n, c) :- Price(i, n, c).
"""
Prices = set[tuple[str, int | None, int | None]]


class Shop:
    """A pipeline with one output in a database: Derby, which comes with Spark."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        assert spark._jvm is not None
        spark._jvm.System.setProperty("derby.stream.error.file", str(folder / "derby.log"))
        self.folder = folder
        self.spark = spark
        self.options = {
            "url": f"jdbc:derby:{folder / 'db'};create=true",
            "dbtable": '"The Shop"',
            "createTableColumnTypes": "item VARCHAR(40)",
        }
        (folder / "p.dl").write_text(PROGRAM)

    def run(self, prices: Iterable[tuple[Any, ...]], **more: object) -> pipeline.Outcome:
        frame = self.spark.createDataFrame(list(prices), "item string, note bigint, cents bigint")
        frame.createOrReplaceTempView("prices")
        sink = {"format": "jdbc", "mode": "merge", "options": self.options, **more}
        tables = {"program": "p.dl", "store": "store", "sources": {"Price": {"table": "prices"}}}
        spec = pipeline.spec_from({**tables, "outputs": {"Shown": sink}}, folder=self.folder)
        return pipeline.run(spec, spark=self.spark)

    def rows(self) -> list[tuple[Any, ...]]:
        made = self.spark.read.format("jdbc").options(**{k: self.options[k] for k in ("url", "dbtable")})
        return sorted(map(tuple, made.load().collect()), key=repr)


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Shop:
    return Shop(tmp_path, spark)


@pytest.mark.parametrize("key", [[], ["item"]])
def test_a_database_gets_the_changes_and_only_once(
    shop: Shop, key: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first: Prices = {("tea", None, None), ("milk", 3, 120), ("salt", 0, 40)}
    second: Prices = {("tea", None, 5), ("milk", 3, 120), ("rice", None, None)}
    shop.run(first, key=key)
    assert shop.rows() == sorted(first, key=repr)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # after the database was written
        patch.setattr("tidelog.store.durable.Store.mark_shown", stop)
        with pytest.raises(KeyboardInterrupt):
            shop.run(second, key=key)
    assert shop.rows() == sorted(second, key=repr)
    shop.run(second, key=key)
    assert shop.rows() == sorted(second, key=repr)
    if key:
        with pytest.raises(PipelineError, match=r"outputs\.Shown\.key: 1 row has the same item as another"):
            shop.run(second | {("tea", 4, 9)}, key=key)
        assert shop.rows() == sorted(second, key=repr)


def test_a_table_that_exists_keeps_its_definition(shop: Shop) -> None:
    shop.options["dbtable"] = "goods"
    connection = shop.spark._jvm.java.sql.DriverManager.getConnection(shop.options["url"])  # type: ignore[union-attr]
    statement = connection.createStatement()
    statement.executeUpdate(
        "create table goods (cents bigint, item varchar(20) primary key, note bigint default 5, "
        "seen int default 7)"
    )
    statement.executeUpdate("insert into goods(item) values 'old'")
    shop.run({("tea", None, 1), ("milk", 6, 2)}, key="item")
    shop.run({("tea", 8, None)}, key="item")
    found = statement.executeQuery("select item, note, cents, seen from goods")
    assert found.next()
    assert [found.getObject(i) for i in (1, 2, 3, 4)] == ["tea", 8, None, 7]
    assert not found.next()
    connection.close()


def test_a_table_is_not_partitioned_by_an_empty_text() -> None:
    db = tidelog.open(text=PROGRAM)
    sink = Sink("outputs", "Shown", "delta", table="t", mode="merge", partition_by=("item",))
    for item in ("tea", ""):
        with db.transaction() as tx:
            tx.insert("Price", [(item, None, None)])
        changes = tx.changes["Shown"].to_arrow()
        if item:
            expect_partitions(sink, db["Shown"], changes, is_new=True)
            continue
        for is_new in (True, False):
            with pytest.raises(PipelineError, match=r"outputs\.Shown\.partition_by: item has an empty text"):
                expect_partitions(sink, db["Shown"], changes, is_new=is_new)


# -- the statements, on a database that comes with Python


def test_merging_changes_twice_changes_nothing() -> None:
    import sqlite3

    relation = load(PROGRAM).relations["Shown"]
    columns = {n: f'"{n}"' for n in ("item", "note", "cents")}
    names = Names("t", staging_name("t"), columns, {**columns, "sign": "sign"})
    before = [("a", None, 1), ("b", "x", None), ("c", None, None)]
    for key in ([], ["item"]):
        db = sqlite3.connect(":memory:")
        db.execute("create table t (item, note, cents)")
        db.execute(f"create table {names.staged} (item, note, cents, sign)")
        db.executemany("insert into t values (?, ?, ?)", before)
        changes = [("c", None, None, -1), ("d", None, 4, 1), ("b", "x", 2, 1)]
        changes += [] if key else [("b", "x", None, -1)]
        db.executemany(f"insert into {names.staged} values (?, ?, ?, ?)", changes)
        for _ in range(2):
            for text in statements(names, relation, key, "sign"):
                db.execute(text)
            wanted = [("a", None, 1), ("b", "x", 2), ("d", None, 4)]
            assert sorted(db.execute("select * from t").fetchall()) == wanted


def test_the_table_beside_another_one_is_quoted_like_it() -> None:
    assert staging_name("a.t") == "a.t_tidelog_changes"
    assert staging_name('a."t"') == 'a."t_tidelog_changes"'
