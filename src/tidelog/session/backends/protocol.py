"""The backend of a session, which holds its program and facts.

There is one in this process (`local`), one in DataFrames (`spark`), and one that moves from the first to the
second when the data outgrows the driver (`adaptive`). Users get the same objects with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from tidelog.engine.limits import Limits
from tidelog.engine.local.storage.record import Record
from tidelog.engine.statistics import Stats
from tidelog.maintain.strategy import Strategy
from tidelog.plan.fan_outs import Start
from tidelog.plan.flat import Stratum
from tidelog.program.declared import Relation
from tidelog.program.model import Program
from tidelog.program.query import Query
from tidelog.progress import Report
from tidelog.session.changes import Changes
from tidelog.session.facts import Facts, WholeFacts
from tidelog.session.locks import Locks
from tidelog.session.profiles.observed import Observed
from tidelog.store.files import Files
from tidelog.store.states import StatePart, StateParts

__all__ = ["Backend", "Done", "InFrames", "MakeBackend", "Saved", "Staging"]


@dataclass(frozen=True, slots=True)
class Done:
    """The results of a completed run."""

    changes: Changes
    stats: Stats


class Staging(Protocol):
    """The changes of a transaction to the asserted facts of one relation: for each row, the last change.

    Data is anything that has rows. A call raises DataError if it does not match the relation, and then has no
    effect.
    """

    def insert(self, data: object) -> None: ...

    def delete(self, data: object) -> None: ...

    def upsert(self, data: object) -> None: ...

    def delete_keys(self, keys: object) -> None: ...

    def delete_all(self) -> None: ...


class Backend(Protocol):
    """`commit` is the number of the last commit; the module `locks` says when its locks are held."""

    @property
    def program(self) -> Program: ...

    @property
    def commit(self) -> int: ...

    @property
    def report(self) -> Report | None:
        """The function to call with the progress of long work."""
        ...

    @property
    def locks(self) -> Locks: ...

    def stage(self, relation: Relation) -> Staging:
        """Start to collect changes of a relation."""
        ...

    def carry_out(
        self, program: Program, staged: Mapping[str, Any], check: Callable[[], None], *, keep: bool
    ) -> Done:
        """Run a change of program and facts. It becomes the state, or is undone if `keep` is false.

        The caller records interrupts meanwhile; `check` delivers them.
        """
        ...

    def answer(self, query: Query, check: Callable[[], None]) -> Facts:
        """The answers to a query; the state does not change."""
        ...

    def view(self, relation: Relation) -> WholeFacts:
        """A relation as of the last commit."""
        ...

    def placed(self) -> Sequence[tuple[Stratum, str]]:
        """The strata of the program, with where they are evaluated, and why."""
        ...

    def plan(self, found: Mapping[str, tuple[int, float]], only: Collection[str] | None) -> str:
        """The join orders of rules at the current sizes; see `plan.describe` for the parameters."""
        ...

    def observed(self, starts: Sequence[Start]) -> Observed:
        """What a profile shows beside statistics. `starts` are rules whose join orders it shows.

        Those that the program does not have any more are left out.
        """
        ...

    def still(self) -> AbstractContextManager[None]:
        """Inside this block, the data in this process does not change, and others can read it."""
        ...

    def saved(self) -> Saved:
        """The state at the last commit, to write before the next."""
        ...

    def resume(self, program: Program, record: Record) -> bool:
        """Switch to a program and its saved state of data in this process; false if that is impossible."""
        ...


class Saved(Protocol):
    """The state of a session, to be written; `place` says where its data is."""

    @property
    def place(self) -> str: ...

    def write_parts(self, files: Files, state: str) -> Sequence[StatePart]:
        """Write all files but the one with the record, which comes last. Raises OSError."""
        ...

    def record(self) -> Record: ...


class InFrames(Protocol):
    """A backend that can have its data in DataFrames."""

    def resume_frames(self, program: Program, record: Record, parts: StateParts) -> Mapping[str, str]:
        """Switch to a program and its saved state; returns why some strata are bootstrapped, by their names.

        The next commits add to it, where a stratum turns out to be maintained in another way than before.
        Raises Unusable, Corrupt or EngineError if that is impossible; the backend is of no use then.
        """
        ...


MakeBackend: TypeAlias = Callable[[Strategy, Limits, Report | None], Backend]
