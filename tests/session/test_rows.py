"""Rows with names, and relations with a row type, in sessions."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.errors import ProgramError

PROGRAM = """
    typedef Flow = Flow{src: int, dst: int}
    typedef Shape = Circle{radius: int} | Dot
    input relation Seen[Flow]
    input relation Drawn[Shape]
    input relation Edge(src: int, dst: int)
    output relation Out(row: Edge)
"""


def test_values_of_the_row_type_are_rows() -> None:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Seen", [db.types.Flow(src=1, dst=2), db.types.Flow(src=3, dst=4)])
        tx.insert("Drawn", [db.types.Shape.Circle(radius=5), db.types.Shape.Dot()])
    assert sorted(db["Seen"]) == [(1, 2), (3, 4)]
    assert len(db["Drawn"]) == 2
    with db.transaction() as tx:
        tx.delete("Seen", [db.types.Flow(src=1, dst=2)])
    assert list(db["Seen"]) == [(3, 4)]


def test_a_row_variable_is_a_column_of_a_query() -> None:
    db = tidelog.open(text=PROGRAM, facts={"Edge": [(1, 2), (2, 3)]})
    found = db.query("e in Edge(.src = n), e.dst > 2")
    assert found.columns == ("e", "n")
    [(edge, n)] = found
    assert (edge.src, edge.dst, n) == (2, 3, 2)


def test_rules_with_rows_are_added_and_removed_by_their_meaning() -> None:
    db = tidelog.open(text=PROGRAM, facts={"Edge": [(1, 2), (2, 3)]})
    with db.transaction() as tx:
        tx.load("Out(e) :- e in Edge(.src = 1).")
    assert [row.dst for (row,) in db["Out"]] == [2]
    with db.transaction() as tx:
        tx.remove_rule("Out(x) :- x in Edge(1, _).")
    assert len(db["Out"]) == 0


def test_rows_used_by_fields_only_build_no_struct() -> None:
    db = tidelog.open(
        text="input relation A(x: int, y: int) output relation B(x: int) B(a.x) :- a in A(), a.y > 1."
    )
    [rule] = db.program.rules
    assert rule == "B(v0) :- A(v0, v1), v1 > 1."
    assert not db.program.types


def test_a_relation_that_is_declared_anew_has_no_stale_row_type() -> None:
    db = tidelog.open(
        text="input relation A(x: int) output relation B(x: int) B(a.x) :- a in A(), a == A{1}."
    )
    with db.transaction() as tx:
        tx.remove_rule(next(iter(db.program.rules)))
        tx.drop("A")
    with db.transaction() as tx:
        tx.load("input relation A(y: int) B(a.y) :- a in A().")
        tx.insert("A", [(4,)])
    assert list(db["B"]) == [(4,)]
    with pytest.raises(ProgramError, match="E129"), db.transaction() as tx:
        tx.load("B(1) :- a in A(), b in A(), a == b.")


@pytest.mark.parametrize(
    "rule", ["Out(e) :- not e in Edge(1, _).", "Out(e) :- Edge(1, 2), not e in Edge[_]."]
)
def test_a_negated_atom_has_no_row_to_name(rule: str) -> None:
    db = tidelog.open(text=PROGRAM)
    with pytest.raises(ProgramError, match="E130"), db.transaction() as tx:
        tx.load(rule)


def test_a_constant_of_a_row_is_a_term_of_the_atom() -> None:
    db = tidelog.open(
        text="""
        input relation A(x: int, y: option<int>)
        output relation B(x: int) output relation C(row: A)
        B(a.x) :- a in A(.y = 7).
        C(a) :- a in A(.x = 1).
        C(A{x, none}) :- A(x @ 3, _).
        """,
        facts={"A": [(1, 7), (2, 7), (3, None)]},
    )
    assert all("A(1, " in r or "A(3, " in r or ", 7 as option<int>)" in r for r in db.program.rules)
    assert sorted(db["B"]) == [(1,), (2,)]
    assert sorted((row.x, row.y) for (row,) in db["C"]) == [(1, 7), (3, None)]


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("Out(e) :- e in Edge(.srcc = 1).", "E102"),
        ("Out(e) :- e in Edges(.src = 1).", "E101"),
        ("Out(e) :- e in Edge(1).", "E105"),
        ("Out(e) :- e in Edge(.src = 1, .src = 2).", "E106"),
    ],
)
def test_a_wrong_atom_of_a_row_is_the_only_error(rule: str, code: str) -> None:
    db = tidelog.open(text=PROGRAM)
    with pytest.raises(ProgramError) as error, db.transaction() as tx:
        tx.load(rule)
    assert [d.code for d in error.value.diagnostics] == [code]
