"""Proofs as data.

- An `Instance` is a body found true: the values of its variables, the facts that its atoms match, and, for
  each nested aggregate, some of the instances it ranges over.
- A `Step` says how one fact follows. It rests on the facts of its instances.
- `Steps` are in an order in which each step rests on earlier ones only. Hence no fact supports itself.
- A row of a multiset or stream has a weight, which is the total of its `Copies`. A row of an earlier commit
  (`R-1`) is a fact of the delayed relation (see `weighting`), and a leaf.

A fact is *replaced* if it is not in the state: a value that a better one replaced, or the total of some of
the contributions. Only steps for relations that keep one row per key rest on such facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, assert_never

from tidelog.data.values import Row, Value
from tidelog.program.typed import Body, Rule

__all__ = [
    "FAILED",
    "Added",
    "Asserted",
    "Computed",
    "Copies",
    "Derived",
    "Earlier",
    "Fact",
    "Failed",
    "Grouped",
    "Instance",
    "Members",
    "Part",
    "Share",
    "Step",
    "Steps",
    "instances_of",
    "premises",
    "single_steps",
]


class Failed:
    """An expression has no value."""


FAILED: Final = Failed()
Computed: TypeAlias = Value | Failed


class Fact(NamedTuple):
    relation: str
    row: Row


@dataclass(frozen=True, slots=True)
class Members:
    """The instances that an aggregate ranges over: how many, and some of them, deciding ones first.

    Each counts as often as its weight says.
    """

    count: int
    shown: tuple[Instance, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """`facts` and `inner` are by the position of the literal in the body."""

    body: Body
    values: Mapping[str, Value]
    facts: Mapping[int, Fact]
    inner: Mapping[int, Members]


@dataclass(frozen=True, slots=True, eq=False)
class Asserted:
    fact: Fact


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """By an instance of a body of a rule. `head` is the position of the head in the rule."""

    fact: Fact
    rule: Rule
    head: int
    instance: Instance


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """By a group of a rule's instances and an instance of what comes after the group."""

    fact: Fact
    rule: Rule
    head: int
    members: Members
    after: Instance


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A contribution to a recursive total: an instance of a rule, or an asserted row if there is none.

    It counts `weight` times.
    """

    value: Value
    rule: Rule | None
    instance: Instance | None
    weight: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """By contributions that add up to the row. `count` is the number of contributions, and `parts` has the
    largest ones; all of them if the recursion may be cyclic."""

    fact: Fact
    count: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """The fact is a row of a delayed relation: the relation had it after this commit."""

    fact: Fact
    commit: int


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What one step adds to the weight of a row: the product of the weights of the rows that it reads."""

    weight: int
    step: Asserted | Derived | Grouped


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """By contributions to the weight of the row. `count` is their number, and `shares` has some of them."""

    fact: Fact
    weight: int
    count: int
    shares: tuple[Share, ...]


Step: TypeAlias = Asserted | Derived | Grouped | Added | Copies | Earlier
Steps: TypeAlias = Mapping[Fact, Step]


def instances_of(step: Step) -> Iterator[Instance]:
    """The instances that a step shows, without those of nested aggregates."""
    match step:
        case Asserted() | Earlier():
            return
        case Derived(instance=instance):
            yield instance
        case Grouped(members=members, after=after):
            yield from members.shown
            yield after
        case Added(parts=parts):
            yield from (part.instance for part in parts if part.instance is not None)
        case Copies(shares=shares):
            for share in shares:
                yield from instances_of(share.step)
        case _:
            assert_never(step)


def single_steps(step: Step) -> tuple[Step, ...]:
    """The step, or those of its shares."""
    return tuple(share.step for share in step.shares) if isinstance(step, Copies) else (step,)


def premises(step: Step) -> Iterator[Fact]:
    """The facts that a step rests on, in order, with duplicates."""
    for instance in instances_of(step):
        yield from _facts(instance)


def _facts(instance: Instance) -> Iterator[Fact]:
    for number in range(len(instance.body)):
        if number in instance.facts:
            yield instance.facts[number]
        if number in instance.inner:
            for inner in instance.inner[number].shown:
                yield from _facts(inner)
