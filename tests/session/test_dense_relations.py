"""A relation that the engine keeps as a matrix reads like any other."""

from __future__ import annotations

import pytest

import tidelog
from session.routes import home
from tidelog import Session

SIZE = 600
PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


@pytest.fixture(scope="module")
def db() -> Session:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Edge", [(i, (i + 1) % SIZE) for i in range(SIZE)])
    return db


def test_all_ways_of_reading_agree(db: Session) -> None:
    assert "Reach" in home(db).engine.dense.bits
    view = db["Reach"]
    assert len(view) == SIZE * SIZE
    assert (3, 2) in view
    assert (3, SIZE) not in view
    assert set(view.where(src=5)) == {(5, i) for i in range(SIZE)}
    assert set(view.where(dst=5)) == {(i, 5) for i in range(SIZE)}
    assert list(view.where(src=5, dst=7)) == [(5, 7)]
    assert list(view.where(src=-1)) == []
    assert len(view.between("src", 10, 11)) == 2 * SIZE
    assert set(view) == {(i, j) for i in range(SIZE) for j in range(SIZE)}
    assert (len(view.given), len(view.derived)) == (0, SIZE * SIZE)
    assert len(view.where()) == SIZE * SIZE
    assert "and 359,990 more" in repr(view)


def test_a_question_leaves_the_matrix_as_it_was(db: Session) -> None:
    assert len(db.query("Edge(0, x)")) == 1
    assert len(db.query("Reach(0, x), x < 10")) == 10
    assert "Reach" in home(db).engine.dense.bits
    assert len(db["Reach"]) == SIZE * SIZE


def test_views_stay_as_they_were_when_the_matrix_changes(db: Session) -> None:
    before = db["Reach"]
    with db.transaction() as tx:
        tx.insert("Edge", [(0, SIZE)])
        tx.insert("Reach", [(7, 7), (SIZE, 0)])
    assert len(tx.changes["Reach"]) == 2 * SIZE + 1
    after = db["Reach"]
    assert (len(before), len(after)) == (SIZE * SIZE, (SIZE + 1) ** 2)
    assert (0, SIZE) not in before
    assert (0, SIZE) in after
    assert (len(before.given), sorted(after.given)) == (0, [(7, 7), (SIZE, 0)])
    with db.transaction() as tx:
        tx.clear("Reach")
        tx.clear("Edge")
        tx.insert("Edge", [(1, 2)])
    assert list(db["Reach"]) == [(1, 2)]
    assert len(tx.changes["Reach"].deleted) == (SIZE + 1) ** 2 - 1
    assert sorted(after.given) == [(7, 7), (SIZE, 0)]
    assert len(after.derived) == (SIZE + 1) ** 2 - 2
    assert len(set(before)) == SIZE * SIZE


def test_rounds_that_a_matrix_makes_needless_are_not_counted() -> None:
    db = tidelog.open(text=PROGRAM, max_iterations=50)
    with db.transaction() as tx:
        tx.insert("Edge", [(i, i + 1) for i in range(1000)])
    assert len(db["Reach"]) == 500_500
    assert "Reach" in home(db).engine.dense.bits


def test_a_strategy_that_follows_scripts_makes_no_matrix_of_what_was_saved() -> None:
    db = tidelog.open(text=PROGRAM, strategy="dred")
    record = home(db).saved().record()
    other = tidelog.open(text="", strategy="dred")
    assert home(other).resume(db.program, record)
    with other.transaction() as tx:
        tx.insert("Edge", [(i, (i + 1) % 60) for i in range(60)])
    assert len(other["Reach"]) == 3600
    assert not home(other).engine.dense.bits
