"""Tables with versions and a feed, by a stand-in for Delta, and databases by a watermark.

The law: after every run the relation has the rows that the table has now. Deletions in a database are seen
when it is read again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sizes import size
from tidelog import pipeline
from tidelog.errors import PipelineError
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.sources import delta
from tidelog.pipeline.sources.delta import State
from tidelog.pipeline.sources.reading import Raw, read_raw
from tidelog.program.declared import Relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """input relation Price(item: string, cents: option<int>)
output relation Cheap(item: string, cents: option<int>)
Cheap(i, c) :- Price(i, c).
"""
SCHEMA = "item string, cents long, note string"
Row = tuple[str, int | None, str]


class Table:
    """A stand-in for Delta: a table in memory with all its versions."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.identity = 0
        self.versions: list[Counter[Row]] = [Counter()]
        self.without_feed: set[int] = set()

    def log(self, _: Source) -> str:
        return f"{self.identity} {len(self.versions)}"

    def state(self, _: Source) -> State:
        return State(str(self.identity), len(self.versions) - 1, 0)

    def rows(self, source: Source, relation: Relation, version: int) -> Raw:
        return self._raw(source, relation, self.versions[version].elements(), SCHEMA)

    def feed(self, source: Source, relation: Relation, first: int, last: int) -> Raw:
        if self.without_feed & set(range(first, last + 1)):
            raise PipelineError("sources.Price: no feed")
        changes: list[Any] = []
        for version in range(first, last + 1):
            new, old = self.versions[version], self.versions[version - 1]
            changes += [(*row, "insert") for row in (new - old).elements()]
            changes += [(*row, "delete") for row in (old - new).elements()]
        signed = replace(source, sign=delta.CHANGE, sign_map=delta.SIGNS)
        return self._raw(signed, relation, changes, f"{SCHEMA}, {delta.CHANGE} string")

    def _raw(self, source: Source, relation: Relation, rows: Any, schema: str) -> Raw:
        self.spark.createDataFrame(list(rows), schema).createOrReplaceTempView("standin")
        return read_raw(self.spark, replace(source, format="", paths=(), table="standin"), relation)

    @property
    def wanted(self) -> set[tuple[str, int | None]]:
        return {row[:2] for row in self.versions[-1]}


@pytest.fixture
def table(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Table:
    made = Table(spark)
    monkeypatch.setattr("tidelog.pipeline.sources.intake.Delta", lambda _: made)
    return made


def spec_of(folder: Path, source: dict[str, Any], **more: object) -> pipeline.Spec:
    (folder / "p.dl").write_text(PROGRAM)
    tables = {"program": "p.dl", "store": "store", "sources": {"Price": source}, **more}
    return pipeline.spec_from(tables, folder=folder)


def shown(spec: pipeline.Spec) -> set[tuple[Any, ...]]:
    return set(pipeline.stored_session(spec)["Cheap"])


@pytest.mark.parametrize("seed", range(size(1, 20)))
def test_any_versions_of_a_table_give_what_it_has(
    seed: int, tmp_path: Path, spark: SparkSession, table: Table
) -> None:
    dice = random.Random(seed)
    spec = spec_of(tmp_path, {"format": "delta", "path": "prices"})
    for step in range(10):
        for _ in range(dice.randrange(1, 3)):
            rows = table.versions[-1]
            gone = Counter(dice.sample(sorted(rows.elements(), key=repr), dice.randrange(len(rows) + 1)))
            new = Counter((dice.choice("ab"), dice.choice([1, None]), dice.choice("xyz")) for _ in range(4))
            table.versions.append(rows - gone + new)
        is_recreated = step == 6
        if is_recreated:
            table.identity += 1
        if step == 4:
            table.without_feed.add(len(table.versions) - 1)
        told = str(pipeline.run(spec, spark=spark).sources["Price"])
        assert ("another table" in told) == is_recreated
        assert ("its change feed could not be read from version" in told) == (step == 4)
        assert shown(spec) == table.wanted


def test_an_unchanged_version_costs_no_job(
    tmp_path: Path, spark: SparkSession, table: Table, jobs: Callable[[], int]
) -> None:
    spec = spec_of(tmp_path, {"format": "delta", "path": "prices"})
    table.versions.append(Counter({("tea", 1, ""): 2}))
    with pipeline.open(spec, spark=spark) as work:
        work.run()
        before = jobs()
        assert not work.run().is_new
        assert jobs() == before
        assert work.run(reread=True).is_new is False


def test_bad_rows_of_a_table_may_leave_it(tmp_path: Path, spark: SparkSession, table: Table) -> None:
    spec = spec_of(tmp_path, {"format": "delta", "path": "prices"}, quarantine="bad")
    (tmp_path / "p.dl").write_text(PROGRAM.replace("option<int>", "int"))
    table.versions.append(Counter({("tea", 1, ""): 1, ("salt", None, ""): 1}))
    assert pipeline.run(spec, spark=spark).sources["Price"].bad == 1
    table.versions.append(Counter({("rice", 2, ""): 1}))
    assert str(pipeline.run(spec, spark=spark).sources["Price"]) == "1 added, 1 removed"
    assert shown(spec) == {("rice", 2)}


# -- watermarks


class Database:
    """A table in a database that comes with Spark."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.url = f"jdbc:derby:memory:{folder.name};create=true"
        spark._jvm.System.setProperty("derby.stream.error.file", str(folder / "derby.log"))  # type: ignore[union-attr]
        self.connection = spark._jvm.java.sql.DriverManager.getConnection(self.url)  # type: ignore[union-attr]
        self.statement = self.connection.createStatement()
        self.do("create table prices (item varchar(20), cents bigint, seen timestamp)")

    def do(self, text: str) -> None:
        self.statement.executeUpdate(text)

    def insert(self, item: str, cents: int | None, at: int) -> None:
        value = "null" if cents is None else cents
        self.do(f"insert into prices values ('{item}', {value}, timestamp('2026-01-01 00:00:00.{at:06}'))")

    def rows(self) -> set[tuple[Any, ...]]:
        found = self.statement.executeQuery("select item, cents from prices")
        made = set()
        while found.next():
            made.add((found.getObject(1), found.getObject(2)))
        return made

    def source(self, **more: object) -> dict[str, Any]:
        return {
            "format": "jdbc",
            "options": {"url": self.url, "dbtable": "prices"},
            "columns": {"item": "ITEM", "cents": "CENTS"},
            "watermark": "SEEN",
            **more,
        }


@pytest.fixture
def database(spark: SparkSession, tmp_path: Path) -> Iterator[Database]:
    made = Database(spark, tmp_path)
    yield made
    made.connection.close()


def test_rows_are_replaced_by_their_key_from_the_watermark_on(
    database: Database, tmp_path: Path, spark: SparkSession
) -> None:
    dice = random.Random(3)
    spec = spec_of(tmp_path, database.source(key="item"))
    for at in range(6):
        for item in dice.sample("abcde", 3):
            database.do(f"delete from prices where item = '{item}'")
            database.insert(item, dice.choice([None, 1, 2, 3]), at // 2)  # rows with an equal watermark
        pipeline.run(spec, spark=spark)
        assert shown(spec) == database.rows()
    assert not pipeline.run(spec, spark=spark).is_new
    database.do("delete from prices where item = 'a'")
    pipeline.run(spec, spark=spark)
    assert shown(spec) > database.rows()
    assert "0 added, 1 removed" in str(pipeline.run(spec, spark=spark, reread=True))
    assert shown(spec) == database.rows()


def test_rows_are_added_from_the_watermark_on(
    database: Database, tmp_path: Path, spark: SparkSession
) -> None:
    spec = spec_of(tmp_path, database.source())
    database.insert("a", 1, 5)
    pipeline.run(spec, spark=spark)
    database.insert("b", 1, 5)
    database.insert("a", 1, 5)
    assert "1 added, 0 removed" in str(pipeline.run(spec, spark=spark))
    database.insert("early", 1, 4)
    assert not pipeline.run(spec, spark=spark).is_new
    database.do("insert into prices values ('never', 1, null)")
    with pytest.raises(PipelineError, match="column SEEN: "):
        pipeline.run(spec, spark=spark)
    database.do("delete from prices where seen is null")
    pipeline.run(spec, spark=spark, reread=True)
    assert shown(spec) == database.rows()


@pytest.mark.parametrize(
    ("watermark", "problem"),
    [
        ("SIEN", "missing column SIEN; the source has ITEM, CENTS, SEEN"),
        ("ITEM", "column ITEM has the type string"),
    ],
)
def test_a_watermark_that_orders_nothing_is_reported(
    watermark: str, problem: str, database: Database, tmp_path: Path, spark: SparkSession
) -> None:
    spec = spec_of(tmp_path, database.source(watermark=watermark))
    with pytest.raises(PipelineError, match=rf"sources\.Price\.watermark: {problem}"):
        pipeline.run(spec, spark=spark)


def test_two_rows_of_a_key_have_no_last_one(database: Database, tmp_path: Path, spark: SparkSession) -> None:
    spec = spec_of(tmp_path, database.source(key="item"))
    database.insert("a", 1, 1)
    pipeline.run(spec, spark=spark)
    database.insert("a", 2, 2)
    database.insert("a", 3, 2)
    with pytest.raises(
        PipelineError, match=r"two rows with item = 'a' have the same SEEN and different values"
    ):
        pipeline.run(spec, spark=spark)
    with pytest.raises(PipelineError, match=r"two rows with item = 'a'"):
        pipeline.run(spec, spark=spark, reread=True)
