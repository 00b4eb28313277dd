"""A commit of one fact takes few jobs and writes little where tasks maintain a stratum."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import tidelog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

CLOSURE = """
input relation Edge(x: int, y: int)
output relation Reach(x: int, y: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
LABELS = """
input relation Edge(x: int, y: int)
output relation Label(x: int, l: int)
Label(x, l) :- Edge(x, _), var l = x.group_by(x).min().
Label(y, l) :- Label(x, a), Edge(x, y), var l = a.group_by(y).min().
"""
JOBS = 3  # for each step
LITTLE = 20_000  # bytes; the states have 100 times as many


@pytest.mark.parametrize(("text", "placement"), [(CLOSURE, "tasks"), (LABELS, "shuffled")])
def test_one_fact_takes_few_jobs_and_writes_little(spark: SparkSession, text: str, placement: Any) -> None:
    db = tidelog.open(text=text, spark=spark, placement=placement)
    with db.transaction() as tx:
        tx.insert("Edge", [(2 * i, 2 * i + 1) for i in range(20_000)])
    assert db.stats.written > 50 * LITTLE
    with db.transaction() as tx:  # may write the states again, with what tasks sent each other
        tx.insert("Edge", [(1, 1_000_000)])
    for fact, is_new in (((1, 1_000_001), True), ((1, 1_000_001), False)):
        with db.transaction() as tx:
            (tx.insert if is_new else tx.delete)("Edge", [fact])
        assert sum(len(change) for change in tx.changes.values()) in (2, 3)
        found = db.stats.to_dict()
        for stratum in found["strata"]:
            if stratum["steps"]:
                assert stratum["jobs"] <= JOBS * stratum["steps"], stratum
                assert stratum["written"] <= LITTLE, stratum
                assert stratum["strategy"] == "update"
        assert found["jobs"] >= sum(stratum["jobs"] for stratum in found["strata"]) > 0
        assert json.loads(db.stats.to_json()) == found
