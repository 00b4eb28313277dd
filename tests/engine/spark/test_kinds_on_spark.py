"""Multisets, streams and earlier commits in sessions on Spark: the golden cases in every placement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelog
from conformance.case import cases
from conformance.sessions import SessionReasoner
from conformance.test_kinds import check
from sizes import size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES = {case.name: case for case in cases(Path(__file__).parents[2] / "conformance" / "kinds")}


# the first of them in the normal size: each of the others takes minutes
PLACED = (("multisets", "driver"), ("streams", "tasks"), ("delays", "shuffled"), ("multisets", "shuffled"))


@pytest.mark.parametrize(("name", "placement"), PLACED[: size(1, len(PLACED))])
def test_a_case_of_kinds_gives_what_it_expects_on_spark(
    spark: SparkSession, name: str, placement: str
) -> None:
    check(CASES[name], SessionReasoner(spark=spark, placement=placement))


def test_equal_rows_of_a_data_frame_are_counted(spark: SparkSession) -> None:
    db = tidelog.open(
        text="input multiset M(x: int)\noutput multiset N(x: int)\nN(x) :- M(x).",
        spark=spark,
    )
    with db.transaction() as tx:
        tx.insert("M", spark.createDataFrame([(1,), (1,), (2,)], "x long"))
    assert sorted(map(tuple, db["N"].to_spark().collect())) == [(1, 2), (2, 1)]
    assert sorted(map(tuple, tx.changes["N"].to_spark().collect())) == [(1, 2), (2, 1)]
