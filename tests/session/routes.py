"""Programs that many tests of sessions open."""

from __future__ import annotations

import tidelog
from tidelog import Session
from tidelog.session.backends.local.state import LocalBackend

REACH = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
PEOPLE = """
input relation Person(id: int, name: string, age: option<int>) primary key (id)
output relation Adult(name: string)
Adult(n) :- Person(_, n, a), a.unwrap_or(0) >= 18.
"""


def reach(*edges: tuple[str, str]) -> Session:
    """A session of `REACH` with these edges in its first commit."""
    db = tidelog.open(text=REACH)
    with db.transaction() as tx:
        tx.insert("Edge", edges)
    return db


def home(db: Session) -> LocalBackend:
    """Where a session in this process keeps its data."""
    assert isinstance(db._state, LocalBackend)
    return db._state
