"""Callbacks for changes.

They run after publication and outside the transaction, in the order of the commits. A callback may commit;
that commit is reported in its turn. A callback that fails is logged, and the commit stands.

A subscription reports the commits after the one at which it was made, although earlier ones may still be
waiting to be reported then. The lock in this module guards the lists; nothing else happens while it is held.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from tidelog.session.changes import Changes, RelationChanges

__all__ = ["Callback", "Subscription", "Subscriptions"]

Callback = Callable[[RelationChanges, int], object]

_LOG = logging.getLogger("tidelog")


@dataclass(slots=True, eq=False)
class Subscription:
    """A callback for the changes of one relation after a commit, until it is cancelled."""

    relation: str
    callback: Callback = field(repr=False)
    since: int
    is_active: bool = True

    def cancel(self) -> None:
        self.is_active = False


class Subscriptions:
    def __init__(self) -> None:
        self._all: list[Subscription] = []
        self._waiting: deque[tuple[Changes, int]] = deque()
        self._lock = Lock()
        self._is_delivering = False

    def add(self, relation: str, callback: Callback, since: int) -> Subscription:
        subscription = Subscription(relation, callback, since)
        with self._lock:
            self._all = [s for s in self._all if s.is_active] + [subscription]
        return subscription

    def enqueue(self, changes: Changes, commit: int) -> None:
        """Queue a commit; called before the next one can happen."""
        with self._lock:
            if self._all:
                self._waiting.append((changes, commit))

    def deliver(self) -> None:
        """Report the queued commits, unless that is being done already, which then includes these."""
        with self._lock:
            if self._is_delivering:
                return
            self._is_delivering = True
        try:
            while (next_ := self._next()) is not None:
                self._tell(*next_)
        except BaseException:
            with self._lock:
                self._is_delivering = False
            raise

    def _next(self) -> tuple[Changes, int] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._is_delivering = False
            return None

    def _tell(self, changes: Changes, commit: int) -> None:
        for subscription in list(self._all):
            if not subscription.is_active or commit <= subscription.since:
                continue
            if subscription.relation not in changes:
                continue
            try:
                subscription.callback(changes[subscription.relation], commit)
            except Exception:
                _LOG.exception(
                    "a callback for changes of %s failed at commit %d", subscription.relation, commit
                )
