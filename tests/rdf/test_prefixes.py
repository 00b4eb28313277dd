"""Short names in programs and in what is shown."""

from __future__ import annotations

import pytest

import tidelog
from tidelog import rdf
from tidelog.errors import SessionError

PROGRAM = """prefix : <http://e/>
@prefix ex: <http://x.org/> .
input relation T(s:string, p: string, o :string)
output relation P(x:string)
function f(a:string): bool { a == "ex:no" }
P(x) :- T(x, rdf:type, :Person).
P(x) :- T(.s = x, .p = ex:knows, .o = :input), x != ex:bob. // :Person
"""


def test_short_names_in_rules_are_iris_and_types_stay() -> None:
    made = rdf.program(PROGRAM)
    assert made.count("\n") == PROGRAM.count("\n")
    assert 'T(x, "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://e/Person>")' in made
    assert '.p = "<http://x.org/knows>", .o = "<http://e/input>"' in made
    assert "s:string" in made
    assert "// :Person" in made
    db = tidelog.open(text=made)
    with db.transaction() as tx:
        tx.insert("T", [("<http://e/a>", "<http://x.org/knows>", "<http://e/input>")])
    assert list(db["P"]) == [("<http://e/a>",)]


def test_prefixes_can_be_given() -> None:
    assert rdf.program("A(z:b).", {"z": "http://z/"}) == 'A("<http://z/b>").'
    with pytest.raises(SessionError, match="line 2: unknown prefix in `z:b`"):
        rdf.program("relation A(x:string)\nA(z:b).")


def test_a_program_without_short_names_stays_as_it_is() -> None:
    text = "relation A(x:int, f: vec<int>)\nA(x, v) :- B(x), v == [x], f(|y:int| y).\n"
    assert rdf.program(text) == text


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("<http://e/a>", ":a"),
        ("<http://e/a/b>", "deep:b"),
        ("<http://e/a b>", "<http://e/a b>"),
        ("<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "rdf:type"),
        ('"5"^^<http://www.w3.org/2001/XMLSchema#integer>', "5"),
        ('"x"^^<http://e/t>', '"x"^^:t'),
        ('"x"^^<http://f/t>', '"x"^^<http://f/t>'),
        ('"a"@en', '"a"@en'),
        ("_:b", "_:b"),
    ],
)
def test_terms_are_shown_by_the_longest_namespace(term: str, text: str) -> None:
    assert rdf.shown(term, {"": "http://e/", "deep": "http://e/a/"}) == text
