"""Sessions begin with a file, a text, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from session.routes import REACH
from tidelog import DataError, EngineError, ProgramError, SessionError
from tidelog.maintain.strategy import STRATEGIES


def test_a_session_opens_a_file(tmp_path: Path) -> None:
    file = tmp_path / "reach.dl"
    file.write_text(REACH)
    db = tidelog.open(file)
    assert list(db) == ["Edge", "Reach"]
    assert db.rules[0].origin == f"{file}:4:1"


def test_facts_of_the_program_are_there_at_once() -> None:
    db = tidelog.open(text=REACH + 'Edge("a", "b").\n')
    assert list(db["Reach"]) == [("a", "b")]
    assert db.commit == 0


BOUNDED = """
input relation Lim(x: int)
output relation Conf(x: int)
Conf(0).
Conf(x + 1) :- Conf(x), not Lim(x).
"""


def test_program_and_facts_of_one_call_are_one_commit(tmp_path: Path) -> None:
    """Without the facts the recursion has no end."""
    db = tidelog.open(text=BOUNDED, facts={"Lim": [(3,)]})
    assert sorted(db["Conf"]) == [(0,), (1,), (2,), (3,)]
    assert db.commit == 0
    assert [(u.name, u.strategy) for u in db.stats.strata] == [("Lim", "bootstrap"), ("Conf", "bootstrap")]
    assert "Conf" in str(db.explain())
    (tmp_path / "Lim.csv").write_text("x\n2\n")
    assert sorted(tidelog.open(text=BOUNDED, facts=tmp_path)["Conf"]) == [(0,), (1,), (2,)]
    with db.transaction() as tx:
        tx.insert("Lim", [(1,)])
    assert sorted(tx.changes["Conf"].deleted) == [(2,), (3,)]


def test_a_first_commit_that_exceeds_a_limit_opens_nothing() -> None:
    with pytest.raises(EngineError, match="Conf exceeded the iteration limit"):
        tidelog.open(text=BOUNDED, facts={"Lim": [(1000,)]}, max_iterations=50)


def test_facts_that_do_not_fit_open_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Lim"):
        tidelog.open(text=BOUNDED, facts={"Lim": [("x",)]})
    with pytest.raises(ProgramError, match="unknown relation `Limit`"):
        tidelog.open(text=BOUNDED, facts={"Limit": [(1,)]})
    with pytest.raises(DataError, match=r"has no Lim\.csv"):
        tidelog.open(text=BOUNDED, facts=tmp_path)
    with pytest.raises(SessionError, match="`facts` is list; give a folder, or data by relation"):
        tidelog.open(text=BOUNDED, facts=[(1,)])  # type: ignore[arg-type]


def test_a_session_can_begin_with_no_program() -> None:
    db = tidelog.open()
    with db.transaction() as tx:
        tx.load("input relation P(x: int)")
        tx.insert("P", [(1,)])
    assert list(db["P"]) == [(1,)]


def test_a_missing_file_is_told() -> None:
    with pytest.raises(SessionError, match=r"no/such\.dl cannot be read: No such file"):
        tidelog.open("no/such.dl")


def test_a_text_in_the_place_of_a_path_is_told() -> None:
    with pytest.raises(SessionError, match="to give the program itself, write text="):
        tidelog.open("input relation P(x: int)")


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "bad.dl"
    file.write_bytes(b"P(\xff)")
    with pytest.raises(SessionError, match="is not UTF-8 text"):
        tidelog.open(file)


def test_file_and_text_exclude_each_other() -> None:
    with pytest.raises(SessionError, match="not both"):
        tidelog.open("reach.dl", text=REACH)


def test_all_mistakes_of_a_program_are_told() -> None:
    with pytest.raises(ProgramError) as error:
        tidelog.open(text="P(x) :- Q(x).", name="two.dl")
    assert [d.code for d in error.value.diagnostics] == ["E101", "E101"]
    assert "two.dl:1:1" in str(error.value)


def test_an_unknown_strategy_is_told() -> None:
    with pytest.raises(SessionError, match="unknown strategy `elastc`; did you mean `elastic`"):
        tidelog.open(text=REACH, strategy="elastc")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies_give_the_same(strategy: str) -> None:
    db = tidelog.open(text=REACH, strategy=strategy)
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "a"), ("b", "c")])
    with db.transaction() as tx:
        tx.delete("Edge", [("b", "a")])
    assert sorted(tx.changes["Reach"].deleted) == [("a", "a"), ("b", "a"), ("b", "b")]


def double(x: int) -> int:
    return 2 * x


def test_functions_of_python_are_callable() -> None:
    db = tidelog.open(
        text="input relation P(x: int) output relation Q(x: int)\nQ(double(x)) :- P(x).", functions=[double]
    )
    with db.transaction() as tx:
        tx.insert("P", [(4,)])
    assert list(db["Q"]) == [(8,)]


COUNTING = """
input relation Start(x: int)
output relation Count(x: int)
Count(x) :- Start(x).
Count(x + 1) :- Count(x), x < 1000000000000.
"""


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_iterations": 50}, "Count exceeded the iteration limit: it still changed after 50 rounds"),
        ({"max_rows": 100}, "Count exceeded the limit of 100 rows"),
        (
            {"timeout": 0.5, "max_iterations": 10**9},
            r"exceeded the time limit of 0\.5 s; the running rule was `Count\(x \+ 1\)",
        ),
    ],
)
def test_a_limit_ends_the_commit_and_undoes_it(limits: dict[str, float], message: str) -> None:
    db = tidelog.open(text=COUNTING, **limits)  # type: ignore[arg-type]
    with db.transaction() as tx:
        tx.insert("Start", [(999_999_999_999,)])
    with pytest.raises(EngineError, match=message), db.transaction() as tx:
        tx.insert("Start", [(0,)])
    assert sorted(db["Count"]) == [(999_999_999_999,), (1_000_000_000_000,)]
    assert list(db["Start"]) == [(999_999_999_999,)]
    with db.transaction() as tx:
        tx.insert("Start", [(999_999_999_998,)])
    assert tx.changes["Count"].inserted == [(999_999_999_998,)]


def test_a_session_shows_what_it_is() -> None:
    assert repr(tidelog.open(text=REACH)) == "<tidelog session: 2 relations, 2 rules, commit 0>"


@pytest.mark.parametrize("limit", ["max_iterations", "max_rows", "timeout"])
@pytest.mark.parametrize("value", ["3", -1, 0, True])
def test_a_limit_that_is_no_number_above_zero_is_refused_at_once(limit: str, value: object) -> None:
    with pytest.raises(SessionError, match=f"`{limit}` is .*; give a number above 0"):
        tidelog.open(text="", **{limit: value})  # type: ignore[arg-type]


def test_a_recursion_without_an_end_is_given_up_by_default() -> None:
    db = tidelog.open(
        text="""
        input relation P(x: int, y: int)
        output relation S(x: int, d: int)
        S(x, d) :- P(x, k), var d = k.group_by(x).min().
        S(y, d) :- S(x, a), P(x, y), var d = (a - 1).group_by(y).min().
        """,
        max_iterations=200,
    )
    with pytest.raises(EngineError, match="S exceeded the iteration limit"), db.transaction() as tx:
        tx.insert("P", [(1, 1)])
    assert list(db["S"]) == []
