"""Recursive sums and counts in sessions on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tidelog
from session.test_recursive_totals import CAR, PARTS
from tidelog import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.mark.parametrize("placement", [None, "tasks"])
def test_a_session_keeps_totals(spark: SparkSession, placement: str | None) -> None:
    db = tidelog.open(text=PARTS, spark=spark, placement=placement)
    with db.transaction() as tx:
        tx.insert("Uses", spark.createDataFrame(CAR, ["whole", "part", "pieces"]))
    assert sorted(db["Needs"]) == [("car", "bolt", 23), ("car", "wheel", 4), ("wheel", "bolt", 5)]
    with db.transaction() as tx:
        tx.insert("Needs", [("car", "wheel", 1)])
        tx.add_rule("Needs(p, p, n) :- Uses(p, _, k), var n = k.group_by(p).sum().")
        assert ("car", "car", 7) in list(tx.preview()["Needs"].inserted)
        tx.rollback()
    with db.transaction() as tx:
        tx.insert("Needs", [("car", "wheel", 1)])
    assert sorted(tx.changes["Needs"].inserted) == [("car", "bolt", 28), ("car", "wheel", 5)]
    assert sorted(db.query('Needs("car", q, n), n > 5')) == [("bolt", 28)]
    with pytest.raises(EngineError, match="depends on itself"), db.transaction() as tx:
        tx.insert("Uses", [("bolt", "car", 1)])
    assert len(db["Needs"]) == 3
