"""What a session needs of its backend, which holds its program and facts.

There is one in this process (`local`), one in DataFrames (`spark`), and one that moves from the first to the
second when the data outgrows the driver (`adaptive`). What users hold is the same with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from tidelog.engine.limits import Limits
from tidelog.engine.statistics import Stats
from tidelog.maintain.strategy import Strategy
from tidelog.plan.flat import Stratum
from tidelog.program.model import Program
from tidelog.program.query import Query
from tidelog.program.typed import Relation
from tidelog.progress import Report
from tidelog.session.changes import Changes
from tidelog.session.facts import Facts, WholeFacts
from tidelog.session.locks import Locks

__all__ = ["Backend", "Done", "MakeBackend", "Staging"]


@dataclass(frozen=True, slots=True)
class Done:
    """A run that came to its end."""

    changes: Changes
    stats: Stats


class Staging(Protocol):
    """What a transaction says about the asserted facts of one relation: for each row, the last thing said.

    Data is anything that has rows; DataError if it does not fit, and then nothing was said.
    """

    def insert(self, data: object) -> None: ...

    def delete(self, data: object) -> None: ...

    def upsert(self, data: object) -> None: ...

    def delete_keys(self, keys: object) -> None: ...

    def delete_all(self) -> None: ...


class Backend(Protocol):
    """`commit` is the number of the last commit; `locks` says who holds which lock, and when."""

    @property
    def program(self) -> Program: ...

    @property
    def commit(self) -> int: ...

    @property
    def report(self) -> Report | None:
        """Whom to tell what long work is at."""
        ...

    @property
    def locks(self) -> Locks: ...

    def stage(self, relation: Relation) -> Staging:
        """Begin to say something about a relation."""
        ...

    def carry_out(
        self, program: Program, staged: Mapping[str, Any], check: Callable[[], None], *, keep: bool
    ) -> Done:
        """Run a change of program and facts; it becomes the state, or with `keep` false is undone again.

        Interrupts are to be noted meanwhile; `check` is where they may happen.
        """
        ...

    def answer(self, query: Query, check: Callable[[], None]) -> Facts:
        """What a query finds; the state stays as it is."""
        ...

    def view(self, relation: Relation) -> WholeFacts:
        """A relation as of the last commit."""
        ...

    def placed(self) -> Sequence[tuple[Stratum, str]]:
        """The units of the program, with where they are worked out and why."""
        ...

    def still(self) -> AbstractContextManager[None]:
        """While this lasts, nothing changes that is kept in this process, and others can read."""
        ...

    def saved(self) -> Any:
        """What it holds at the last commit, to be written before the next; None if it is elsewhere."""
        ...

    def resume(self, program: Program, found: Any) -> bool:
        """Hold a program and what was saved of a session with it, instead; false if that is impossible."""
        ...


MakeBackend: TypeAlias = Callable[[Strategy, Limits, Report | None], Backend]
