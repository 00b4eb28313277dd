"""Profiles on Spark: what tasks count is what happened, and what frames do not count is left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import tidelog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
input relation Edge(x: int, y: int)
relation Reach(x: int, y: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
output relation Loop(x: int)
Loop(x) :- Reach(x, x).
"""
EDGES = [(i % 7, (3 * i + 1) % 9) for i in range(20)]


@pytest.mark.parametrize("placement", ["tasks", "shuffled"])
def test_what_is_known_of_rules_on_spark(spark: SparkSession, placement: str) -> None:
    db = tidelog.open(text=PROGRAM, facts={"Edge": EDGES}, spark=spark, placement=placement)
    profile = db.profile()
    strata = {stratum.name: stratum for stratum in profile.strata}
    edge, reach = set(db["Edge"]), set(db["Reach"])
    by_text = {rule.text: rule for rule in strata["Reach"].rules}
    once, joined = by_text["Reach(x, y) :- Edge(x, y)."], by_text["Reach(x, z) :- Reach(x, y), Edge(y, z)."]
    assert once.instances == len(edge)
    assert joined.instances == sum(y == z for _, y in reach for z, _ in edge)
    assert 0 < once.seconds + joined.seconds < strata["Reach"].seconds
    assert joined.orders
    assert not strata["Loop"].is_counted
    data = json.loads(profile.to_json())
    (loop,) = (s for s in data["strata"] if s["name"] == "Loop")
    assert loop["instances"] is None
    assert loop["rules"][0]["seconds"] is loop["rules"][0]["examined"] is None
    assert loop["rows"] == len(db["Loop"])
    assert "Loop(x) :- Reach(x, x)." in str(profile)
    assert profile.to_svg().startswith("<svg")
    assert "Loop" in profile.to_html()
    _, after = db.plan().split("Loop\n")
    assert "instances found" not in after  # they are not counted
    assert "0 instances" not in str(db.stats)
