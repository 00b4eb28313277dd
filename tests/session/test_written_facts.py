"""Facts in text, rules of transactions, and texts that are parts of longer ones."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.errors import ProgramError, SessionError

PROGRAM = """typedef Shape = Circle{radius: int} | Point
function twice(x: int): int { 2 * x }
input relation Item(name: string, shape: Shape)
output relation Round(name: string)
Round(n) :- Item(n, Circle{_}).
"""


def test_facts_are_read_and_can_be_asserted() -> None:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        found = tx.facts('Item("a" ++ "b", Circle{twice(2)}). Item("p", Point), Round("q").')
        assert [fact.relation for fact in found] == ["Item", "Item", "Round"]
        assert len(db.rules) == len(tx.rules) == 1
        for fact in found:
            tx.insert(fact.relation, [fact.row])
    assert sorted(db["Round"]) == [("ab",), ("q",)]
    with db.transaction() as tx:
        (fact,) = tx.facts('Item("ab", Circle{4}).')
        tx.delete(fact.relation, [fact.row])
    assert sorted(db["Round"]) == [("q",)]


def test_facts_of_new_declarations_are_read() -> None:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.load("relation New(x: int)")
        assert [f.row for f in tx.facts("New(twice(1)). New(2).")] == [(2,), (2,)]
        assert [f.row for f in tx.facts("Newer(1).", given="relation Newer(x: int)")] == [(1,)]
        with pytest.raises(ProgramError, match="unknown relation `Newer`"):
            tx.facts("Newer(1).")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Round(x) :- Item(x, _).", "is a rule; a fact has no body"),
        ('Round("a") :- Item(_, _); Item("a", _).', "E003"),
        ('Item("a", Circle{1 / 0}).', "<text>:1:1: a value of the fact cannot be computed: `.*` fails"),
        ("Round(x).", "unbound variable `x`"),
        ("Round(1).", "expected `string`"),
    ],
)
def test_what_is_no_fact_is_refused(text: str, problem: str) -> None:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        with pytest.raises((ProgramError, SessionError), match=problem):
            tx.facts(text)
        assert tx.preview().commit is None
    with pytest.raises(SessionError, match="the transaction is over"):
        tx.facts('Round("a").')


def test_the_rules_of_a_transaction_have_its_changes() -> None:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        assert tx.rules == db.rules
        added = tx.add_rule("Round(n) :- Item(n, Point).")
        tx.remove_rule(db.rules[0])
        assert tx.rules == (added,)
        assert len(db.rules) == 1
    assert db.rules == (added,)


def test_lines_are_counted_from_the_given_one() -> None:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        with pytest.raises(ProgramError) as caught:
            tx.load('Round("a").\n\nRound(x) :- Item(y, _).\n', "notebook", 40)
        assert "notebook:42:7: error[E301]" in str(caught.value)
        assert "42 | Round(x) :- Item(y, _)." in str(caught.value)
        (rule,) = tx.load('\nRound("a").', "notebook", 7)
        assert rule.origin == "notebook:8:1"


def test_the_plan_of_single_rules_leaves_the_others_out() -> None:
    db = tidelog.open(
        text=PROGRAM
        + 'Round("a").\noutput relation Count(n: int)\nCount(n) :- Round(x), var n = x.group_by().count().'
    )
    first, fact, counted = db.rules
    assert "Item(n" in db.plan(first)
    assert 'Round("a")' not in db.plan(first)
    assert "Item" not in db.plan(counted)
    assert "count of the instances" not in db.plan(fact)
    assert all(part in db.plan() for part in ("Item", 'Round("a")', "count of the instances"))
