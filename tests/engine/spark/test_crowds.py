"""Sessions on Spark with several threads at them: whole commits, the right ones, wherever the data is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from session.crowd import PROGRAM, Crowd
from session.threads import in_threads
from sizes import size
from tidelog.session.backends.adaptive import AdaptiveBackend
from tidelog.session.backends.spark.state import SparkBackend

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

PRICES = "input relation Price(item: int, cents: int) primary key (item)"
TWINS = """
input relation A(x: int)
output relation B(x: int)
output relation C(x: int)
B(x) :- A(x).
C(x) :- B(x).
"""


def test_a_crowd_sees_whole_commits_in_the_driver(spark: SparkSession) -> None:
    Crowd(tidelog.open(text=PROGRAM, spark=spark, placement="driver"), 1).run(size(4, 60), 1e-5)


@pytest.mark.skipif(not size(0, 1), reason="most of a minute for each placement: in the nightly size")
@pytest.mark.parametrize("placement", ["shuffled", "tasks"])
def test_a_crowd_sees_whole_commits_in_frames(spark: SparkSession, placement: str) -> None:
    db = tidelog.open(text=PROGRAM, spark=spark, placement=placement)
    crowd = Crowd(db, 2, bulk=40, edits=2, tries_conflicts=False, rounds=size(3, 1000))
    crowd.run(size(1, 20), 1e-4, readers=1)


def test_a_crowd_sees_whole_commits_while_the_data_moves_into_frames(
    spark: SparkSession, small_budget: Callable[[int], None]
) -> None:
    small_budget(60)
    db = tidelog.open(text=PROGRAM, spark=spark)
    crowd = Crowd(db, 3, bulk=70, edits=3, tries_conflicts=False, rounds=size(4, 1000))
    crowd.run(size(1, 20), 1e-4, readers=1)
    assert isinstance(db._state, AdaptiveBackend)
    assert isinstance(db._state.current, SparkBackend)


def test_data_does_not_move_while_a_snapshot_is_taken(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tidelog.open(text=TWINS, spark=spark)
    home = db._state
    assert isinstance(home, AdaptiveBackend)
    with db.transaction() as tx:
        tx.insert("A", [(1,)])
    here, adopted, adopt = home.current, threading.Event(), SparkBackend.adopt

    def noted(*arguments: Any) -> None:
        adopt(*arguments)
        adopted.set()

    monkeypatch.setattr(SparkBackend, "adopt", noted)

    def snapshot() -> None:
        with home.locks.reading:
            adopted.wait()
            time.sleep(0.1)  # to overtake, if it could
            assert home.current is here

    in_threads(home.move, snapshot)
    assert isinstance(home.current, SparkBackend)
    assert home.current.locks is home.locks
    assert set(db["C"]) == {(1,)}


def test_a_query_leaves_what_an_open_transaction_has_said(spark: SparkSession) -> None:
    db = tidelog.open(text=PRICES, spark=spark, placement="shuffled")
    with db.transaction() as tx:
        tx.insert("Price", [(1, 10), (2, 20)])
        tx.upsert("Price", [(2, 30)])
        assert len(db.query("Price(i, c)")) == 0
    assert sorted(db["Price"]) == [(1, 10), (2, 30)]


def test_rows_that_replace_others_move_along(
    spark: SparkSession, small_budget: Callable[[int], None]
) -> None:
    small_budget(50)
    db = tidelog.open(text=PRICES, spark=spark)
    with db.transaction() as tx:
        tx.insert("Price", [(i, i) for i in range(30)])
    with db.transaction() as tx:
        tx.upsert("Price", [(i, i + 1) for i in range(30)])
        tx.insert("Price", [(i, i) for i in range(30, 60)])
    assert isinstance(db._state, AdaptiveBackend)
    assert isinstance(db._state.current, SparkBackend)
    assert set(db["Price"]) == {(i, i + 1 if i < 30 else i) for i in range(60)}
