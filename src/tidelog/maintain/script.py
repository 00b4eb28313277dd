"""Scripts: what a commit does to a stratum, as steps that can be printed and tested.

A *view* is the state of a relation that a literal ranges over. For relations of lower strata:

- OLD, NEW, and MIDDLE (true in both) are states; DELETED and INSERTED are the differences.
- Under `not`, they refer to the truth of the literal, not to the relation.

For relations of the stratum itself: FULL is the current state, DELTA this round's delta, REST the current
state without the delta, and SUSPECTS the tuples to re-derive.

A *mode* says what happens to derived heads:

- REMOVE decreases counts; a head without support becomes a suspect.
- OVERDELETE makes heads suspects, even if they have other derivations.
- REDERIVE counts the remaining derivations of suspects.
- INSERT adds heads and increases counts.
- SETTLE does the same, but only for heads that are present or need a rank.
- REPLACE inserts heads that are better than the tuple of their key, which they replace. It counts equal ones.
- ADD and SUBTRACT only change the number of derivations of a head at an iteration. `Iterate` then decides,
  iteration by iteration, which tuples are present.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from tidelog.plan.flat import FlatRule, Grouping

__all__ = [
    "Accumulate",
    "Aim",
    "Arrive",
    "Assertions",
    "Clear",
    "Compare",
    "Conclude",
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
    IMPROVE = "improve"
    REPLACE = "replace"

    @property
    def takes_away(self) -> bool:
        """Whether it applies to deletions, not to insertions."""
        return self in (Mode.REMOVE, Mode.OVERDELETE, Mode.SUBTRACT)


@dataclass(frozen=True, slots=True)
class Derive:
    """Find all instances of a rule over these views, one per literal, starting from the literal `driver`."""

    rule: FlatRule
    driver: int | None
    views: tuple[View, ...]
    mode: Mode


@dataclass(frozen=True, slots=True)
class Assertions:
    """Apply the asserted or retracted facts of the stratum, or all asserted facts, as instances.

    With `again`, only those with the keys of suspects that were asserted before.
    """

    relations: tuple[str, ...]
    mode: Mode
    all: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class EndRound:
    """Make the heads found in this round the delta of the next."""

    relations: tuple[str, ...]
    mode: Mode


@dataclass(frozen=True, slots=True)
class Repeat:
    """Repeat the steps while there is a delta."""

    relations: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Clear:
    """Empty the relations of the stratum before a bootstrap; `traced` if derivations have iterations."""

    relations: tuple[str, ...]
    traced: bool = False


@dataclass(frozen=True, slots=True)
class Iterate:
    """Run the steps for each iteration at which derivations changed, in order."""

    relations: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Depart:
    """Go to the next such iteration. The tuples to delete there are the delta.

    These are tuples that no longer have a derivation there, or have an earlier one now.
    """

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrive:
    """Delete that delta. The tuples inserted at this iteration are the new delta."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examine:
    """Raise if an instance fails in the final state; failures in intermediate states were skipped."""

    rules: tuple[FlatRule, ...]


@dataclass(frozen=True, slots=True)
class Regroup:
    """Recompute the results of touched groups, or of all groups."""

    grouping: Grouping
    all: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """Put the tuples without a rank on the worklist as suspects."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Improve:
    """Find the best values of keys that lost theirs or may have better ones, or of all keys.

    The state does not change: new tuples are recorded for `Aim`, and superseded tuples are put on the
    worklist, to be deleted at the end of the round.
    """

    relations: tuple[str, ...]
    kept: tuple[FlatRule, ...]
    added: tuple[FlatRule, ...] = ()
    all: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
    """Make all tuples that should be present but have no rank suspects."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rest:
    """Insert the tuples of `Aim` that were not reached, without a rank."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """From now on, compare heads with the tuple of their key; with `all`, there are no tuples yet."""

    relations: tuple[str, ...]
    all: bool = False


@dataclass(frozen=True, slots=True)
class Conclude:
    """End the comparison. Raise if an instance fails that does not use superseded values."""

    relations: tuple[str, ...]
    rules: tuple[FlatRule, ...]


@dataclass(frozen=True, slots=True)
class Accumulate:
    """Bring totals and all rows of their recursion to the new state, group by group.

    Each derivation finds instances once: those that lower strata and rules take away (`leaving`) and add
    (`entering`), and those that follow from rows of the stratum, before (`retreating`) and after
    (`following`) lower strata have their new state. With `all`, there are no rows and instances yet.
    """

    relations: tuple[str, ...]
    leaving: tuple[Derive, ...]
    retreating: tuple[Derive, ...]
    entering: tuple[Derive, ...]
    following: tuple[Derive, ...]
    all: bool = False


Step: TypeAlias = (
    Derive
    | Accumulate
    | Assertions
    | EndRound
    | Repeat
    | Clear
    | Regroup
    | Doubt
    | Improve
    | Aim
    | Rest
    | Compare
    | Conclude
    | Iterate
    | Depart
    | Arrive
    | Examine
)
Script: TypeAlias = tuple[Step, ...]
Update: TypeAlias = tuple[Script, Script, Script]  # each assigns ranks above the existing ones
