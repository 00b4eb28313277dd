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
from tidelog.session.statistics import CommitStats

__all__ = ["Callback", "CommitCallback", "Subscription", "Subscriptions"]

Callback = Callable[[RelationChanges, int], object]
CommitCallback = Callable[[Changes, CommitStats], object]

_LOG = logging.getLogger("tidelog")


@dataclass(slots=True, eq=False)
class Subscription:
    """A callback for the changes of one relation after a commit, until it is cancelled.

    Without a relation, `tell` is called for every commit.
    """

    relation: str | None
    tell: CommitCallback = field(repr=False)
    since: int
    is_active: bool = True

    def cancel(self) -> None:
        self.is_active = False


class Subscriptions:
    def __init__(self) -> None:
        self._all: list[Subscription] = []
        self._waiting: deque[tuple[Changes, CommitStats]] = deque()
        self._lock = Lock()
        self._is_delivering = False

    def add(self, relation: str, callback: Callback, since: int) -> Subscription:
        return self._add(
            Subscription(relation, lambda changes, stats: callback(changes[relation], stats.commit), since)
        )

    def add_for_all(self, callback: CommitCallback, since: int) -> Subscription:
        return self._add(Subscription(None, callback, since))

    def _add(self, subscription: Subscription) -> Subscription:
        with self._lock:
            self._all = [s for s in self._all if s.is_active] + [subscription]
        return subscription

    def enqueue(self, changes: Changes, stats: CommitStats) -> None:
        """Queue a commit; called before the next one can happen."""
        with self._lock:
            if self._all:
                self._waiting.append((changes, stats))

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

    def _next(self) -> tuple[Changes, CommitStats] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._is_delivering = False
            return None

    def _tell(self, changes: Changes, stats: CommitStats) -> None:
        for subscription in list(self._all):
            if not subscription.is_active or stats.commit <= subscription.since:
                continue
            relation = subscription.relation
            if relation is not None and relation not in changes:
                continue
            try:
                subscription.tell(changes, stats)
            except Exception:
                what = "commits" if relation is None else f"changes of {relation}"
                _LOG.exception("a callback for %s failed at commit %d", what, stats.commit)
