"""What an engine offers to `run`: tables of facts, and the leaf operators that scripts are made of.

An engine knows nothing of strategies. Inside `prepare … commit | rollback` it keeps the old and the new state
of every relation apart, so that views can be asked for and everything can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from tidelog.maintain.script import Assertions, Derive, EndRound, Improve, Regroup, Repeat
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum

__all__ = ["Changed", "Check", "Claimed", "Engine", "Hurried", "Tell", "TurnDense"]


class Changed(NamedTuple):
    """The rules of a unit: those that were and are there, those that came, those that went."""

    kept: tuple[FlatRule, ...]
    inserted: tuple[FlatRule, ...]
    gone: tuple[FlatRule, ...]


class Claimed(NamedTuple):
    """A unit that was run whole: the rounds that it took, how it was done and why, and what was looked at.

    `rows` is how many rows it has then, if the limit on rows was not looked at on the way.
    """

    rounds: int
    why: str
    strategy: str = "whole"
    instances: int = 0
    rows: int = 0


class Hurried(NamedTuple):
    """Rounds that were run in one go: how many, the rows they listed, the instances of each step."""

    rounds: int
    rows: int
    instances: tuple[int, ...]


class Check(Protocol):
    """Called now and then by whoever works; what it raises ends the commit or the update."""

    def __call__(self, ahead: int | None = None) -> None:
        """Without `ahead`, in a step that has become long; with it, before so many bytes are taken."""
        ...


# rounds so far, tuples that the last one brought or took away, rows after it
Tell: TypeAlias = Callable[[int, int, int], None]


class TurnDense(Exception):
    """Raised by `end_round` where the engine would rather run the whole unit another way (`claim`)."""


class Engine(Protocol):
    def prepare(self, program: FlatProgram) -> None: ...

    def forget(self, program: FlatProgram) -> None: ...

    def size(self, relation: str) -> int: ...

    def has_changed(self, relation: str) -> bool: ...

    def was_touched(self, relation: str) -> bool: ...

    def changed_rows(self, relation: str) -> tuple[int, int]: ...

    def asserted_changes(self, relation: str) -> tuple[int, int]: ...

    def enter(self, stratum: Stratum) -> int: ...

    def claim(self, stratum: Stratum, start: bool = False) -> Claimed | None:
        """Run a whole unit in the engine's own way, if it does.

        With `start`, begin to do so. None says that the unit is to be run by scripts.
        """
        ...

    def refrain(self) -> None:
        """Claim no unit from now on: the strategy is to be carried out as its scripts say."""
        ...

    def merge(self, parts: Sequence[frozenset[str]]) -> None:
        """Make one unit of several, each resting only on those before it, with the states that they have."""
        ...

    def must_bootstrap(self, stratum: Stratum) -> bool:
        """Whether an update is impossible because the unit's state was kept in another way."""
        ...

    def derive(self, step: Derive, rank: int) -> int: ...

    def assertions(self, step: Assertions, rank: int) -> int: ...

    def end_round(self, step: EndRound) -> int: ...

    def hurry(self, step: Repeat, rank: int, most: int) -> Hurried | None:
        """Run up to so many rounds of a repetition in one go, while their deltas are small.

        None says that this repetition has to be run step by step.
        """
        ...

    def listed(self, relations: Iterable[str]) -> int:
        """How many rows the round at work has found so far, as far as that is known before its end."""
        ...

    def watch(self, check: Check, tell: Tell) -> None:
        """Call `check` now and then while an operator works; what it raises ends the commit or the update.

        While a unit is run in the engine's own way, `tell` what it has come to.
        """
        ...

    def delta(self, relations: Iterable[str]) -> int: ...

    def clear(self, relations: Iterable[str], traced: bool) -> None: ...

    def pending(self, relations: Iterable[str]) -> int:
        """How many weights have changed at iterations that were not looked at since."""
        ...

    def depart(self, relations: Iterable[str]) -> int: ...

    def arrive(self, relations: Iterable[str]) -> int: ...

    def examine(self, rules: Iterable[FlatRule]) -> None: ...

    def regroup(self, step: Regroup) -> None: ...

    def doubt(self, relations: Iterable[str]) -> None: ...

    def improve(self, stratum: Stratum, step: Improve, check_round: Callable[[], None]) -> int: ...

    def aim(self, relations: Iterable[str]) -> None: ...

    def rest(self, relations: Iterable[str]) -> None: ...

    def highest(self, relations: Iterable[str], rank: int) -> None: ...

    def finish(self, stratum: Stratum) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...
