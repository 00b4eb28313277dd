"""What engines offer, in small protocols.

- `Storage`: relations, and the commit at work on them. `commit` (the module) drives it.
- `Operators`: the leaf operators that every script needs. The scheduler drives them.
- `Traces`, `Extrema`, `Fusion`, `Claims`: what some engines can do besides. An engine says which by its
  attributes of these names, which are None for what it cannot do.

An engine knows nothing of strategies. Between `prepare` and `commit` or `rollback` it keeps the old and the
new state of every relation apart, so that scripts can read both and everything can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from tidelog.maintain.script import Assertions, Derive, EndRound, Improve, Regroup, Repeat
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
    "Traces",
]

Rows = TypeVar("Rows")  # a table of rows, as an engine represents it
Given = TypeVar("Given", contravariant=True)
Changed = TypeVar("Changed", covariant=True)


class Claimed(NamedTuple):
    """A stratum that the engine evaluated in its own way: the rounds, the reason, and the instances.

    `rows` is the number of rows that it has now, unless the engine compared it with the limit itself.
    """

    rounds: int
    why: str
    strategy: str = "whole"
    instances: int = 0
    rows: int = 0


class FusedRounds(NamedTuple):
    """Rounds that ran in one go: how many, the rows they found, and the instances of each step.

    `wants_claim` says that the engine wants to claim the stratum now (see `Claims`).
    """

    rounds: int
    rows: int
    instances: tuple[int, ...]
    wants_claim: bool = False


class Check(Protocol):
    """Engines call it now and then while they work. What it raises ends the commit or the update."""

    def __call__(self, ahead: int | None = None) -> None:
        """Without `ahead`, inside a long step; with it, before so many bytes are allocated."""
        ...


# rounds so far, tuples that the last one inserted or deleted, rows after it
Tell: TypeAlias = Callable[[int, int, int], None]


class Storage(Protocol[Given, Changed]):
    """Relations, and the commit at work on them."""

    def prepare(self, program: FlatProgram) -> None:
        """Begin a commit: create the relations of a program that do not exist."""
        ...

    def assert_rows(self, relation: str, inserted: Given, deleted: Given) -> None:
        """Change what is asserted. Rows that are asserted already, or that are not, change nothing."""
        ...

    def changes(self, relation: str) -> tuple[Changed, Changed]:
        """The rows that the commit at work has inserted into and deleted from a relation."""
        ...

    def commit(self) -> None:
        """Make the new state the state."""
        ...

    def rollback(self) -> None:
        """Restore the state before the commit."""
        ...

    def forget(self, program: FlatProgram) -> None:
        """Drop what a program does not have. Called between commits."""
        ...


class Operators(Protocol):
    """The leaf operators of scripts, and what the scheduler asks about the commit at work."""

    def size(self, relation: str) -> int:
        """The number of rows before the commit."""
        ...

    def has_changed(self, relation: str) -> bool:
        """Whether rows or assertions of a relation differ from those before the commit."""
        ...

    def was_touched(self, relation: str) -> bool:
        """Whether any row of a relation was inserted, deleted, or changed its count."""
        ...

    def changed_rows(self, relation: str) -> tuple[int, int]:
        """How many rows were inserted and deleted."""
        ...

    def asserted_changes(self, relation: str) -> tuple[int, int]:
        """How many facts were asserted and retracted."""
        ...

    def watch(self, check: Check, tell: Tell) -> None:
        """From now on, call `check` now and then, and `tell` the progress of claimed strata."""
        ...

    def follow_scripts(self) -> None:
        """From now on, evaluate strata as scripts say, and never in the engine's own form."""
        ...

    def must_bootstrap(self, stratum: Stratum) -> bool:
        """Whether the state of a stratum does not allow an update."""
        ...

    def enter(self, stratum: Stratum) -> int:
        """Begin work on a stratum; returns the highest rank in use."""
        ...

    def clear(self, relations: Iterable[str], traced: bool) -> bool:
        """Empty relations, whatever the commit did to them so far.

        Returns true if the engine wants to claim the stratum instead (see `Claims`).
        """
        ...

    def assertions(self, step: Assertions, rank: int) -> int:
        """Apply asserted facts as instances with an empty body; returns their number."""
        ...

    def derive(self, step: Derive, rank: int) -> int:
        """Find the instances of a rule and apply them to their heads; returns their number, if known yet."""
        ...

    def end_round(self, step: EndRound) -> int | None:
        """Make what was found the next delta; returns its size.

        None if the engine wants to claim the stratum instead (see `Claims`).
        """
        ...

    def delta(self, relations: Iterable[str]) -> int:
        """The size of the delta."""
        ...

    def found_so_far(self, relations: Iterable[str]) -> int:
        """How many rows the current round has found, as far as that is known before it ends."""
        ...

    def regroup(self, step: Regroup) -> None:
        """Replace the results of touched groups, or of all groups."""
        ...

    def merge(self, parts: Sequence[frozenset[str]]) -> None:
        """Make one stratum of several with their states. Each part reads only those before it."""
        ...

    def raise_highest(self, relations: Iterable[str], rank: int) -> None:
        """Remember that ranks up to this one are in use."""
        ...

    def finish(self, stratum: Stratum) -> None:
        """End work on a stratum: strata above can read its old and its new state."""
        ...


class Traces(Protocol):
    """Derivations by iteration, for differential maintenance."""

    def pending(self, relations: Iterable[str]) -> int:
        """How many derivations changed at iterations that were not processed since."""
        ...

    def depart(self, relations: Iterable[str]) -> int:
        """Go to the next such iteration; returns how many rows lose their place there."""
        ...

    def arrive(self, relations: Iterable[str]) -> int:
        """Give rows their place at this iteration; returns how many."""
        ...

    def examine(self, rules: Iterable[FlatRule]) -> None:
        """Raise if an instance of the final state fails, if any failure was skipped on the way."""
        ...


class Extrema(Protocol):
    """The best value per key, for recursive `min` and `max`."""

    def doubt(self, relations: Iterable[str]) -> None:
        """Put the tuples without a rank on the worklist as suspects."""
        ...

    def improve(self, stratum: Stratum, step: Improve, check_round: Callable[[], None]) -> int:
        """Find the best values; returns the number of candidates seen."""
        ...

    def aim(self, relations: Iterable[str]) -> None:
        """Make suspects of the tuples that need a rank."""
        ...

    def rest(self, relations: Iterable[str]) -> None:
        """Keep the tuples that could not be given a rank."""
        ...


class Fusion(Protocol):
    """Rounds in one go."""

    def run_rounds(self, step: Repeat, rank: int, most: int) -> FusedRounds | None:
        """Run up to `most` rounds of a repetition while deltas are small; None if it needs single steps."""
        ...


class Claims(Protocol):
    """Strata that an engine evaluates in its own way."""

    def claim(self, stratum: Stratum, start: bool = False) -> Claimed | None:
        """Evaluate a stratum; None if scripts are to do it. With `start`, begin to do so.

        `start` is set after `clear` or `end_round` asked for it.
        """
        ...


class Engine(Operators, Protocol):
    """What the scheduler drives."""

    @property
    def traces(self) -> Traces | None: ...

    @property
    def extrema(self) -> Extrema | None: ...

    @property
    def fusion(self) -> Fusion | None: ...

    @property
    def claims(self) -> Claims | None: ...


class StoringEngine(Engine, Storage[Given, Changed], Protocol[Given, Changed]):
    """What commits drive."""
