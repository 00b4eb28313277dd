"""The protocols that engines implement.

- `Storage`: relations and the current commit. The `commit` module calls it.
- `Operators`: the leaf operators that every script needs. The scheduler calls them.
- `Traces`, `Extrema`, `Totals`, `Fusion`, `Claims`: optional capabilities. An engine has an attribute for
  each, which is None if the engine lacks the capability.

An engine knows nothing about strategies. Between `prepare` and `commit` or `rollback` it holds both the old
and the new state of every relation, so that scripts can read both and the commit can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from tidelog.engine.rounds import Rounds
from tidelog.engine.statistics import RuleStats, WhatWasDone
from tidelog.maintain.script import (
    Accumulate,
    Assertions,
    Compare,
    Conclude,
    Derive,
    EndRound,
    Improve,
    Regroup,
)
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum

__all__ = [
    "Check",
    "Claimed",
    "Claims",
    "Engine",
    "Extrema",
    "FusedRounds",
    "Fusion",
    "Operators",
    "Storage",
    "StoringEngine",
    "Tell",
    "Totals",
    "Traces",
]

Rows = TypeVar("Rows")  # a table of rows, as an engine represents it
Given = TypeVar("Given", contravariant=True)
Changed = TypeVar("Changed", covariant=True)


class Claimed(NamedTuple):
    """A stratum that the engine evaluated itself, without scripts.

    `rows` is the number of rows after evaluation, or 0 if the engine enforced the row limit itself. `jobs`,
    `steps`, `written` and `hot` are those of `StratumStats`, `rules` the statistics of its rules, if they are
    known.
    """

    rounds: int
    why: str
    strategy: str = "whole"
    instances: int = 0
    rows: int = 0
    jobs: int = 0
    steps: int = 0
    written: int = 0
    hot: str = ""
    rules: Mapping[str, RuleStats] = MappingProxyType({})


class FusedRounds(NamedTuple):
    """Rounds that ran in one call: how many, the rows and instances they found, and what was done.

    `done` is None if nothing was.

    `started` is the number of rows in the deltas that derivations started from. `wants_claim` is true if the
    engine wants to claim the stratum now (see `Claims`).
    """

    rounds: int
    rows: int = 0
    instances: int = 0
    done: WhatWasDone | None = None
    started: int = 0
    wants_claim: bool = False


class Check(Protocol):
    """A callback that engines call regularly during work. What it raises ends the commit or the update."""

    def __call__(self, ahead: int | None = None) -> None:
        """Called without `ahead` inside a long step, and with it before allocating that many bytes."""
        ...


# arguments: rounds so far, tuples inserted or deleted by the last round, rows after it
Tell: TypeAlias = Callable[[int, int, int], None]


class Storage(Protocol[Given, Changed]):
    """Relations and the current commit."""

    def prepare(self, program: FlatProgram) -> None:
        """Begin a commit: create the relations of a program that do not exist."""
        ...

    def assert_rows(self, relation: str, inserted: Given, deleted: Given) -> None:
        """Change the asserted facts. Inserting an asserted row or deleting a missing one has no effect."""
        ...

    def copy_asserted(self, relation: str, copy: str) -> None:
        """Assert the asserted facts of a relation in a copy, which is new in this commit."""
        ...

    def changes(self, relation: str) -> tuple[Changed, Changed]:
        """The rows that the current commit inserted into and deleted from a relation."""
        ...

    def commit(self) -> None:
        """Make the new state current."""
        ...

    def rollback(self) -> None:
        """Restore the state before the commit."""
        ...

    def forget(self, program: FlatProgram) -> None:
        """Drop everything that is not in a program. Called between commits."""
        ...


class Operators(Protocol):
    """The leaf operators of scripts, and the scheduler's queries about the current commit."""

    def size(self, relation: str) -> int:
        """The number of rows before the commit."""
        ...

    def changed_relations(self) -> Iterable[str] | None:
        """The relations that the commit has changed so far; None if every stratum has to be looked at."""
        ...

    def has_changed(self, relation: str) -> bool:
        """Whether the rows or asserted facts of a relation differ from those before the commit."""
        ...

    def was_touched(self, relation: str) -> bool:
        """Whether any row of a relation was inserted, deleted or given another count."""
        ...

    def changed_rows(self, relation: str) -> tuple[int, int]:
        """How many rows were inserted and deleted."""
        ...

    def asserted_changes(self, relation: str) -> tuple[int, int]:
        """How many facts were asserted and retracted."""
        ...

    def watch(self, check: Check, tell: Tell) -> None:
        """From now on, call `check` regularly, and `tell` with the progress of claimed strata."""
        ...

    def follow_scripts(self) -> None:
        """From now on, evaluate strata only by scripts, never in the engine's own form."""
        ...

    def must_bootstrap(self, stratum: Stratum) -> bool:
        """Whether the state of a stratum rules out an update."""
        ...

    def enter(self, stratum: Stratum) -> int:
        """Begin work on a stratum; returns the highest rank in use."""
        ...

    def clear(self, relations: Iterable[str], traced: bool) -> bool:
        """Empty relations, including anything the commit inserted so far.

        Returns true if the engine wants to claim the stratum instead (see `Claims`).
        """
        ...

    def assertions(self, step: Assertions, rank: int) -> int:
        """Apply asserted facts as instances with an empty body; returns their number."""
        ...

    def is_idle(self, step: Derive) -> bool:
        """Whether a rule certainly has no instances, because its first literal has no rows."""
        ...

    def derive(self, step: Derive, rank: int) -> int:
        """Find the instances of a rule and apply them to their heads; returns their number, if known."""
        ...

    def expected(self, step: Derive, rows: int | None = None) -> float | None:
        """How many instances were to be expected by what is known about relations; None if that is unknown.

        `rows` is the number of rows of its first literal, if it is not that of the current round.
        """
        ...

    def done_so_far(self, relation: str) -> tuple[int, int] | None:
        """How many rows joins have examined so far, and how many the current round has found in a relation.

        Only differences have a meaning. None if the engine does not count what a single rule does.
        """
        ...

    def prepared(self) -> int:
        """How often the engine has planned a rule so far. An update that plans takes longer than the next."""
        ...

    def end_round(self, step: EndRound) -> int | None:
        """Make the tuples found the next delta; returns its size.

        None if the engine wants to claim the stratum instead (see `Claims`).
        """
        ...

    def delta(self, relations: Iterable[str]) -> int:
        """The size of the delta."""
        ...

    def found_so_far(self, relations: Iterable[str]) -> int:
        """How many rows the current round is known to have found so far."""
        ...

    def regroup(self, step: Regroup) -> None:
        """Replace the results of touched groups, or of all groups."""
        ...

    def merge(self, parts: Sequence[frozenset[str]]) -> None:
        """Merge strata and their states into one stratum. Each part reads only the parts before it."""
        ...

    def raise_highest(self, relations: Iterable[str], rank: int) -> None:
        """Record that ranks up to this one are in use."""
        ...

    def mean_rank(self, relations: Iterable[str]) -> float:
        """About the mean rank of the rows of a stratum, or 0 where ranks are not at hand."""
        ...

    def finish(self, stratum: Stratum) -> None:
        """End work on a stratum, so that strata above can read its old and new states."""
        ...


class Traces(Protocol):
    """Derivations by iteration, for differential maintenance."""

    def pending(self, relations: Iterable[str]) -> int:
        """How many derivations changed at iterations that are still to be processed."""
        ...

    def depart(self, relations: Iterable[str]) -> int:
        """Go to the next such iteration; returns how many rows are deleted there."""
        ...

    def arrive(self, relations: Iterable[str]) -> int:
        """Insert rows at this iteration; returns how many."""
        ...

    def examine(self, rules: Iterable[FlatRule]) -> None:
        """If failures were skipped, raise if an instance of the final state fails."""
        ...


class Extrema(Protocol):
    """The best value per key, for recursive `min` and `max`."""

    def doubt(self, relations: Iterable[str]) -> None:
        """Put tuples without a rank on the worklist as suspects."""
        ...

    def improve(self, stratum: Stratum, step: Improve, check_round: Callable[[], None]) -> int:
        """Find the best values; returns the number of instances of rules examined."""
        ...

    def aim(self, relations: Iterable[str]) -> None:
        """Make the tuples that need a rank suspects."""
        ...

    def rest(self, relations: Iterable[str]) -> None:
        """Record the tuples that could not be given a rank."""
        ...

    def compare(self, stratum: Stratum, step: Compare) -> None:
        """From now on, compare heads with the tuples of their keys."""
        ...

    def conclude(self, step: Conclude) -> None:
        """End the comparison, and raise if an instance of the final state fails."""
        ...


class Totals(Protocol):
    """Recursive `sum` and `count`."""

    def accumulate(self, stratum: Stratum, step: Accumulate, count: Callable[[int], None]) -> int:
        """Bring a stratum to its new state; returns the number of instances found.

        `count` is called after each round with the number of rows by which the stratum has grown.
        """
        ...


class Fusion(Protocol):
    """Running several rounds in one call."""

    def run_rounds(self, rounds: Rounds, rank: int, most: int | None) -> FusedRounds | None:
        """Run rounds in one call, while deltas are small; None, without effect, to request single steps.

        It may end before a repetition, and does so after `most` rounds.
        """
        ...

    def running(self) -> tuple[int, int]:
        """While rounds run: the number of the derivation at work, and how many rounds have ended."""
        ...


class Claims(Protocol):
    """Strata that an engine evaluates itself, without scripts."""

    def claim(self, stratum: Stratum, start: bool = False) -> Claimed | None:
        """Evaluate a stratum that the engine has claimed; None if scripts must evaluate it.

        `start` claims it now. It is set after `clear` or `end_round` requested that.
        """
        ...


class Engine(Operators, Protocol):
    """The part of an engine that the scheduler uses."""

    @property
    def traces(self) -> Traces | None: ...

    @property
    def extrema(self) -> Extrema | None: ...

    @property
    def totals(self) -> Totals | None: ...

    @property
    def fusion(self) -> Fusion | None: ...

    @property
    def claims(self) -> Claims | None: ...


class StoringEngine(Engine, Storage[Given, Changed], Protocol[Given, Changed]):
    """The part of an engine that commits use."""
