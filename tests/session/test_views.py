"""Looking at relations."""

from __future__ import annotations

from typing import Any

import pytest

import tidelog
from session.routes import PEOPLE, reach
from tidelog import DataError, ProgramError


def test_a_view_is_a_collection_of_tuples() -> None:
    view = reach(("a", "b"), ("b", "c"))["Reach"]
    assert len(view) == 3
    assert set(view) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert ("a", "c") in view
    assert ("c", "a") not in view


@pytest.mark.parametrize("row", [("a",), ("a", 3), "ab", None, ("a", "never seen")])
def test_what_is_no_row_of_the_relation_is_not_in_it(row: object) -> None:
    assert row not in reach(("a", "b"))["Reach"]


def test_a_view_stays_as_it_was() -> None:
    db = reach(("a", "b"))
    before = db["Reach"]
    with db.transaction() as tx:
        tx.clear("Edge")
        tx.insert("Edge", [("x", "y")])
    assert list(before) == [("a", "b")]
    assert ("a", "b") in before
    assert ("x", "y") not in before
    assert list(before.given) == []
    assert list(db["Reach"]) == [("x", "y")]


def test_a_view_stays_as_it_was_when_its_table_is_compacted_or_dropped() -> None:
    db = tidelog.open(text="input relation P(x: int)")
    with db.transaction() as tx:
        tx.insert("P", [(i,) for i in range(5000)])
    before = db["P"]
    with db.transaction() as tx:
        tx.delete("P", [(i,) for i in range(4500)])
    between = db["P"]
    with db.transaction() as tx:
        tx.drop("P")
    assert sorted(before) == [(i,) for i in range(5000)]
    assert sorted(between.given) == [(i,) for i in range(4500, 5000)]
    assert len(between.where(x=4700)) == 1
    assert "P" not in db


def test_rows_are_found_by_their_values() -> None:
    view = reach(("a", "b"), ("b", "c"))["Reach"]
    assert sorted(view.where(src="a")) == [("a", "b"), ("a", "c")]
    assert list(view.where(src="a", dst="c")) == [("a", "c")]
    assert list(view.where(src="nowhere")) == []
    assert list(view.where(src="a").where(dst="b")) == [("a", "b")]
    assert len(view.where()) == 3


def test_rows_of_large_relations_are_found_by_an_index() -> None:
    db = tidelog.open(text="input relation P(x: int, y: int)")
    with db.transaction() as tx:
        tx.insert("P", [(i, i % 10) for i in range(6000)])
    assert len(db["P"].where(y=3)) == 600
    with db.transaction() as tx:
        tx.delete("P", [(3, 3)])
        tx.insert("P", [(-1, 3), (-2, 3)])
    assert len(db["P"].where(y=3)) == 601
    assert (3, 3) not in db["P"].where(y=3)
    assert list(db["P"].where(x=-2)) == [(-2, 3)]
    assert db["P"].where(y=3).to_arrow().num_rows == 601


def test_ranges_are_in_the_order_of_the_values() -> None:
    db = tidelog.open(text=PEOPLE)
    with db.transaction() as tx:
        tx.insert("Person", [(-1, "b", 4), (2, "é", None), (30, "B", 9)])
    people = db["Person"]
    assert sorted(people.between("id", -1, 2).where(name="b")) == [(-1, "b", 4)]
    assert sorted(p[0] for p in people.between("id", low=0)) == [2, 30]
    assert sorted(p[1] for p in people.between("name", "a")) == ["b", "é"]
    assert sorted(p[1] for p in people.between("name", high="b")) == ["B", "b"]
    assert sorted(p[0] for p in people.between("age", 1, 100)) == [-1, 30]


def test_missing_values_are_found_by_none() -> None:
    db = tidelog.open(text=PEOPLE)
    with db.transaction() as tx:
        tx.insert("Person", [(1, "Ann", 30), (2, "Bob", None)])
    assert list(db["Person"].where(age=None)) == [(2, "Bob", None)]


def test_unknown_columns_and_wrong_types_are_told() -> None:
    view = reach(("a", "b"))["Reach"]
    with pytest.raises(DataError, match="Reach: unknown column `scr`; did you mean `src`"):
        view.where(scr="a")
    with pytest.raises(DataError, match="column src: 3 is not a string"):
        view.where(src=3)
    with pytest.raises(DataError, match="column src: 3 is not a string"):
        view.between("src", 3)


def test_an_unknown_relation_is_told() -> None:
    with pytest.raises(ProgramError, match="did you mean `Reach`"):
        reach()["Raech"]


def test_given_and_derived_facts_are_told_apart() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        tx.insert("Reach", [("q", "r")])
    assert list(db["Reach"].given) == [("q", "r")]
    assert list(db["Reach"].derived) == [("a", "b")]
    assert list(db["Edge"].given) == [("a", "b")]


def test_views_become_frames() -> None:
    db = tidelog.open(text=PEOPLE)
    with db.transaction() as tx:
        tx.insert("Person", [(2, "Bob", None)])
    view = db["Person"]
    assert view.to_arrow().to_pylist() == [{"id": 2, "name": "Bob", "age": None}]
    assert view.to_pandas()["name"].tolist() == ["Bob"]
    assert view.to_polars().rows() == [(2, "Bob", None)]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("option<int>", [2**63 - 1, 2**53 + 1, None]),
        ("option<bit<64>>", [2**64 - 1, None]),
        ("vec<option<int>>", [[2**53 + 1, None]]),
        ("(option<int>, int)", [(2**53 + 1, 1), (None, 2)]),
        ("map<int, option<int>>", [{1: 2**53 + 1, 2: None}]),
    ],
)
def test_integers_beside_missing_values_are_not_rounded_in_pandas(type_: str, values: list[Any]) -> None:
    text = f"input relation P(v: {type_})"
    db = tidelog.open(text=text, facts={"P": [(value,) for value in values]})
    again = tidelog.open(text=text, facts={"P": db["P"].to_pandas()})
    assert sorted(again["P"], key=repr) == sorted(db["P"], key=repr)


def test_a_view_can_be_looked_at() -> None:
    db = reach(*((f"n{i}", "x" * 50) for i in range(12)))
    lines = repr(db["Edge"]).splitlines()
    assert lines[0] == "Edge(src: string, dst: string): 12 rows"
    assert lines[1].split() == ["src", "dst"]
    assert lines[2].endswith("x…")
    assert lines[-1] == "  … and 2 more"
    assert "Edge(src: string, dst: string): 12 rows</caption>" in db["Edge"]._repr_html_()
    assert "… and 2 more" in db["Edge"]._repr_html_()
    assert repr(reach()["Edge"]) == "Edge(src: string, dst: string): 0 rows"


def test_a_snapshot_has_all_relations_of_one_commit() -> None:
    db = reach(("a", "b"))
    snapshot = db.snapshot()
    with db.transaction() as tx:
        tx.clear("Edge")
    assert snapshot.commit == 1
    assert {name: list(view) for name, view in snapshot.items()} == {
        "Edge": [("a", "b")],
        "Reach": [("a", "b")],
    }
    with pytest.raises(ProgramError):
        snapshot["Raech"]
