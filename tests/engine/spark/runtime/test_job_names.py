"""Whoever looks at Spark's pages, or at a terminal, can follow what Tidelog is doing there."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from tidelog.progress import Line, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

RECURSIVE = "Reach(x, z) :- Reach(x, y), Edge(y, z)."
PROGRAM = f"""
input relation Edge(src: string, dst: string) primary key (src, dst)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
{RECURSIVE}
"""
JOINED = PROGRAM.replace("Edge(y, z).", "Reach(y, z), Reach(_, z).")
SENT = PROGRAM.replace("Reach(x, y), Edge(y, z).", "Reach(y, a), Edge(x, y), Edge(a, z).")
EDGES = [("a", "b"), ("b", "c"), ("c", "d")]


@pytest.fixture
def names_of_jobs(spark: SparkSession) -> Callable[[], list[str | None]]:
    """The names of the jobs that were started since the last call."""
    java: Any = spark.sparkContext._jsc
    store = java.sc().statusStore()
    seen = {job.jobId() for job in _jobs(store)}

    def names() -> list[str | None]:
        java.sc().listenerBus().waitUntilEmpty()
        new = sorted((j for j in _jobs(store) if j.jobId() not in seen), key=lambda j: int(j.jobId()))
        seen.update(job.jobId() for job in new)
        return [j.description().get() if j.description().isDefined() else None for j in new]

    names()
    return names


def _jobs(store: Any) -> Iterator[Any]:
    found = store.jobsList(None)
    return (found.apply(i) for i in range(found.size()))


@pytest.mark.parametrize("placement", ["driver", "tasks", "shuffled"])
def test_jobs_are_named_after_what_is_done(
    spark: SparkSession, names_of_jobs: Callable[[], list[str | None]], placement: str
) -> None:
    edges = spark.createDataFrame(EDGES, "src string, dst string")
    db = tidelog.open(text=PROGRAM if placement != "shuffled" else JOINED, spark=spark, placement=placement)
    with db.transaction() as tx:
        names_of_jobs()
        tx.insert("Edge", edges)
        assert set(names_of_jobs()) == {"Tidelog · ingesting Edge"}
    names = set(names_of_jobs())
    if placement == "driver":
        assert names == set()
        return
    assert all(name is not None and name.startswith("Tidelog commit 1") for name in names)
    assert "Tidelog commit 1 · checking keys" in names
    if placement == "tasks":
        assert "Tidelog commit 1 · Reach" in names
    else:
        assert {f"Tidelog commit 1 · Reach · round {n}" for n in (2, 3)} <= names
    assert len(list(db["Reach"])) == 6
    assert set(names_of_jobs()) == {"Tidelog · reading Reach"}


def test_a_rule_that_needs_jobs_of_its_own_is_named(
    spark: SparkSession, names_of_jobs: Callable[[], list[str | None]]
) -> None:
    rule = "Next(n + 1) :- N(n), n < 2."
    text = f"input relation N(n: int)\noutput relation Next(n: int)\n{rule}"
    db = tidelog.open(text=text, spark=spark, placement="shuffled")
    with db.transaction() as tx:
        tx.insert("N", [(1,), (2,)])
    assert f"Tidelog commit 1 · Next: {rule}" in names_of_jobs()


@pytest.mark.parametrize("fails", [False, True])
def test_the_name_that_the_user_gave_is_put_back(
    spark: SparkSession, names_of_jobs: Callable[[], list[str | None]], fails: bool
) -> None:
    spark.sparkContext.setJobDescription("mine")
    try:
        db = tidelog.open(text=PROGRAM, spark=spark, placement="tasks", max_rows=1 if fails else None)
        try:
            with db.transaction() as tx:
                tx.insert("Edge", EDGES)
        except tidelog.EngineError:
            assert fails
        names_of_jobs()
        spark.range(3).count()
        assert set(names_of_jobs()) == {"mine"}
    finally:
        context: Any = spark.sparkContext
        context.setJobDescription(None)
    spark.range(3).count()
    assert set(names_of_jobs()) == {None}


@pytest.mark.parametrize("placement", ["driver", "tasks", "shuffled"])
def test_a_function_hears_of_every_round_before_it_runs(spark: SparkSession, placement: str) -> None:
    heard: list[Progress] = []
    text = PROGRAM if placement != "shuffled" else JOINED
    db = tidelog.open(text=text, spark=spark, placement=placement, progress=heard.append)
    with db.transaction() as tx:
        tx.insert("Edge", EDGES)
    if placement == "driver":  # too quick to be told of
        return
    told = [p for p in heard if p.name == "Reach"]
    assert all((p.number, p.total) == (2, 2) for p in told)
    if placement == "shuffled":
        assert {(p.round, p.delta, p.rows) for p in told} >= {(1, 3, 3), (2, 2, 5), (3, 1, 6)}
    else:
        assert told


def test_steps_of_tasks_that_send_are_told_of(
    spark: SparkSession, names_of_jobs: Callable[[], list[str | None]]
) -> None:
    heard: list[Progress] = []
    db = tidelog.open(text=SENT, spark=spark, placement="shuffled", progress=heard.append)
    with db.transaction() as tx:
        tx.insert("Edge", EDGES)
    assert any(p.delta and p.rows for p in heard if p.round)
    assert any(name is not None and "Reach · round" in name for name in names_of_jobs())


def test_the_line_goes_on_while_spark_works(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking = import_module("tidelog.engine.spark.runtime.progress")
    monkeypatch.setattr(ticking, "EVERY", 0.001)
    monkeypatch.setenv("COLUMNS", "200")
    stream = io.StringIO()
    db = tidelog.open(text=PROGRAM, spark=spark, placement="tasks", progress=Line(stream))
    with db.transaction() as tx:
        tx.insert("Edge", EDGES)
    shown = stream.getvalue().split("\r\x1b[2K")
    assert any(s.startswith("█████░░░░░ Reach (2 of 2), ") and " of 2 tasks" in s for s in shown)
    assert shown[-1] == ""


def test_spark_s_own_bar_is_off(spark: SparkSession) -> None:
    assert spark.conf.get("spark.ui.showConsoleProgress") == "false"
