"""The commit protocol: the only way from one state of an engine to the next.

    begin → stage … → run → publish | roll back

- `begin` names the new program. From here until the end, the engine keeps the old and the new state apart.
- `stage` changes what is asserted. Of two calls about one row, the later one counts.
- `run` brings every stratum to its new state. `changes` tells what was inserted and deleted.
- `publish` makes the new state the state; `roll_back` restores the old one. Either ends the commit.

Invariants:

- Between commits the engine holds exactly `program`, and nothing is pending.
- Whatever ends a commit early (an error, a limit, an interrupt) leads back to the state before it: `attempt`
  rolls back what its block did not publish.
- There is one commit at a time. Whoever drives an engine from several threads takes turns; `guard` is entered
  for the moments in which the commit changes what readers in other threads look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Generic, TypeVar

from tidelog.engine.limits import Limits
from tidelog.engine.protocol import StoringEngine
from tidelog.engine.scheduler import Scheduler
from tidelog.engine.statistics import Stats
from tidelog.plan.flat import FlatProgram
from tidelog.progress import Report

__all__ = ["Commits"]

Given = TypeVar("Given")
Changed = TypeVar("Changed")


class Commits(Generic[Given, Changed]):
    """The commits of one engine."""

    def __init__(
        self,
        engine: StoringEngine[Given, Changed],
        scheduler: Scheduler,
        guard: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._storage = engine
        self.scheduler = scheduler
        self.program = FlatProgram()
        self.guard = guard
        self._next: FlatProgram | None = None

    @property
    def is_at_work(self) -> bool:
        """Whether a commit has begun and not ended."""
        return self._next is not None

    def begin(self, program: FlatProgram) -> None:
        """Begin a commit whose program is this one."""
        self._next = program
        self._storage.prepare(program)

    def stage(self, relation: str, inserted: Given, deleted: Given) -> None:
        """Change what is asserted of a relation."""
        with self.guard():
            self._storage.assert_rows(relation, inserted, deleted)

    def run(
        self, limits: Limits, check: Callable[[], None] = lambda: None, report: Report | None = None
    ) -> Stats:
        """Bring all strata to their new state. See `Scheduler.run` for `check` and `report`."""
        return self.scheduler.run(self.program, self._at_work, limits, check, report)

    def evaluate(
        self, limits: Limits, check: Callable[[], None] = lambda: None, report: Report | None = None
    ) -> Stats:
        """Evaluate the program of the commit as one that was added to what is there: a query."""
        return self.scheduler.run(FlatProgram(), self._at_work, limits, check, report)

    def changes(self, relation: str) -> tuple[Changed, Changed]:
        """What the commit has inserted into and deleted from a relation."""
        return self._storage.changes(relation)

    def publish(self) -> None:
        """Make the new state the state."""
        program = self._at_work
        self._storage.commit()
        self._storage.forget(program)
        self.program, self._next = program, None

    def roll_back(self) -> None:
        """Restore the state before the commit."""
        with self.guard():
            self._storage.rollback()
            self._storage.forget(self.program)
        self._next = None

    @contextmanager
    def attempt(self, program: FlatProgram) -> Iterator[None]:
        """A commit that is rolled back at the end of the block unless it was published."""
        try:
            self.begin(program)
            yield
        finally:
            if self.is_at_work:
                self.roll_back()

    @property
    def _at_work(self) -> FlatProgram:
        assert self._next is not None, "no commit has begun"
        return self._next
