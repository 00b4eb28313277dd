"""What happens in a transaction happens as a whole, or not at all."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from session.routes import REACH, reach
from sizes import size
from tidelog import DataError, ProgramError, SessionError


def test_a_block_commits_at_its_end() -> None:
    db = tidelog.open(text=REACH)
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "c")])
        assert len(db["Reach"]) == 0
    assert sorted(db["Reach"]) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert sorted(tx.changes["Reach"].inserted) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert not tx.is_open


def test_an_exception_in_the_block_rolls_back() -> None:
    db = reach(("a", "b"))
    tx = db.transaction()

    def fail() -> None:
        with tx:
            tx.insert("Edge", [("b", "c")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(db["Edge"]) == [("a", "b")]
    with pytest.raises(SessionError, match="it is not committed"):
        _ = tx.changes


def test_commit_and_rollback_may_be_called() -> None:
    db = reach()
    tx = db.transaction()
    tx.insert("Edge", [("a", "b")])
    assert tx.commit()["Edge"].inserted == [("a", "b")]
    with db.transaction() as tx:
        tx.insert("Edge", [("x", "y")])
        tx.rollback()
    assert list(db["Edge"]) == [("a", "b")]


def test_a_transaction_that_is_over_takes_nothing_more() -> None:
    db = reach()
    with db.transaction() as tx:
        tx.commit()
        with pytest.raises(SessionError, match="the transaction is over"):
            tx.insert("Edge", [("a", "b")])


def test_what_is_there_or_is_not_changes_nothing() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("a", "b")])
        tx.delete("Edge", [("no", "edge")])
    assert not tx.changes
    assert db.commit == 2


def test_the_last_word_on_a_row_counts() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
        tx.insert("Edge", [("a", "b"), ("b", "c")])
        tx.delete("Edge", [("b", "c")])
    assert not tx.changes


@pytest.mark.parametrize("copies", [1, 600])  # a few rows, and many
@given(calls=st.lists(st.tuples(st.sampled_from("+-0?"), st.lists(st.integers(0, 3))), max_size=5))
@settings(deadline=None, max_examples=size(60, 1000))
def test_what_calls_say_about_a_row_is_what_the_last_one_says(
    copies: int, calls: list[tuple[str, list[int]]]
) -> None:
    """`0` clears the relation, and `?` previews the transaction."""
    db = tidelog.open(text="input relation A(x: int)", facts={"A": [(0,), (1,)]})
    wanted = before = {0, 1}
    with db.transaction() as tx:
        for call, values in calls:
            rows, said = [(value,) for value in values] * copies, set(values)
            if call == "+":
                tx.insert("A", rows)
            elif call == "-":
                tx.delete("A", rows)
            elif call == "0":
                tx.clear("A")
            else:
                assert dict(tx.preview()["A"]) == signs(before, wanted)
            wanted = {"+": wanted | said, "-": wanted - said, "0": set(), "?": wanted}[call]
    assert dict(tx.changes["A"]) == signs(before, wanted)
    assert set(db["A"]) == {(value,) for value in wanted}


def signs(before: set[int], after: set[int]) -> dict[tuple[int], int]:
    return {(value,): 1 if value in after else -1 for value in before ^ after}


def test_facts_may_be_asserted_into_any_relation() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        tx.insert("Reach", [("a", "b"), ("b", "q")])
    assert tx.changes["Reach"].inserted == [("b", "q")]
    assert sorted(db["Reach"].given) == [("a", "b"), ("b", "q")]
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
    assert not tx.changes["Reach"]
    with db.transaction() as tx:
        tx.clear("Reach")
    assert sorted(tx.changes["Reach"].deleted) == [("a", "b"), ("b", "q")]


@pytest.mark.parametrize(
    "data",
    [
        [("a", "b")],
        [["a", "b"]],
        [{"dst": "b", "src": "a"}],
        {"src": ["a"], "dst": ["b"]},
        pd.DataFrame({"dst": ["b"], "src": ["a"]}),
        pl.DataFrame({"src": ["a"], "dst": ["b"]}),
        pa.table({"src": ["a"], "dst": ["b"]}),
        (row for row in [("a", "b")]),
    ],
    ids=["tuples", "lists", "dicts", "columns", "pandas", "polars", "arrow", "generator"],
)
def test_facts_come_in_many_shapes(data: object) -> None:
    db = tidelog.open(text=REACH)
    with db.transaction() as tx:
        tx.insert("Edge", data)
    assert list(db["Edge"]) == [("a", "b")]


def test_a_view_can_be_inserted() -> None:
    db = reach(("a", "b"))
    other = tidelog.open(text=REACH)
    with other.transaction() as tx:
        tx.insert("Edge", db["Edge"])
    assert list(other["Edge"]) == [("a", "b")]


def test_names_are_checked_at_the_call() -> None:
    db = tidelog.open(text=REACH)
    with db.transaction() as tx:
        with pytest.raises(ProgramError, match=r"unknown relation `Egde`\n = did you mean `Edge`"):
            tx.insert("Egde", [])
        tx.insert("Edge", [("a", "b")])
    assert len(db["Edge"]) == 1


def test_a_call_that_fails_has_said_nothing() -> None:
    db = tidelog.open(text=REACH)
    with db.transaction() as tx:
        with pytest.raises(DataError, match="relation Edge, column dst, row 1: 3 is not"):
            tx.insert("Edge", [("a", "b"), ("b", 3)])
        with pytest.raises(ProgramError, match="unknown relation `Nope`"):
            tx.load("relation Good(x: int)\nGood(x) :- Nope(x).")
    assert not tx.changes
    assert "Good" not in db


def test_a_relation_of_no_columns_is_a_flag() -> None:
    db = tidelog.open(text="input relation Go() output relation Gone()\nGone() :- Go().")
    with db.transaction() as tx:
        tx.insert("Go", [()])
    assert tx.changes["Gone"].inserted == [()]
    assert len(db["Gone"]) == 1
    assert () in db["Gone"]
    with db.transaction() as tx:
        tx.delete("Go", [()])
    assert len(db["Gone"]) == 0


def test_a_second_transaction_of_one_thread_is_an_error() -> None:
    db = reach()
    with db.transaction(), pytest.raises(SessionError, match="this thread already has an open transaction"):
        db.transaction()
    with db.transaction():
        pass


def test_a_transaction_that_is_forgotten_warns_and_lets_others_go_on() -> None:
    db = reach()
    tx = db.transaction()
    tx.insert("Edge", [("a", "b")])
    with pytest.warns(ResourceWarning, match="neither committed nor rolled back"):
        del tx
    gc.collect()
    with db.transaction():
        pass
    assert len(db["Edge"]) == 0


def test_a_preview_shows_changes_and_makes_none() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        tx.insert("Edge", [("b", "c")])
        tx.add_rule("Reach(x, x) :- Edge(x, _).")
        preview = tx.preview()
        assert preview.commit is None
        assert sorted(preview["Reach"].inserted) == [("a", "a"), ("a", "c"), ("b", "b"), ("b", "c")]
        assert list(db["Reach"]) == [("a", "b")]
        assert tx.preview()["Edge"].inserted == [("b", "c")]
        tx.rollback()
    assert (db.commit, len(db.rules)) == (1, 2)
    assert preview["Reach"].deleted == []


def test_a_preview_may_be_followed_by_more_and_a_commit() -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        tx.insert("Edge", [("b", "c")])
        tx.preview()
        tx.insert("Edge", [("c", "d")])
    assert sorted(tx.changes["Edge"].inserted) == [("b", "c"), ("c", "d")]
    assert len(db["Reach"]) == 6


def test_a_relation_is_made_from_a_frame() -> None:
    db = tidelog.open()
    view = db.relation_from("City", pd.DataFrame({"name": ["Bonn", "Ulm"], "people": [330_000, 126_000]}))
    assert str(view.relation.columns[1].type) == "int"
    assert sorted(view) == [("Bonn", 330_000), ("Ulm", 126_000)]
    with db.transaction() as tx:
        tx.load("output relation Large(name: string)\nLarge(n) :- City(n, p), p > 200000.")
    assert list(db["Large"]) == [("Bonn",)]
    with pytest.raises(DataError, match="the relation already exists"):
        db.relation_from("City", pd.DataFrame({"name": ["Rom"]}))
    db.relation_from("town", pd.DataFrame({"name": ["Rom"]}))
    assert "town" in db  # a quoted name


def test_a_folder_of_facts_is_read(tmp_path: Path) -> None:
    (tmp_path / "Edge.csv").write_text("src,dst\na,b\n")
    (tmp_path / "notes.txt").write_text("?")
    db = tidelog.open(text=REACH)
    with db.transaction() as tx:
        assert tx.insert_folder(tmp_path) == (tmp_path / "notes.txt",)
    assert list(db["Reach"]) == [("a", "b")]
    (tmp_path / "Edge.facts").write_text("a\tb\n")
    with (
        db.transaction() as tx,
        pytest.raises(DataError, match=r"more than one file .* Edge\.csv and Edge\.facts"),
    ):
        tx.insert_folder(tmp_path)


@pytest.mark.parametrize("wrong", [Path("rules.dl"), 3, None])
def test_what_is_no_text_is_refused_where_text_is_wanted(wrong: Any) -> None:
    db = reach(("a", "b"))
    with db.transaction() as tx:
        for call in (tx.load, tx.add_rule, tx.remove_rule, db.query):
            with pytest.raises(SessionError, match=rf"`{call.__name__}` takes text, not "):
                call(wrong)
        assert len(tx.preview()) == 0
    if wrong is not None:
        with pytest.raises(SessionError, match=r"`open\(text=…\)` takes text, not "):
            tidelog.open(text=wrong)


def test_the_name_of_a_file_is_told_from_a_program() -> None:
    db = reach()
    with db.transaction() as tx:
        for call in (tx.load, tx.add_rule):
            with pytest.raises(ProgramError, match="expected the text of a program, found a file") as caught:
                call("some where/rules.dl")
            assert "read the file first, `Path('some where/rules.dl').read_text()`" in str(caught.value)


def test_a_transaction_and_a_snapshot_show_what_they_are() -> None:
    db = reach()
    with db.transaction() as tx:
        assert repr(tx) == f"<transaction, open, on {db!r}>"
    assert repr(tx) == "<transaction, committed>"
    undone = db.transaction()
    undone.rollback()
    assert repr(undone) == "<transaction, not committed>"
    assert repr(db.snapshot()) == f"<snapshot of commit {db.commit}: Edge, Reach>"
