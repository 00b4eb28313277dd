"""Callbacks hear of changes, in order, and undo nothing."""

from __future__ import annotations

import logging

import pytest

from session.routes import reach
from tidelog import ProgramError, SessionError
from tidelog.session import RelationChanges


def test_a_callback_hears_of_the_changes_of_its_relation() -> None:
    db = reach(("a", "b"))
    heard: list[tuple[object, int]] = []
    db.subscribe("Reach", lambda changes, commit: heard.append((sorted(changes), commit)))
    with db.transaction() as tx:
        tx.insert("Edge", [("b", "c")])
    with db.transaction() as tx:
        tx.insert("Edge", [("b", "c")])
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
    assert heard == [
        ([(("a", "c"), 1), (("b", "c"), 1)], 2),
        ([(("a", "b"), -1), (("a", "c"), -1)], 4),
    ]


def test_a_cancelled_callback_hears_nothing_more() -> None:
    db = reach()
    heard: list[int] = []
    handle = db.subscribe("Edge", lambda _, commit: heard.append(commit))
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
    handle.cancel()
    with db.transaction() as tx:
        tx.insert("Edge", [("b", "c")])
    assert heard == [2]


def test_a_callback_sees_what_was_published_and_may_commit() -> None:
    db = reach(("a", "b"))
    heard: list[tuple[int, int]] = []

    def follow(changes: RelationChanges, commit: int) -> None:
        heard.append((commit, len(db["Edge"])))
        if commit < 4:
            with db.transaction() as tx:
                tx.insert("Edge", [("n", str(commit))])

    db.subscribe("Edge", follow)
    with db.transaction() as tx:
        tx.insert("Edge", [("b", "c")])
    assert heard == [(2, 2), (3, 3), (4, 4)]


def test_a_callback_that_fails_is_logged_and_undoes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    db = reach()
    heard: list[int] = []
    db.subscribe("Edge", lambda *_: 1 / 0)
    db.subscribe("Edge", lambda _, commit: heard.append(commit))
    with caplog.at_level(logging.ERROR), db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
    assert "a callback for changes of Edge failed at commit 2" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert (heard, len(db["Edge"])) == ([2], 1)


def test_nobody_subscribes_to_what_is_not_there() -> None:
    with pytest.raises(ProgramError, match="did you mean `Edge`"):
        reach().subscribe("Egde", print)


def test_what_cannot_be_called_is_refused_at_once() -> None:
    with pytest.raises(SessionError, match="`callback` is 3; give a function"):
        reach().subscribe("Edge", 3)  # type: ignore[arg-type]
