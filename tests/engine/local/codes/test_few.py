"""A few plain rows are encoded directly, with the same results and errors as all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.session.backends.local import staging

TEXT = """
input relation P(n: int, s: string, o: option<int>, b: bit<8>)
input relation Q(n: int, s: string)
output relation R(n: int, s: string)
R(n, s) :- Q(n, s).
"""
NUMBERS = (
    st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**70), 2**70) | st.booleans() | st.floats() | st.none()
)
STRINGS = st.text(max_size=4) | st.integers(0, 3) | st.none() | st.binary(max_size=2)


def outcome(rows: list[Any], relation: str) -> object:
    """The contents after an insertion, or the message."""
    db = tidelog.open(text=TEXT)
    try:
        with db.transaction() as tx:
            tx.insert(relation, rows)
    except tidelog.TidelogError as error:
        return str(error)
    return sorted(map(repr, db[relation])), sorted(map(repr, db["R"]))


@pytest.fixture(scope="module")
def generally() -> Callable[[list[Any], str], object]:
    """The outcome if nothing is encoded directly."""

    def run(rows: list[Any], relation: str) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(staging, "FEW", -1)
            return outcome(rows, relation)

    return run


@given(
    rows=st.lists(st.tuples(NUMBERS, STRINGS) | st.tuples(st.integers(0, 3), st.text(max_size=2)), max_size=4)
)
def test_any_rows_have_the_same_outcome(rows: list[Any], generally: Any) -> None:
    assert outcome(rows, "Q") == generally(rows, "Q")


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [()],
        [(1,)],
        [(1, "a", "extra")],
        [[1, "a"]],
        [{"n": 1, "s": "a"}],
        [(1, "é")],
        [(1, "\ud800")],
        [(True, "a")],
        [(2**63, "a")],
        [(-(2**63), "a"), (2**63 - 1, "")],
        [(1, "a"), (1, "a"), (2, None)],
    ],
)
def test_unusual_rows_have_the_same_outcome(rows: list[Any], generally: Any) -> None:
    assert outcome(rows, "Q") == generally(rows, "Q")


def test_other_types_are_encoded_generally(generally: Any) -> None:
    for rows in ([(1, "a", None, 3)], [(1, "a", -(2**63), 3)], [(1, "a", 2, 256)]):
        assert outcome(rows, "P") == generally(rows, "P")


def test_few_rows_can_be_deleted_and_replaced() -> None:
    db = tidelog.open(text="input relation K(k: string, v: int) primary key (k)\n")
    with db.transaction() as tx:
        tx.insert("K", [("a", 1), ("b", 2)])
    with db.transaction() as tx:
        tx.upsert("K", [("a", 3)])
        tx.delete("K", [("b", 2)])
    assert set(db["K"]) == {("a", 3)}
    with pytest.raises(tidelog.DataError), db.transaction() as tx:
        tx.insert("K", [("a", 4)])
