"""Indexes: declared ways to look up the rows of a relation."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import tidelog
from tidelog.errors import SessionError
from tidelog.program.describe import describe_program
from tidelog.program.draft import Draft
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

PROGRAM = """
input relation Person(id: int, name: string, age: option<int>)
output relation Old(id: int, name: string)
index ByName(n) on Person(_, n, _)
index ByBoth(n: string, i: int) on Person(i, n, _)
index ByAge(a) on Person(.age = a)
index OldByName(n) on Old(_, n)
Old(i, n) :- Person(i, n, a), unwrap_or(a, 0) > 50.
"""
PEOPLE = [(1, "ann", 60), (2, "bob", None), (3, "ann", 20)]


def test_a_lookup_finds_the_rows_of_the_last_commit() -> None:
    db = tidelog.open(text=PROGRAM, facts={"Person": PEOPLE})
    by_name = db.index("ByName")
    assert sorted(by_name.lookup(n="ann")) == [(1, "ann", 60), (3, "ann", 20)]
    assert list(db.index("ByBoth")("ann", i=3)) == [(3, "ann", 20)]
    assert list(db.index("ByAge")(None)) == [(2, "bob", None)]
    assert len(by_name.dump()) == 3
    with db.transaction() as tx:
        tx.delete("Person", [(1, "ann", 60)])
        assert len(by_name("ann")) == 2
    assert list(by_name("ann")) == [(3, "ann", 20)]


def test_an_index_of_a_derived_relation_follows_its_rules() -> None:
    db = tidelog.open(text=PROGRAM, facts={"Person": PEOPLE})
    index = db.index("OldByName")
    assert list(index("ann")) == [(1, "ann")]
    with db.transaction() as tx:
        tx.load("Old(i, n) :- Person(i, n, a), is_none(a).")
    assert list(index("bob")) == [(2, "bob")]
    with db.transaction() as tx:
        for rule in db.program.rules:
            tx.remove_rule(rule)
        tx.drop("Old")
    with pytest.raises(SessionError, match="unknown index `OldByName`"):
        index("bob")


@pytest.mark.parametrize("values", [(), ("a", "b")])
def test_a_lookup_takes_a_value_for_each_parameter(values: tuple[str, ...]) -> None:
    db = tidelog.open(text=PROGRAM)
    with pytest.raises(SessionError, match="takes a value for each of: n"):
        db.index("ByName").lookup(*values)
    with pytest.raises(SessionError, match="did you mean `ByName`"):
        db.index("Byname")


def test_indexes_are_printed_pickled_and_shown() -> None:
    assert parse(print_program(parse(PROGRAM))) == parse(PROGRAM)
    draft = Draft()
    draft.load(PROGRAM)
    program = draft.finish()
    assert Draft(pickle.loads(pickle.dumps(program))).finish().indexes == program.indexes
    assert tidelog.load(describe_program(program)).indexes == program.indexes


def test_an_index_of_a_module_has_its_full_name(tmp_path: Path) -> None:
    (tmp_path / "people.dl").write_text("input relation P(x: int)\nindex I(x) on P(x)\n")
    text = "import people as p\nindex Own(x) on p::P(x)\n"
    db = tidelog.open(text=text, search=[tmp_path], facts={"people::P": [(1,), (2,)]})
    assert list(db.index("people::I")(2)) == list(db.index("Own")(2)) == [(2,)]


def test_index_and_on_are_still_names() -> None:
    declared = "input relation R(index: int, on: int)\noutput relation O(x: int)\n"
    text = f"{declared}O(index) :- R(index, on), on > 1.\n"
    assert tidelog.check(text) == ()
