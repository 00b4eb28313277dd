"""Scripts: what a commit does to a unit, as steps that can be printed and tested.

A *view* says which state of a relation a literal ranges over. For relations below the unit there are three
states, OLD, NEW, and MIDDLE (true in both), and the differences LEAVING and ENTERING; under `not` they are
those of the literal's truth, not of the relation. For relations of the unit itself there is the current
state (FULL), the current state without this round's delta (REST), and the delta (DELTA).

A *mode* says what happens to the heads that are found: REMOVE counts down what they supported, OVERDELETE
makes suspects of them whatever else they have, REDERIVE counts what suspects still have, INSERT adds and
counts up, SETTLE does so for what is there or aimed at. ADD and SUBTRACT change how many derivations a head
has at an iteration, and nothing else: what is there is decided iteration by iteration (`Iterate`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from tidelog.plan.flat import FlatRule, Grouping

__all__ = [
    "Aim",
    "Arrive",
    "Assertions",
    "Clear",
    "Depart",
    "Derive",
    "Doubt",
    "EndRound",
    "Examine",
    "Improve",
    "Iterate",
    "Mode",
    "Regroup",
    "Repeat",
    "Rest",
    "Script",
    "Step",
    "Update",
    "View",
]


class View(Enum):
    OLD = "old"
    MIDDLE = "middle"
    NEW = "new"
    DELETED = "deleted"
    INSERTED = "inserted"
    FULL = "full"
    REST = "rest"
    DELTA = "delta"
    SUSPECTS = "suspects"


class Mode(Enum):
    REMOVE = "remove"
    OVERDELETE = "overdelete"
    SUBTRACT = "subtract"
    ADD = "add"
    REDERIVE = "rederive"
    INSERT = "insert"
    SETTLE = "settle"

    @property
    def takes_away(self) -> bool:
        """Whether what went is looked at, not what came."""
        return self in (Mode.REMOVE, Mode.OVERDELETE, Mode.SUBTRACT)


@dataclass(frozen=True, slots=True)
class Derive:
    """All instances of a rule over these views, one a literal; `driver` is the literal to begin with."""

    rule: FlatRule
    driver: int | None
    views: tuple[View, ...]
    mode: Mode


@dataclass(frozen=True, slots=True)
class Assertions:
    """The asserted facts of the unit's relations that came or went, or all of them; instances like others."""

    relations: tuple[str, ...]
    mode: Mode
    all: bool = False


@dataclass(frozen=True, slots=True)
class EndRound:
    """The heads found in this round become the delta of the next."""

    relations: tuple[str, ...]
    mode: Mode


@dataclass(frozen=True, slots=True)
class Repeat:
    """The steps, again and again, while there is a delta."""

    relations: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Clear:
    """Empty the unit's relations, to fill them from nothing; `traced` if derivations have iterations."""

    relations: tuple[str, ...]
    traced: bool = False


@dataclass(frozen=True, slots=True)
class Iterate:
    """The steps, for each iteration at which derivations came or went, in turn."""

    relations: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Depart:
    """Go to the next such iteration. The tuples that no longer come there, or come sooner, are the delta."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrive:
    """That delta leaves, and the tuples that come at this iteration are the delta."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examine:
    """An instance that fails in the final state is an error; on the way there it was passed over."""

    rules: tuple[FlatRule, ...]


@dataclass(frozen=True, slots=True)
class Regroup:
    """Work out the results of the groups that were touched, or of all."""

    grouping: Grouping
    all: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """List the tuples that could not be given a rank as suspects."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Improve:
    """Find the best values of keys that lost theirs or may have better ones, or of all; aim at what is new.

    The state stays as it is: tuples that are superseded are listed, to leave at the end of the round.
    """

    relations: tuple[str, ...]
    kept: tuple[FlatRule, ...]
    added: tuple[FlatRule, ...] = ()
    all: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
    """Make suspects of all tuples that are to be there and have no rank."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rest:
    """What was aimed at and not reached is there all the same, without a rank."""

    relations: tuple[str, ...]


Step: TypeAlias = (
    Derive
    | Assertions
    | EndRound
    | Repeat
    | Clear
    | Regroup
    | Doubt
    | Improve
    | Aim
    | Rest
    | Iterate
    | Depart
    | Arrive
    | Examine
)
Script: TypeAlias = tuple[Step, ...]
Update: TypeAlias = tuple[Script, Script, Script]  # of which each gives ranks above those there are
