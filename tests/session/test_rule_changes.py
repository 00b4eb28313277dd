"""Rules come and go while a session runs."""

from __future__ import annotations

import pytest

import tidelog
from session.routes import REACH, home, reach
from tidelog import ProgramError, SessionError
from tidelog.engine import interpreter


def test_a_rule_is_added_and_removed() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        rule = tx.add_rule("Reach(y, x) :- Reach(x, y).")
    assert sorted(tx.changes["Reach"].inserted) == [("b", "a"), ("b", "b")]
    assert rule.text == "Reach(y, x) :- Reach(x, y)."
    with db.transaction() as tx:
        tx.remove_rule(rule)
    assert sorted(tx.changes["Reach"].deleted) == [("b", "a"), ("b", "b")]


def test_a_rule_is_known_by_what_it_says() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        assert tx.add_rule("Reach(here, there) :- Edge(here, there).") in db.rules
    assert not tx.changes
    with db.transaction() as tx:
        tx.remove_rule("Reach(p, q) :- Edge(p, q).")
    assert tx.changes["Reach"].deleted == [("a", "b")]
    assert len(db.rules) == 1


def test_rules_and_facts_change_together() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        tx.load("input relation Blocked(x: string)\noutput relation Free(x: string)")
        tx.add_rule("Free(x) :- Edge(_, x), not Blocked(x).")
        tx.insert("Edge", [("a", "c")])
        tx.insert("Blocked", [("b",)])
    assert tx.changes["Free"].inserted == [("c",)]


def test_rules_tell_where_they_come_from() -> None:
    db = tidelog.open(text=REACH, name="reach.dl")
    assert [(r.text, r.origin) for r in db.rules] == [
        ("Reach(x, y) :- Edge(x, y).", "reach.dl:4:1"),
        ("Reach(x, z) :- Reach(x, y), Edge(y, z).", "reach.dl:5:1"),
    ]
    assert repr(db.rules[0]) == "Reach(x, y) :- Edge(x, y)."


def test_a_rule_that_is_not_there_cannot_be_removed() -> None:
    db = reach()
    with db.transaction() as tx, pytest.raises(ProgramError, match="the program does not contain this rule"):
        tx.remove_rule("Reach(x, x) :- Edge(x, _).")


def test_only_the_program_at_the_end_is_stratified() -> None:
    db = reach(("a", "b"))
    bad = "Reach(x, x) :- Edge(x, _), not Reach(x, x)."
    with pytest.raises(ProgramError, match="E501"), db.transaction() as tx:
        tx.add_rule(bad)
    assert len(db.rules) == 2
    with db.transaction() as tx:
        tx.remove_rule(tx.add_rule(bad))
    assert not tx.changes


def test_a_relation_in_use_cannot_be_dropped() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx, pytest.raises(ProgramError, match="this rule still uses `Edge`"):
        tx.drop("Edge")


def test_a_dropped_relation_loses_its_facts() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        for rule in db.rules:
            tx.remove_rule(rule)
        tx.drop("Edge")
    assert tx.changes["Edge"].deleted == [("a", "b")]
    assert tx.changes["Reach"].deleted == [("a", "b")]
    with db.transaction() as tx:
        tx.load("input relation Edge(src: int)")
        tx.insert("Edge", [(1,)])
    assert list(db["Edge"]) == [(1,)]


def test_a_relation_that_is_dropped_and_declared_again_is_empty() -> None:
    db = tidelog.open(text="input relation P(x: int)")
    with db.transaction() as tx:
        tx.insert("P", [(1,)])
    with db.transaction() as tx:
        tx.drop("P")
        tx.load("input relation P(x: int)")
        tx.insert("P", [(2,)])
    assert set(tx.changes["P"]) == {((1,), -1), ((2,), 1)}
    with db.transaction() as tx:
        tx.drop("P")
        with pytest.raises(SessionError, match="use two transactions"):
            tx.load("input relation P(x: string)")


def triple(x: int) -> int:
    return 3 * x


def test_a_function_is_registered_in_a_transaction() -> None:
    db = tidelog.open(text="input relation P(x: int) output relation Q(x: int)")
    with db.transaction() as tx:
        tx.register(triple)
        tx.add_rule("Q(triple(x)) :- P(x).")
        tx.insert("P", [(2,)])
    assert list(db["Q"]) == [(6,)]


def test_statistics_have_what_was_found_beside_what_was_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_NOTICED", 0.0)
    rule = "Pair(x, z) :- Left(x, y), Right(y, z)."
    db = tidelog.open(
        text=f"""
        input relation Left(x: int, y: int)
        input relation Right(y: int, z: int)
        output relation Pair(x: int, z: int)
        {rule}
        """
    )
    with db.transaction() as tx:
        tx.insert("Left", [(x, x % 50) for x in range(1000)])
        tx.insert("Right", [(z % 50, z) for z in range(500)])
    done = db.stats.by_rule[rule]
    assert done.instances == 10_000
    assert 8_000 < done.expected < 12_000
    assert "10,000" in repr(db.stats)
    assert "estimated" in repr(db.stats)
    with db.transaction() as tx:
        tx.insert("Left", [(5000, 1), (5001, 1)])
    done = db.stats.by_rule[rule]
    assert done.instances == 20
    assert 16 < done.expected < 24


def test_statistics_say_what_was_done_and_why() -> None:
    db = reach(("a", "b"), ("b", "c"))
    stats = db.stats
    assert stats.commit == 1
    assert [stratum.name for stratum in stats.strata] == ["Edge", "Reach"]
    assert stats.strata[1].strategy == "bootstrap"
    assert set(stats.rules) == {rule.text for rule in db.rules}
    with db.transaction() as tx:
        tx.insert("Edge", [("c", "d")])
    assert db.stats.strata[1].strategy == "update"
    assert "1 changes below it" in repr(db.stats)
    assert repr(db.stats).startswith("commit 2: ")
    assert (db.stats.rounds > 0, db.stats.instances > 0, db.stats.seconds > 0) == (True, True, True)


# -- another program altogether

BEFORE = """input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
output relation Gone(x: int)
function next(x: int): int { x + 1 }
Reach(x, y) :- Edge(x, y).
Gone(next(x)) :- Edge(x, _).
"""
AFTER = """input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
output relation Node(x: int)
Reach(a, b) :- Edge(a, b).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Node(x) :- Reach(x, _).
"""


def test_a_program_is_replaced_with_exact_changes() -> None:
    db = tidelog.open(text=BEFORE)
    with db.transaction() as tx:
        tx.insert("Edge", [(1, 2), (2, 3)])
    with db.transaction() as tx:
        tx.replace_program(AFTER)
        tx.insert("Edge", [(3, 4)])
    fresh = tidelog.open(text=AFTER)
    with fresh.transaction() as other:
        other.insert("Edge", [(1, 2), (2, 3), (3, 4)])
    assert set(db) == set(fresh)
    assert {name: set(db[name]) for name in db} == {name: set(fresh[name]) for name in fresh}
    assert sorted(tx.changes["Reach"]) == [((1, 3), 1), ((1, 4), 1), ((2, 4), 1), ((3, 4), 1)]
    assert sorted(tx.changes["Gone"]) == [((2,), -1), ((3,), -1)]
    assert [str(rule) for rule in db.rules] == [str(rule) for rule in fresh.rules]


def test_python_functions_stay_when_a_program_is_replaced() -> None:
    db = tidelog.open(text="input relation N(x: int)", functions=[triple])
    with db.transaction() as tx:
        tx.replace_program("input relation N(x: int)\noutput relation H(x: int)\nH(triple(x)) :- N(x).")
        tx.insert("N", [(8,)])
    assert list(db["H"]) == [(24,)]


def test_a_program_that_cannot_follow_is_refused_and_nothing_is_said() -> None:
    db = tidelog.open(text=BEFORE)
    with db.transaction() as tx:
        with pytest.raises(SessionError, match="the function `next` has a new definition"):
            tx.replace_program(BEFORE.replace("x + 1", "x + 2"))
        with pytest.raises(SessionError, match="`Gone` is dropped and declared differently"):
            tx.replace_program("output relation Gone(x: string)")
        with pytest.raises(ProgramError, match="unknown relation `Egde`"):
            tx.replace_program(AFTER.replace("Edge(a, b)", "Egde(a, b)"))
    assert not tx.changes
    assert "Gone" in db


def test_a_rule_that_is_removed_and_added_again_has_its_new_text() -> None:
    text = "input relation B(x: int) output relation A(x: int) A(x) :- B(x). A(x + 1) :- B(x)."
    db = tidelog.open(text=text)
    with db.transaction() as tx:
        tx.insert("B", [(1,)])
    with db.transaction() as tx:
        tx.remove_rule("A(x) :- B(x).")
        tx.add_rule("A(p) :- B(p).")
    assert not tx.changes
    assert [rule.text for rule in db.rules][-1] == "A(p) :- B(p)."
    with db.transaction() as tx:
        tx.remove_rule("A(q) :- B(q).")
    assert (len(db.rules), list(db["A"])) == (1, [(2,)])


def test_indexes_of_queries_go_when_rules_change() -> None:
    text = "input relation A(x: int) input relation B(x: int, y: int) output relation C(x: int)"
    db = tidelog.open(text=text)
    with db.transaction() as tx:
        tx.insert("A", [(i,) for i in range(9)])
        tx.insert("B", [(i, i) for i in range(99)])
    db.query("A(x), B(x, y)")
    db.query("A(x), B(y, x)")
    assert home(db).engine.tables["B"].indexes
    with db.transaction() as tx:
        tx.add_rule("C(x) :- A(x).")
    assert not home(db).engine.tables["B"].indexes
