"""Questions that no rule asks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

import tidelog
from session.routes import reach
from tidelog import EngineError, ProgramError, Session, SessionError


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


# -- parameters


def test_a_parameter_stands_for_its_value_and_is_no_column(db: Session) -> None:
    answer = db.query("Reach(place, x)", place="b")
    assert answer.columns == ("x",)
    assert sorted(answer) == [("c",), ("d",)]


def test_a_parameter_may_occur_several_times_and_in_conditions(db: Session) -> None:
    assert sorted(db.query("Edge(x, y), x != from and y != from", **{"from": "a"})) == [
        ("b", "c"),
        ("b", "d"),
    ]
    assert db.query("Reach(p, x), Reach(p, y), x < y", p="b").columns == ("x", "y")


def test_a_value_is_never_read_as_text_of_the_language(db: Session) -> None:
    assert not db.query("Reach(x, y), x == v", v='a") or true or (x == "')
    assert not db.query("Reach(x, y), x == v", v="${x}")


@pytest.mark.parametrize(
    ("type_", "value", "stored"),
    [
        ("int", 3, 3),
        ("int", np.int32(3), 3),
        ("bigint", 2**70, 2**70),
        ("bit<8>", 255, 255),
        ("double", 1, 1.0),
        ("double", 0.1, 0.1),
        ("double", float("nan"), float("nan")),
        ("double", float("-inf"), float("-inf")),
        ("float", float("nan"), float("nan")),
        ("float", float("-inf"), float("-inf")),
        ("option<float>", float("inf"), float("inf")),
        ("float", np.float32(0.1), float(np.float32(0.1))),
        ("decimal(10, 2)", Decimal("1.50"), Decimal("1.5")),
        ("bool", True, True),
        ("bool", np.bool_(True), True),
        ("string", 'a "quoted" \n line', 'a "quoted" \n line'),
        ("bytes", b"\x00\xff", b"\x00\xff"),
        ("bytes", bytearray(b"\x01"), b"\x01"),
        ("date", date(2024, 2, 29), date(2024, 2, 29)),
        (
            "timestamp",
            datetime(2024, 2, 29, 1, tzinfo=timezone(timedelta(hours=1))),
            datetime(2024, 2, 29, tzinfo=UTC),
        ),
        ("option<int>", 3, 3),
    ],
)
def test_every_type_has_parameters(type_: str, value: object, stored: object) -> None:
    db = tidelog.open(text=f"input relation P(id: int, v: {type_})", facts={"P": [(7, stored)]})
    assert list(db.query("P(id, v)", v=value)) == [(7,)]
    if type_ != "bool":
        assert list(db.query("P(id, x), x == v", v=value).where(id=7))


def test_a_parameter_of_the_wrong_type_is_reported_where_it_is_used(db: Session) -> None:
    with pytest.raises(ProgramError, match=r"<query>:1:7.*expected `string`, but this is `int`"):
        db.query("Reach(place, x)", place=3)


def test_none_as_a_parameter_is_reported_like_none_in_a_query(db: Session) -> None:
    with pytest.raises(ProgramError, match="`none` matches nothing"):
        db.query("Reach(place, x)", place=None)


def test_a_parameter_that_the_query_does_not_use_is_an_error(db: Session) -> None:
    with pytest.raises(SessionError, match=r"no variable `plase`.*did you mean `place`"):
        db.query("Reach(place, x)", plase="a")


@pytest.mark.parametrize("text", ["Edge(x, y), var v = 3", 'Edge(x, y), { var v = "a"; v } == x'])
def test_a_parameter_cannot_be_assigned(db: Session, text: str) -> None:
    with pytest.raises(SessionError, match="`v` is a parameter, so the query cannot bind it"):
        db.query(text, v="a")


def test_a_value_of_no_type_is_an_error(db: Session) -> None:
    with pytest.raises(SessionError, match=r"the parameter `place` is .*, which cannot be used"):
        db.query("Reach(place, x)", place=object())


def test_structured_values_are_parameters() -> None:
    db = tidelog.open(
        text="""
        typedef Payload = IPv4{src: int, dst: int} | Other
        input relation P(id: int, p: Payload, t: (int, string), v: vec<int>, s: set<int>, m: map<string, int>)
        input relation Took(id: int, d: duration)
        """,
    )
    payload = db.types.Payload
    row = (payload.IPv4(src=1, dst=2), (1, "a"), [1, 2], {1}, {"k": 1})
    with db.transaction() as tx:
        tx.insert("P", [(7, *row), (8, payload.Other(), (2, "b"), [], set(), {})])
        tx.insert("Took", [(7, timedelta(minutes=90))])
    assert list(db.query("P(id, p, t, v, s, m)", **dict(zip("ptvsm", row, strict=True)))) == [(7,)]
    assert list(db.query("P(id, p, _, _, _, _)", p=payload.Other())) == [(8,)]
    assert list(db.query("P(id, _, _, v, s, m)", v=[], s=frozenset(), m={})) == [(8,)]
    assert list(db.query("Took(id, d)", d=timedelta(hours=1.5))) == [(7,)]
    assert list(db.query("P(id, IPv4{.src = x}, _, _, _, _)", x=1)) == [(7,)]


@pytest.mark.parametrize(
    "text",
    [
        "P(x), var y = match (x) { v -> v }",
        "P(x), any([x], |v| v > 1)",
        "P(x), var (v, w) = (x, 1)",
        "P(x), var v in [1]",
    ],
)
def test_a_parameter_cannot_be_bound_by_a_pattern_or_a_closure(text: str) -> None:
    db = tidelog.open(text="input relation P(x: int)")
    with pytest.raises(SessionError, match="`v` is a parameter, so the query cannot"):
        db.query(text, v=1)


@pytest.mark.parametrize("depth", [120, 400, 5000])
def test_a_parameter_may_not_be_nested_too_deeply(depth: int) -> None:
    db = tidelog.open(
        text="typedef Nat = Zero | Next{n: Nat}\ninput relation P(id: int, n: Nat)", facts={"P": []}
    )
    number = db.types.Nat.Zero()
    for _ in range(depth):
        number = db.types.Nat.Next(number)
    with db.transaction() as tx:
        tx.insert("P", [(7, number)])
    with pytest.raises(SessionError, match="the parameter `n` is nested more than 100 levels deep"):
        db.query("P(id, n)", n=number)
    assert [id_ for id_, _ in db["P"].where(n=number)] == [7]
    endless: list[object] = []
    endless += [endless, endless]
    with pytest.raises(SessionError, match="nested more than 100 levels"):
        db.query("P(id, n)", n=endless)
