"""Refutations as data: for every way in which a row could follow, what is in its way.

- A `Pattern` is what a question asks for: a row, or all rows with some values.
- An `Obstacle` is what keeps one alternative of a rule from deriving such a row.
- A `Change` is one edit of the facts or of a rule after which the alternative derives it.

Obstacles are one level deep: they speak of the present rows, which are a model of the rules. So a row is
absent exactly if every alternative of its rules has an obstacle and it is not asserted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tidelog.data.values import Row, Value
from tidelog.program.typed import Body, Rule
from tidelog.proofs.model import Computed, Fact, Instance, Members
from tidelog.proofs.state import same

__all__ = [
    "Blocked",
    "Change",
    "Delete",
    "Drop",
    "Insert",
    "Kept",
    "Mismatch",
    "Obstacle",
    "Other",
    "Pattern",
]


class Pattern(NamedTuple):
    """The rows of a relation with these values in these columns."""

    relation: str
    bound: Mapping[int, Value]

    def matches(self, row: Row) -> bool:
        return all(same(row[i], v) for i, v in self.bound.items())


# -- changes


@dataclass(frozen=True, slots=True)
class Insert:
    """Assert a row; columns without a value may have any."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Delete:
    """Retract an asserted row."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove the literal at this position from a body of the rule; `instance` satisfies all others."""

    literal: int
    instance: Instance


Change: TypeAlias = Insert | Delete | Drop


# -- obstacles


@dataclass(frozen=True, slots=True, eq=False)
class Mismatch:
    """The head of the rule never has these values: another constant, or one variable for different values."""

    rule: Rule
    head: int


@dataclass(frozen=True, slots=True, eq=False)
class Blocked:
    """The literal at position `literal` fails under the best binding, which satisfies those of `holds`.

    With `members`, the body is one after the group of the rule, which has these members. `near` are the rows
    that come closest to what is missing, or those that must not be there. `instead` is the value that a
    variable has by the literal, if it is not the one that is needed.
    """

    rule: Rule
    head: int
    instance: Instance
    holds: frozenset[int]
    literal: int
    members: Members | None
    near: tuple[Fact, ...]
    instead: tuple[Computed, ...]
    changes: tuple[Change, ...]

    @property
    def body(self) -> Body:
        return self.instance.body


@dataclass(frozen=True, slots=True, eq=False)
class Other:
    """Instances of the rule derive other rows only, such as this one. Without an instance, `values` are the
    keys and results of a group that has other results."""

    rule: Rule
    head: int
    members: Members | None
    instance: Instance | None
    row: Row | None
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Instances of the rule count for a row of the same key, of which the relation keeps another."""

    rule: Rule
    head: int
    instance: Instance
    kept: Fact


Obstacle: TypeAlias = Mismatch | Blocked | Other | Kept
