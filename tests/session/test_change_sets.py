"""A commit's changes, as values and as frames."""

from __future__ import annotations

import pytest

import tidelog
from session.routes import REACH, reach
from tidelog import Changes, ProgramError


@pytest.fixture
def changes() -> Changes:
    db = reach(("a", "b"), ("b", "c"))
    with db.transaction() as tx:
        tx.delete("Edge", [("b", "c")])
        tx.insert("Edge", [("b", "d")])
    return tx.changes


def test_changes_iterate_as_rows_with_signs(changes: Changes) -> None:
    expected = {(("a", "c"), -1), (("b", "c"), -1), (("a", "d"), 1), (("b", "d"), 1)}
    assert set(changes["Reach"]) == expected
    assert len(changes["Reach"]) == 4
    assert sorted(changes["Reach"].inserted) == [("a", "d"), ("b", "d")]
    assert sorted(changes["Reach"].deleted) == [("a", "c"), ("b", "c")]


def test_changes_list_the_relations_that_changed(changes: Changes) -> None:
    assert list(changes) == ["Edge", "Reach"]
    assert changes
    assert changes.commit == 2


def test_a_relation_that_did_not_change_has_an_empty_change() -> None:
    db = tidelog.open(text=REACH + "input relation Other(x: int)\n")
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
    assert "Other" not in tx.changes
    assert not tx.changes["Other"]
    assert repr(tx.changes["Other"]) == "Other: no changes"
    with pytest.raises(ProgramError, match="did you mean `Other`"):
        tx.changes["Othr"]


def test_frames_of_changes_have_a_sign(changes: Changes) -> None:
    table = changes["Edge"].to_arrow()
    assert table.to_pylist() == [
        {"src": "b", "dst": "d", "sign": 1},
        {"src": "b", "dst": "c", "sign": -1},
    ]
    assert changes["Edge"].to_pandas()["sign"].tolist() == [1, -1]
    assert changes["Edge"].to_polars()["sign"].to_list() == [1, -1]


def test_a_column_named_sign_is_kept() -> None:
    db = tidelog.open(text="input relation P(sign: int)")
    with db.transaction() as tx:
        tx.insert("P", [(7,)])
    assert tx.changes["P"].to_arrow().to_pylist() == [{"sign": 7, "sign_": 1}]


def test_columns_named_like_the_sign_are_kept() -> None:
    db = tidelog.open(text="input relation P(sign: int, sign_: int)")
    with db.transaction() as tx:
        tx.insert("P", [(7, 8)])
    assert tx.changes["P"].to_arrow().to_pylist() == [{"sign": 7, "sign_": 8, "sign__": 1}]
    assert list(tx.changes["P"].to_pandas().columns) == ["sign", "sign_", "sign__"]


def test_changes_outlive_what_comes_later() -> None:
    db = reach(("a", "b"))
    with db.transaction() as first:
        first.insert("Edge", [(f"n{i}", "x") for i in range(3000)])
    with db.transaction() as tx:
        tx.clear("Edge")
    assert len(first.changes["Edge"].inserted) == 3000
    assert ("n7", "x") in first.changes["Edge"].inserted


def test_changes_can_be_looked_at(changes: Changes) -> None:
    assert repr(changes) == "Edge: 1 row added, 1 removed\nReach: 2 rows added, 2 removed"
    assert repr(changes["Edge"]).splitlines() == [
        "Edge: 1 row added, 1 removed",
        "     src  dst",
        "  +  b    d",
        "  -  b    c",
    ]
    assert "<td>+</td><td>b</td><td>d</td>" in changes._repr_html_()


def test_many_changes_are_shown_in_part() -> None:
    db = reach()
    with db.transaction() as tx:
        tx.insert("Edge", [("<b>", str(i)) for i in range(25)])
    assert repr(tx.changes["Edge"]).endswith("… and 15 more")
    assert "&lt;b&gt;" in tx.changes["Edge"]._repr_html_()
