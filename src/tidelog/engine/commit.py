"""The commit protocol. Every state change of an engine is a commit.

    begin → stage … → run → publish | roll back

- `begin` sets the new program. Until the commit ends, the engine holds both the old and the new state.
- `stage` changes the asserted facts. If two calls change the same row, the later one wins.
- `run` brings every stratum to its new state. `changes` returns the rows inserted and deleted.
- `publish` makes the new state current; `roll_back` restores the old one. Either ends the commit.

Invariants:

- Between commits the engine holds exactly `program`, and nothing is pending.
- A commit that ends early (an error, a limit, an interrupt) leaves the previous state: `attempt` rolls back
  what its block did not publish.
- Only one commit runs at a time. Callers in several threads must take turns. `guard` is held while the commit
  changes state that readers in other threads use.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from tidelog.engine.limits import Limits
from tidelog.engine.protocol import StoringEngine
from tidelog.engine.scheduler import Scheduler
from tidelog.engine.statistics import Stats
from tidelog.plan.flat import FlatProgram
from tidelog.plan.totals import asserted_rows
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
        """Whether a commit is in progress."""
        return self._next is not None

    def begin(self, program: FlatProgram) -> None:
        """Begin a commit with this program."""
        self._next = program
        self._storage.prepare(program)
        for name in () if program is self.program else program.since(self.program).relations:
            source = program.relations[name].source
            # a worker of Spark has the copy without the relation if a stratum reads only the copy
            is_new = name not in self.program.relations
            if source is not None and source in program.relations and is_new:
                self._storage.copy_asserted(source, name)

    def stage(self, relation: str, inserted: Given, deleted: Given) -> None:
        """Change the asserted facts of a relation."""
        with self.guard():
            self._storage.assert_rows(relation, inserted, deleted)
            copy = asserted_rows(relation)
            if copy in self._at_work.relations:
                self._storage.assert_rows(copy, inserted, deleted)

    def run(
        self, limits: Limits, check: Callable[[], None] = lambda: None, report: Report | None = None
    ) -> Stats:
        """Bring all strata to their new state. See `Scheduler.run` for `check` and `report`."""
        return self.scheduler.run(self.program, self._at_work, limits, check, report)

    def evaluate(
        self, limits: Limits, check: Callable[[], None] = lambda: None, report: Report | None = None
    ) -> Stats:
        """Evaluate the program of the commit as if all of it were new. Used for queries."""
        return self.scheduler.run(FlatProgram(), self._at_work, limits, check, report)

    def changes(self, relation: str) -> tuple[Changed, Changed]:
        """The rows that the commit inserted into and deleted from a relation."""
        return self._storage.changes(relation)

    def publish(self) -> None:
        """Make the new state current."""
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

    def attempt(self, program: FlatProgram) -> AbstractContextManager[None]:
        """Run a commit that is rolled back at the end of the block unless it was published."""
        return _Attempt(self, program)

    @property
    def _at_work(self) -> FlatProgram:
        assert self._next is not None, "no commit has begun"
        return self._next


class _Attempt(AbstractContextManager[None]):
    __slots__ = ("_commits", "_program")

    def __init__(self, commits: Commits[Any, Any], program: FlatProgram) -> None:
        self._commits = commits
        self._program = program

    def __enter__(self) -> None:
        try:
            self._commits.begin(self._program)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        if self._commits.is_at_work:
            self._commits.roll_back()
