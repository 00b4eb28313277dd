"""The history of delayed relations: what each commit changed, until it is due.

`R-N` is asserted as a relation of its own, N commits behind R. Its queue holds what the last N commits
changed in R, the oldest first. The queue begins with the commit that first reads `R-N`: R as a whole after
that commit is due N commits later, and nothing before. Only successful commits change queues.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidelog.session.backends.protocol import Staging
from tidelog.session.changes import Changes
from tidelog.session.facts import Facts

__all__ = ["History"]


@dataclass(frozen=True, slots=True)
class _Change:
    inserted: Facts
    deleted: Facts | None

    def stage(self, staging: Staging) -> None:
        if self.deleted is not None and len(self.deleted):
            staging.delete(self.deleted.to_arrow())
        if len(self.inserted):
            staging.insert(self.inserted.to_arrow())


class History:
    """One queue for each delayed relation, by its name."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[_Change | None]] = {}

    def stage(self, name: str, staging: Callable[[], Staging]) -> Staging | None:
        """The changes of a delayed relation in the next commit; None if there are none."""
        due = self._queues[name][0] if name in self._queues else None
        if due is None:
            return None
        made = staging()
        due.stage(made)
        return made

    def advance(
        self, delays: Mapping[str, tuple[str, int]], changes: Changes, whole: Callable[[str], Facts]
    ) -> None:
        """Add what a commit changed; `delays` are the delayed relations now, `whole` reads a relation."""
        queues: dict[str, deque[_Change | None]] = {}
        for name, (relation, delay) in delays.items():
            queue = self._queues.get(name)
            if queue is None:
                queue = deque([None] * (delay - 1))
                queue.append(_Change(whole(relation), None))
            else:
                queue.popleft()
                change = changes[relation].parts() if relation in changes else None
                queue.append(None if change is None else _Change(*change))
            queues[name] = queue
        self._queues = queues
