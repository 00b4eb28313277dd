"""Whatever ends a commit early leaves the last one as it was."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import tidelog
from session.routes import REACH, home
from tidelog import EngineError, Session

RATES = """
input relation Paid(who: string, amount: int, hours: int)
output relation Rate(who: string, rate: int)
output relation Total(who: string, amount: int)
Rate(w, a / h) :- Paid(w, a, h).
Total(w, t) :- Paid(w, a, _), var t = a.group_by(w).sum().
"""


def state(db: Session) -> dict[str, list[tuple[object, ...]]]:
    return {name: sorted(view) for name, view in db.snapshot().items()}


def test_a_division_by_zero_names_rule_and_row_and_changes_nothing() -> None:
    db = tidelog.open(text=RATES)
    with db.transaction() as tx:
        tx.insert("Paid", [("ann", 100, 4), ("bob", 90, 3)])
    before = state(db)
    tx = db.transaction()
    tx.delete("Paid", [("ann", 100, 4)])
    tx.insert("Paid", [("bob", 1, 1), ("eve", 5, 0)])
    with pytest.raises(EngineError, match=r"division by zero, where .*w = 'eve'.*, in the rule `Rate"):
        tx.commit()
    assert state(db) == before
    assert list(db["Paid"].derived) == []
    with db.transaction() as tx:
        tx.insert("Paid", [("bob", 1, 1)])
    assert set(tx.changes["Total"]) == {(("bob", 90), -1), (("bob", 91), 1)}


def test_a_rule_that_fails_is_not_added() -> None:
    db = tidelog.open(text=RATES)
    with db.transaction() as tx:
        tx.insert("Paid", [("ann", 100, 4)])
    before = state(db)
    with pytest.raises(EngineError), db.transaction() as tx:
        tx.load("output relation Bad(x: int)\nBad(1 / (h - 4)) :- Paid(_, _, h).")
    assert state(db) == before
    assert "Bad" not in db
    assert len(db.rules) == 2


def press_ctrl_c(x: int) -> int:
    signal.raise_signal(signal.SIGINT)
    return x


@pytest.fixture
def plain_interrupts() -> Iterator[None]:
    """Interrupts as Python has them: a Spark session that another test started handles them otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("plain_interrupts")
def test_an_interrupt_rolls_the_commit_back() -> None:
    db = tidelog.open(
        text="input relation P(x: int) output relation Q(x: int)\nQ(press_ctrl_c(x)) :- P(x), x > 1.",
        functions=[press_ctrl_c],
    )
    with db.transaction() as tx:
        tx.insert("P", [(1,)])
    with pytest.raises(KeyboardInterrupt), db.transaction() as tx:
        tx.insert("P", [(2,)])
    assert state(db) == {"P": [(1,)], "Q": []}
    with db.transaction() as tx:
        tx.insert("P", [(0,)])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_comes_too_late_finds_the_commit_done(monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.open(text=REACH)
    heard: list[int] = []
    db.subscribe("Edge", lambda _, commit: heard.append(commit))
    readers = home(db).readers
    publishing = readers.publishing

    @contextmanager
    def interrupted(is_kept: object) -> Iterator[None]:
        signal.raise_signal(signal.SIGINT)
        with publishing(is_kept):  # type: ignore[arg-type]
            yield

    monkeypatch.setattr(readers, "publishing", interrupted)
    tx = db.transaction()
    tx.insert("Edge", [("a", "b")])
    with pytest.raises(KeyboardInterrupt):
        tx.commit()
    assert list(db["Reach"]) == [("a", "b")]
    assert tx.changes["Reach"].inserted == [("a", "b")]
    assert not tx.is_open


def test_an_interrupt_in_the_block_rolls_back() -> None:
    db = tidelog.open(text=REACH)

    def interrupted() -> None:
        with db.transaction() as tx:
            tx.insert("Edge", [("a", "b")])
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(db["Edge"]) == 0
