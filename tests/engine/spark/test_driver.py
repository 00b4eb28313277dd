"""Sessions on Spark: DataFrames in, DataFrames out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from session.routes import PEOPLE, REACH
from tidelog import DataError, SessionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rows(frame: Any) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_frames_go_in_and_come_out(spark: SparkSession) -> None:
    db = tidelog.open(text=REACH, spark=spark)
    edges = spark.createDataFrame([("a", "b"), ("b", "c")], ["src", "dst"])
    with db.transaction() as tx:
        tx.insert("Edge", edges)
    assert rows(db["Reach"].to_spark()) == [("a", "b"), ("a", "c"), ("b", "c")]
    with db.transaction() as tx:
        tx.delete("Edge", edges.where("src = 'b'"))
    changes = tx.changes["Reach"].to_spark()
    assert changes.columns == ["src", "dst", "sign"]
    assert rows(changes) == [("a", "c", -1), ("b", "c", -1)]


def test_a_relation_that_did_not_change_has_an_empty_frame_of_changes(spark: SparkSession) -> None:
    db = tidelog.open(text=REACH, spark=spark)
    with db.transaction() as tx:
        pass
    assert tx.changes["Reach"].to_spark().columns == ["src", "dst", "sign"]
    assert rows(tx.changes["Reach"].to_spark()) == []


def test_columns_of_frames_are_matched_by_name(spark: SparkSession) -> None:
    db = tidelog.open(text=REACH, spark=spark)
    with db.transaction() as tx:
        tx.insert("Edge", spark.createDataFrame([("b", "a")], ["dst", "src"]))
    assert list(db["Edge"]) == [("a", "b")]


def test_a_null_where_no_option_is_declared_is_refused(spark: SparkSession) -> None:
    db = tidelog.open(text=REACH, spark=spark)
    with db.transaction() as tx:
        with pytest.raises(DataError, match="dst"):
            tx.insert("Edge", spark.createDataFrame([("a", None)], "src string, dst string"))
        tx.rollback()
    assert len(db["Edge"]) == 0


def test_nulls_are_none_in_options_and_back(spark: SparkSession) -> None:
    db = tidelog.open(text=PEOPLE, spark=spark)
    people = [(1, "Ada", 36), (2, "Bob", None)]
    with db.transaction() as tx:
        tx.insert("Person", spark.createDataFrame(people, "id long, name string, age long"))
    assert [tuple(row) for row in db["Person"].to_spark().orderBy("id").collect()] == people
    assert rows(db["Adult"].to_spark()) == [("Ada",)]


def test_unsigned_numbers_come_out_as_wider_numbers(spark: SparkSession) -> None:
    db = tidelog.open(text="input relation N(a: bit<8>, b: bit<16>, c: bit<32>, d: bit<64>)", spark=spark)
    with db.transaction() as tx:
        tx.insert("N", [(255, 65535, 2**32 - 1, 2**64 - 1)])
    assert rows(db["N"].to_spark()) == [(255, 65535, 2**32 - 1, 2**64 - 1)]
    with db.transaction() as tx:
        tx.delete("N", db["N"].to_spark())
    assert len(db["N"]) == 0


def test_a_session_without_spark_says_how_to_get_frames() -> None:
    db = tidelog.open(text=REACH)
    with pytest.raises(SessionError, match="spark=session"):
        db["Reach"].to_spark()


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(SessionError, match="SparkSession"):
        tidelog.open(text=REACH, spark="local")
