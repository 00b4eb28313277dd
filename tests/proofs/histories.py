"""Histories of random programs on a session, for tests of explanations."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

from oracle.language.checking import NAMES, _context, act, open_local
from oracle.language.histories import programs
from tidelog.errors import EngineError, TidelogError
from tidelog.session.changes import Changes
from tidelog.session.session import Session

__all__ = ["Check", "committed", "with_sessions"]

Check = Any  # a function of a session, called after each commit


def committed(db: Session, step: Any) -> Changes | None:
    """Commit a step of the generator of core programs; None if an expression failed.

    The generator does not know what was refused, so a history ends there.
    """
    tx = db.transaction()
    try:
        for edit in step.edits:
            if edit.startswith("+ "):
                tx.load(edit[2:])
            else:
                tx.remove_rule(edit[2:])
        for name, change in step.facts.items():
            tx.insert(name, [row for row, weight in change.items() if weight > 0])
            tx.delete(name, [row for row, weight in change.items() if weight < 0])
        return tx.commit()
    except EngineError:
        return None


def with_sessions(seed: int, random: Random, check: Check) -> None:
    """Check a session after each commit of a random program of the whole language."""
    case = programs(seed)
    db: Any = open_local(case, random.choice(NAMES))
    with _context(case):
        for step in case.steps:
            with suppress(TidelogError):
                tx = db.transaction()
                for action in step.actions:
                    with suppress(TidelogError):
                        act(tx, action)
                tx.commit()
            check(db)
