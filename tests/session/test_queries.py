"""Questions that no rule asks."""

from __future__ import annotations

import pytest

import tidelog
from session.routes import reach
from tidelog import EngineError, ProgramError, Session


@pytest.fixture
def db() -> Session:
    return reach(("a", "b"), ("b", "c"), ("b", "d"))


def test_the_columns_of_an_answer_are_the_variables_in_order(db: Session) -> None:
    answer = db.query('Reach("a", y), Edge(x, y)')
    assert answer.columns == ("y", "x")
    assert sorted(answer) == [("b", "a"), ("c", "b"), ("d", "b")]


def test_negation_with_wildcards_may_be_asked(db: Session) -> None:
    assert sorted(db.query('Reach("a", x), not Edge(x, _).')) == [("c",), ("d",)]


def test_aggregates_and_expressions_may_be_asked(db: Session) -> None:
    answer = db.query("Edge(x, y), var n = y.group_by(x).count(), var twice = 2 * n, twice > 2")
    assert answer.columns == ("x", "n", "twice")
    assert list(answer) == [("b", 2, 4)]


def test_alternatives_may_be_asked(db: Session) -> None:
    assert sorted(db.query('(Edge("a", x); Edge(x, "d"))')) == [("b",)]
    assert db.query('(Edge("a", x), Edge(x, _y); Edge(x, "d"), Edge(_, z))').columns == ("x",)


def test_a_question_without_variables_is_yes_or_no(db: Session) -> None:
    assert db.query('Reach("a", "d")')
    assert not db.query('Reach("d", "a")')


def test_a_variable_with_an_underscore_is_left_out(db: Session) -> None:
    assert db.query("Edge(x, _y)").columns == ("x",)


def test_a_question_changes_nothing(db: Session) -> None:
    before = (db.commit, repr(db.stats), db.rules)
    for _ in range(3):
        assert len(db.query("Reach(x, y), not Edge(x, _)")) == 0
        assert len(db.query("Reach(x, _), not Edge(_, x)")) == 1
    assert (db.commit, repr(db.stats), db.rules) == before
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
    assert sorted(tx.changes["Reach"].deleted) == [("a", "b"), ("a", "c"), ("a", "d")]
    assert sorted(db.query("Reach(x, y)")) == [("b", "c"), ("b", "d")]


def test_a_question_in_an_open_transaction_is_about_the_last_commit(db: Session) -> None:
    with db.transaction() as tx:
        tx.clear("Edge")
        assert len(db.query("Edge(x, y)")) == 3
    assert len(db.query("Edge(x, y)")) == 0


def test_a_question_shares_the_projections_of_the_program() -> None:
    db = tidelog.open(
        text="""
        input relation E(x: int, y: int)
        output relation Leaf(x: int)
        Leaf(y) :- E(_, y), not E(y, _).
        """
    )
    with db.transaction() as tx:
        tx.insert("E", [(1, 2), (2, 3)])
    assert list(db.query("E(_, y), not E(y, _)")) == [(3,)]
    with db.transaction() as tx:
        tx.insert("E", [(3, 4)])
    assert set(tx.changes["Leaf"]) == {((4,), 1), ((3,), -1)}


def test_an_answer_can_be_looked_at_and_framed(db: Session) -> None:
    answer = db.query('Edge("a", x)')
    assert repr(answer) == "<query>(x: string): 1 row\n  x\n  b"
    assert answer.to_pandas()["x"].tolist() == ["b"]
    assert sorted(db.query("Edge(x, y)").where(x="b")) == [("b", "c"), ("b", "d")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Rech(x, y)", "<query>:1:1: error[E101]: unknown relation `Rech`"),
        ("Reach(x, y), z > 1", "1 | Reach(x, y), z > 1\n  |              ^"),
        ("Reach(x, y) Edge(y, z)", "expected a `,` or the end of the query, found `Edge`"),
        ("", "error[E003]"),
        ('Reach("a, y)', "error[E002]"),
    ],
)
def test_a_mistake_is_shown_in_the_question(db: Session, text: str, message: str) -> None:
    with pytest.raises(ProgramError) as error:
        db.query(text)
    assert message in str(error.value)


def test_a_question_that_fails_leaves_everything(db: Session) -> None:
    with pytest.raises(EngineError, match="division by zero"):
        db.query("Edge(x, y), var n = 1 / (x.length() - 1)")
    assert len(db.query("Edge(x, y)")) == 3
