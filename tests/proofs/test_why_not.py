"""`db.why_not` says what is in the way of a row, under every strategy."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest

import tidelog
from proofs.test_why import FACTS, PARTS, PROGRAM, SHARES, STAGES
from tidelog.errors import DataError, SessionError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.proofs.absence import Blocked, Insert
from tidelog.proofs.refutation import Refutation
from tidelog.reference.refutations import RefutationChecker


def checked(db: tidelog.Session, relation: str, row: object) -> Refutation:
    """A refutation that both checkers accept."""
    found = db.why_not(relation, row)
    found.check()
    second = RefutationChecker(db.program, {name: db[name].given for name in db})
    assert second.problem(found.goal, found.obstacles) is None
    return found


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_absent_row_has_a_refutation_that_holds(strategy: str) -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS, strategy=strategy)
    with db.transaction() as tx:
        tx.delete("Edge", [("c", "a")])
        tx.insert("Blocked", [("d",)])
    for x, y in product("abcdz", repeat=2):
        if (x, y) not in db["Reach"]:
            checked(db, "Reach", (x, y))
    for x, n in product("abcdz", range(4)):
        for relation in ("Reached", "Distance"):
            if (x, n) not in db[relation]:
                checked(db, relation, (x, n))


def test_the_text_names_the_first_literal_that_fails_and_what_would_help() -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS)
    text = str(checked(db, "Reach", ("a", "z")))
    assert text.startswith('no Reach("a", "z")')
    assert 'no row Edge("a", "z")' in text
    assert 'nearest: Edge("a", "b")' in text
    assert 'it would be there if Edge("a", "z") were asserted' in text
    assert 'it would be there if Reach("b", "z") were there' in text


RULES = """
input relation Item(name: string, price: int, tags: vec<string>)
input relation Hidden(name: string)
input relation Off(name: string, day: int)
relation Shown(name: string)
Shown(n) :- Item(n, p, _), p < 10, not Hidden(n), not (Off(n, d), d > 2).
relation Tagged(name: string, tag: string)
Tagged(n, t) :- Item(n, _, tags), var t in tags.
relation Double(name: string, price: int)
Double(n, 2 * p) :- Item(n, p, _).
relation Twice(name: string, price: int)
Twice(n, q) :- Item(n, p, _), var q = 2 * p.
relation Days(name: string, n: int)
Days(n, k) :- Item(n, _, _), var k = count { Off(n, d) }.
relation Pair(x: string, y: string)
Pair("only", n) :- Item(n, _, _).
relation Dear(k: int, total: int)
Dear(k, t) :- Item(_, p, _), var k = 1, var t = p.group_by(k).sum(), t > 100.
"""
ITEMS = {
    "Item": [("pen", 3, ["blue"]), ("desk", 30, []), ("cup", 5, []), ("box", 7, [])],
    "Hidden": [("cup",)],
    "Off": [("box", 1), ("box", 3)],
}


@pytest.mark.parametrize(
    ("relation", "row", "expected"),
    [
        ("Shown", ("desk",), ["p < 10 does not hold (with p = 30)", "if the rule did not have `p < 10`"]),
        ("Shown", ("cup",), ['Hidden("cup") is there', 'if Hidden("cup") were deleted']),
        ("Shown", ("box",), ["not (Off(n, d), d > 2) does not hold", 'if Off("box", 3) were deleted']),
        ("Shown", ("pin",), ['no row Item("pin", p, _)', 'nearest: Item("pen", 3, ["blue"])']),
        ("Tagged", ("pen", "red"), ["has no such item"]),
        ("Double", ("pen", 7), ['it derives Double("pen", 6)']),
        ("Twice", ("pen", 7), ["2 * p is 6, not 7"]),
        ("Days", ("box", 3), ["{ Off(n, d) } is 2, not 3"]),
        ("Pair", ("other", "pen"), ["its head never has these values"]),
        ("Dear", (1, 45), ["a group of 4 instances has", "t > 100 does not hold (with t = 45)"]),
        ("Dear", (1, 46), ["a group of 4 instances has k = 1, t = 45"]),
        ("Hidden", ("cap",), ["it is not asserted", 'nearest: Hidden("cup")', "were asserted"]),
        ("Hidden", ("x",), ["no rule derives it"]),
    ],
)
def test_each_kind_of_literal_says_how_it_fails(relation: str, row: object, expected: list[str]) -> None:
    text = str(checked(tidelog.open(text=RULES, facts=ITEMS), relation, row))
    for part in expected:
        assert part in text, text


def test_a_change_that_undoes_itself_is_not_named() -> None:
    text = """
    input relation A(x: int)
    relation B(x: int)
    B(x) :- A(x).
    relation P(x: int)
    P(x) :- A(x), not B(x).
    """
    found = checked(tidelog.open(text=text), "P", (1,))
    assert not found.changes
    assert "no row A(1)" in str(found)


def test_a_row_that_a_rule_derives_too_is_no_change() -> None:
    text = """
    input relation A(x: int)
    input relation B(x: int)
    B(x) :- A(x), x > 0.
    relation P(x: int)
    P(x) :- A(x), not B(x).
    """
    db = tidelog.open(text=text, facts={"A": [(1,)], "B": [(1,)]})
    assert checked(db, "P", (1,)).changes == ("it would be there if the rule did not have `not B(x)`",)


def test_a_row_with_the_primary_key_of_another_is_no_change() -> None:
    text = "input relation A(x: int, y: int) primary key (x)\nrelation P(x: int)\nP(x) :- A(x, 2)."
    db = tidelog.open(text=text, facts={"A": [(1, 1)]})
    found = checked(db, "P", (1,))
    assert not found.changes
    assert "nearest: A(1, 1)" in str(found)
    assert checked(db, "P", (2,)).changes == ("it would be there if A(2, 2) were asserted",)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_relation_with_one_row_per_key_names_the_row_that_it_keeps(strategy: str) -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS, strategy=strategy)
    found = checked(db, "Distance", ("c", 9))
    assert [fact.row for fact in found.kept] == [("c", 3)]
    assert 'Distance("c", 3) is kept' in str(found)
    owned = [("a", "b", 60), ("b", "c", 30), ("a", "c", 30)]
    db = tidelog.open(text=SHARES, facts={"Owns": owned}, strategy=strategy)
    assert "is kept for this key" in str(checked(db, "Held", ("a", "c", 61)))
    checked(db, "Held", ("z", "c", 1))
    used = [("car", "wheel", 4), ("wheel", "bolt", 5)]
    db = tidelog.open(text=PARTS, facts={"Uses": used, "Basic": [("bolt",)]}, strategy=strategy)
    assert 'Needs("car", "bolt", 20) is kept' in str(checked(db, "Needs", ("car", "bolt", 5)))


def test_stages_of_aggregates() -> None:
    orders = [("ann", "north", 3), ("ann", "north", 4), ("bob", "north", 5), ("cid", "south", 1)]
    db = tidelog.open(text=STAGES, facts={"Order": orders})
    checked(db, "Leader", ("north", "bob", 5))
    checked(db, "Leader", ("south", "cid", 1))
    checked(db, "Leader", ("west", "cid", 1))


def test_columns_may_have_any_value() -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS)
    assert str(checked(db, "Reach", ("d", ...))).startswith('no Reach("d", _)')
    assert checked(db, "Reach", {"x": "d"}).to_dict()["row"] == ["d", None]
    checked(db, "Distance", (..., 100))
    checked(db, "Blocked", (...,))
    with pytest.raises(SessionError, match="is there; `why` says why"):
        db.why_not("Reach", ("a", ...))
    with pytest.raises(DataError, match="unknown column `z`"):
        db.why_not("Reach", {"z": "d"})


def test_a_missing_value_joins_nothing() -> None:
    text = """
    input relation A(x: option<int>)
    input relation B(x: option<int>)
    relation P(x: option<int>)
    P(x) :- A(x), B(x).
    relation Q(x: option<int>)
    Q(x) :- A(x).
    """
    db = tidelog.open(text=text, facts={"A": [(None,)], "B": [(None,)]})
    assert not checked(db, "P", (None,)).changes
    with db.transaction() as tx:
        tx.clear("A")
    assert checked(db, "Q", (None,)).changes == ("it would be there if A(none) were asserted",)


def test_a_refutation_is_also_json_html_and_svg() -> None:
    found = tidelog.open(text=PROGRAM, facts=FACTS).why_not("Reach", ("a", "z"))
    data = json.loads(found.to_json())
    assert [rule["fails"] for rule in data["rules"]] == [
        ['no row Edge("a", "z")'],
        ['no row Reach("b", "z")'],
    ]
    assert "<details" in found.to_html()
    assert found.to_svg().startswith("<svg")


def test_refutations_that_do_not_hold_fail_their_check() -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS)
    found = db.why_not("Reach", ("a", "z"))
    for wrong in (found.obstacles[:1], tuple(map(turned, found.obstacles))):
        with pytest.raises(SessionError, match="does not hold"):
            Refutation(found._state, found.goal, wrong, (), (), None).check()
        second = RefutationChecker(db.program, {name: db[name].given for name in db})
        assert second.problem(found.goal, wrong) is not None
    present = replace_goal(found, ("a", "d"))
    with pytest.raises(SessionError, match="does not hold"):
        present.check()


def turned(obstacle: object) -> Blocked:
    """An obstacle that says another row would help."""
    assert isinstance(obstacle, Blocked)
    (change,) = obstacle.changes
    assert isinstance(change, Insert)
    return replace(obstacle, changes=(Insert(change.pattern._replace(bound={0: "q", 1: "q"})),))


def replace_goal(found: Refutation, row: tuple[str, ...]) -> Refutation:
    goal = found.goal._replace(bound=dict(enumerate(row)))
    return Refutation(found._state, goal, found.obstacles, (), (), None)


PATTERNS = """
typedef Shape = Circle{r: int} | Square{side: int}
input relation `the shapes`(s: Shape)
relation Radius(r: int)
Radius(r) :- `the shapes`(Circle{r}).
"""


def test_patterns_and_quoted_names_are_shown_as_they_are_written() -> None:
    db = tidelog.open(text=PATTERNS)
    shapes = db.types.Shape
    with db.transaction() as tx:
        tx.insert("the shapes", [(shapes.Square(side=3),)])
    assert "the value does not match the pattern" in str(checked(db, "Radius", (4,)))
    with db.transaction() as tx:
        tx.insert("the shapes", [(shapes.Circle(r=3),)])
    text = str(checked(db, "Radius", (4,)))
    assert "r is 3, not 4" in text
    assert "`the shapes`(Circle{r: 3})" in text
    assert "`the shapes`(Circle{r: 3})  asserted" in str(db.why("Radius", (3,)))
