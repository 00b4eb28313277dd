"""A primary key has one row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tidelog
from session.routes import PEOPLE, REACH
from tidelog import DataError, Session

ANN, BOB = (1, "Ann", 30), (2, "Bob", None)


@pytest.fixture
def db() -> Session:
    db = tidelog.open(text=PEOPLE)
    with db.transaction() as tx:
        tx.insert("Person", [ANN, BOB])
    return db


def test_a_row_with_a_key_that_is_taken_is_refused(db: Session) -> None:
    with (
        pytest.raises(DataError, match=r"Person: the key id = 1 .*\(1, 'Ann', 30\) and \(1, 'Eve', 5\)"),
        db.transaction() as tx,
    ):
        tx.insert("Person", [(3, "Cid", 1), (1, "Eve", 5)])
    assert sorted(db["Person"], key=str) == [ANN, BOB]


def test_two_rows_of_one_key_in_one_transaction_are_refused(db: Session) -> None:
    with db.transaction() as tx:
        with pytest.raises(DataError, match=r"\(7, 'A', 1\) and \(7, 'B', 2\)"):
            tx.insert("Person", [(7, "A", 1), (7, "B", 2)])
        tx.insert("Person", [(7, "A", 1)])
        with pytest.raises(DataError, match=r"\(7, 'A', 1\) and \(7, 'B', 2\)"):
            tx.insert("Person", [(7, "B", 2)])
    assert tx.changes["Person"].inserted == [(7, "A", 1)]


def test_the_same_row_again_is_no_conflict(db: Session) -> None:
    with db.transaction() as tx:
        tx.insert("Person", [ANN, ANN])
    assert not tx.changes


def test_a_key_whose_row_was_deleted_is_free(db: Session) -> None:
    with db.transaction() as tx:
        tx.delete("Person", [ANN])
        tx.insert("Person", [(1, "Eve", 5)])
    assert tx.changes["Person"].inserted == [(1, "Eve", 5)]
    assert tx.changes["Person"].deleted == [ANN]


def test_upsert_takes_the_place_of_what_has_the_key(db: Session) -> None:
    with db.transaction() as tx:
        tx.insert("Person", [(3, "Cid", 1)])
        tx.upsert("Person", [(1, "Ann", 31), (3, "Cid", 2), (4, "Dan", 4)])
        tx.upsert("Person", [(4, "Dan", 44)])
    assert sorted(tx.changes["Person"].inserted) == [(1, "Ann", 31), (3, "Cid", 2), (4, "Dan", 44)]
    assert tx.changes["Person"].deleted == [ANN]
    assert tx.changes["Adult"].inserted == [("Dan",)]


def test_upsert_refuses_two_rows_of_one_key(db: Session) -> None:
    with db.transaction() as tx, pytest.raises(DataError, match="the key id = 1"):
        tx.upsert("Person", [(1, "A", 1), (1, "B", 2)])


def test_rows_are_deleted_by_key(db: Session) -> None:
    with db.transaction() as tx:
        tx.insert("Person", [(3, "Cid", 1)])
        tx.delete_keys("Person", [1, 3, 99])
        tx.delete_keys("Person", [(98,)])
    assert tx.changes["Person"].deleted == [ANN]
    with db.transaction() as tx:
        tx.delete_keys("Person", [{"id": 2}])
    assert len(db["Person"]) == 0


@pytest.mark.parametrize(
    "keys",
    [
        pd.DataFrame({"id": [1, 3]}),
        pd.Series([1, 3]),
        pl.Series([1, 3]),
        pa.table({"id": [1, 3]}),
        np.array([1, 3]),
        np.array([[1], [3]]),
        {"id": [1, 3]},
        {1, 3},
        iter([1, 3]),
        range(1, 4, 2),
    ],
    ids=lambda keys: type(keys).__name__,
)
def test_keys_come_in_any_shape(db: Session, keys: object) -> None:
    with db.transaction() as tx:
        tx.delete_keys("Person", keys)
    assert tx.changes["Person"].deleted == [ANN]


PAIRED = "input relation R(a: int, b: int, c: int) primary key (a, b)"


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        (PAIRED, [1, 2], "relation R, row 0: 1 is not a key; give a list of tuples of 2 values: a, b"),
        (PAIRED, (1, 2), "relation R, row 0: 1 is not a key; give a list of tuples of 2 values: a, b"),
        (PAIRED, [(1, 2), "xy"], "relation R, row 1: 'xy' is not a key; give a list of tuples"),
        (PAIRED, 1, "relation R: 1 is not a collection of keys; give a list of tuples of 2 values: a, b"),
        (PAIRED, "xy", "relation R: 'xy' is not a collection of keys; give a list of tuples"),
        (PEOPLE, 1, "relation Person: 1 is not a collection of keys; give a list of values: id"),
        (PAIRED, [(1, 2, 3)], "relation R, row 0: a row has 3 values; expected 2: a, b"),
    ],
)
def test_what_is_no_key_is_refused_with_the_form_of_one(text: str, keys: object, message: str) -> None:
    keyed = tidelog.open(text=text)
    with keyed.transaction() as tx, pytest.raises(DataError) as caught:
        tx.delete_keys("R" if text is PAIRED else "Person", keys)
    assert str(caught.value).startswith(message)


def test_a_relation_without_a_key_has_no_upsert() -> None:
    db = tidelog.open(text=REACH)
    with db.transaction() as tx:
        with pytest.raises(DataError, match="has no primary key"):
            tx.upsert("Edge", [("a", "b")])
        with pytest.raises(DataError, match="has no primary key"):
            tx.delete_keys("Edge", ["a"])


def test_facts_of_the_program_hold_their_keys_too() -> None:
    db = tidelog.open(text=PEOPLE + 'Person(1, "Ann", some(30)).\n'.replace("some(30)", "30"))
    with pytest.raises(DataError, match="the key id = 1"), db.transaction() as tx:
        tx.upsert("Person", [(1, "Eve", 5)])
    with pytest.raises(DataError, match="the key id = 1"), db.transaction() as tx:
        tx.load('Person(1, "Eve", 5).')
    assert list(db["Person"]) == [ANN]


def test_keys_of_many_rows_are_found() -> None:
    db = tidelog.open(text=PEOPLE)
    with db.transaction() as tx:
        tx.insert("Person", [(i, f"p{i}", i % 40) for i in range(5000)])
    with db.transaction() as tx:
        tx.upsert("Person", [(i, f"p{i}", i % 40 + (i < 10)) for i in range(5000)])
    assert sorted(tx.changes["Person"].deleted) == [(i, f"p{i}", i) for i in range(10)]
