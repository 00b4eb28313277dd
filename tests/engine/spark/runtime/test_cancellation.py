"""What Spark is at is stopped when nobody wants it any more: each of these would take hours."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

import tidelog
from tidelog.engine.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.progress import Progress

pytestmark = [
    pytest.mark.spark,
    pytest.mark.parametrize("placement", ["tasks", "shuffled"]),
    pytest.mark.parametrize("number", [10_000, 30_000], ids=["in the driver", "in tasks"]),
]

SLOW = """
input relation P(x: int)
output relation Q(x: int)
Q(slowly(x)) :- P(x).
"""


def slowly(x: int) -> int:
    if x > 0:
        time.sleep(1)
    return x


def test_an_interrupt_ends_the_jobs_of_a_commit(spark: SparkSession, placement: str, number: int) -> None:
    timers: list[threading.Timer] = []
    opened: list[bool] = []

    def soon(progress: Progress) -> None:
        if progress.name == "Q" and opened and not timers:
            timers.append(threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)))
            timers[0].start()

    db = tidelog.open(text=SLOW, functions=[slowly], spark=spark, placement=placement, progress=soon)
    opened.append(True)
    with pytest.raises(KeyboardInterrupt), db.transaction() as tx:
        tx.insert("P", [(i,) for i in range(1, number)])
    assert len(db["P"]) == 0
    assert spark.range(3).count() == 3
    with db.transaction() as tx:
        tx.insert("P", [(-1,), (0,)])
    assert sorted(db["Q"]) == [(-1,), (0,)]


def test_a_timeout_ends_the_jobs_of_a_commit(
    spark: SparkSession, placement: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tidelog.open(text=SLOW, functions=[slowly], spark=spark, placement=placement)
    limits = Limits(timeout=3.0)
    monkeypatch.setattr(db._state, "_limits", limits)
    told = r"exceeded the time limit of 3 s; the running rule was `Q\(slowly\(x\)\) :- .*raise it with "
    with pytest.raises(tidelog.EngineError, match=told), db.transaction() as tx:
        tx.insert("P", [(i,) for i in range(1, number)])
    assert len(db["P"]) == 0
