"""Sessions: programs and facts that change in transactions, and the objects that users get from them."""

from tidelog.session.changes import Changes, RelationChanges
from tidelog.session.facts import Facts
from tidelog.session.running import run
from tidelog.session.session import Session, open_session
from tidelog.session.transaction import Transaction

__all__ = ["Changes", "Facts", "RelationChanges", "Session", "Transaction", "open_session", "run"]
