"""Statistics of a commit, stratum by stratum.

A commit only notes what calls of several rules did. It is charged to the rules when somebody asks, in any
thread; `_CHARGING` is the lock for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias

from tidelog.maintain.script import Derive, Mode
from tidelog.plan.flat import Role

__all__ = [
    "Done",
    "RuleStats",
    "Stats",
    "StratumStats",
    "WhatWasDone",
    "at_the_same_time",
    "rules_data",
    "rules_from",
    "shares",
]

_MOST: Final = 256  # calls that wait to be charged to rules
_TRACED: Final = (Mode.ADD, Mode.SUBTRACT)  # heads are not added at once
_CHARGING: Final = Lock()


class Done(NamedTuple):
    """What a derivation did: the instances it found, and the rows it examined and put on the worklist.

    `rows` is None if it is not known, and without `is_counted` nothing is.
    """

    instances: int
    examined: int
    rows: int | None = None
    is_counted: bool = True


@dataclass(slots=True)
class RuleStats:
    """What commits did with one rule.

    - `seconds`, of which `divided` are a share of the time of several rules that ran in one call.
    - `instances` that were found, and those `expected` by its join orders.
    - `examined`: about how many rows its joins looked at.
    - `rows`: heads that were new, or that lost their support; None if they were not counted.
    - `is_counted`: false if some of this was done in frames. Only planning takes place rule by rule there, so
      instances and rows are not known, and the seconds are those of planning.
    - `starts`: the seconds by the id of the flat rule and the position of the literal that it started from.
    """

    seconds: float = 0.0
    instances: int = 0
    expected: float = 0.0
    divided: float = 0.0
    examined: int = 0
    rows: int | None = 0
    is_counted: bool = True
    starts: dict[tuple[str, int | None], float] = field(default_factory=dict)

    def add(self, other: RuleStats) -> None:
        self.seconds += other.seconds
        self.instances += other.instances
        self.expected += other.expected
        self.divided += other.divided
        self.examined += other.examined
        self.rows = None if self.rows is None or other.rows is None else self.rows + other.rows
        self.is_counted = self.is_counted and other.is_counted
        for start, seconds in other.starts.items():
            self.starts[start] = self.starts.get(start, 0.0) + seconds


def rules_data(rules: Mapping[str, RuleStats]) -> list[list[Any]]:
    """The statistics of rules as plain data."""
    return [
        [origin, {**asdict(done), "starts": [[*start, seconds] for start, seconds in done.starts.items()]}]
        for origin, done in rules.items()
    ]


def rules_from(data: Iterable[Sequence[Any]]) -> dict[str, RuleStats]:
    """The statistics that `rules_data` has made into plain data."""
    return {
        origin: RuleStats(
            **{**done, "starts": {(rule, driver): seconds for rule, driver, seconds in done["starts"]}}
        )
        for origin, done in data
    }


def at_the_same_time(parts: Iterable[Mapping[str, RuleStats]]) -> dict[str, RuleStats]:
    """The sum of statistics of tasks that run side by side: times are those of the slowest task."""
    total: dict[str, RuleStats] = {}
    for rules in parts:
        for origin, done in rules.items():
            known = total.setdefault(origin, RuleStats())
            slowest = max(known, done, key=lambda stats: stats.seconds)
            seconds, divided, starts = slowest.seconds, slowest.divided, dict(slowest.starts)
            known.add(done)
            known.seconds, known.divided, known.starts = seconds, divided, starts
    return total


# the derivations of a call that did anything, by their numbers, and what they did
WhatWasDone: TypeAlias = Callable[[], Sequence[tuple[int, Done]]]
_Together: TypeAlias = tuple[Sequence[Derive], WhatWasDone, float]


@dataclass(slots=True)
class StratumStats:
    """What a commit did to one stratum; `inserted` and `deleted` count the rows of its relations.

    `origins` are the texts of its rules. On Spark, `jobs` counts what Spark was asked to compute for it,
    `steps` how often its tasks ran, and `written` the bytes of the files that these left for the next commit.
    `hot` names a key that has a large part of the rows of a task.
    """

    name: str
    strategy: str
    why: str
    rounds: int = 0
    instances: int = 0
    seconds: float = 0.0
    placed: str = ""
    relations: frozenset[str] = frozenset()
    origins: tuple[str, ...] = ()
    inserted: int = 0
    deleted: int = 0
    jobs: int = 0
    steps: int = 0
    written: int = 0
    hot: str = ""
    _rules: dict[str, RuleStats] = field(default_factory=dict)
    _waiting: list[_Together] = field(default_factory=list)

    @property
    def rules(self) -> dict[str, RuleStats]:
        """What was done with each rule, by its text."""
        with _CHARGING:
            for steps, done, seconds in self._waiting:
                for step, part, share, divided in shares(steps, done(), seconds):
                    self.charge(step, share, divided, part, None)
            self._waiting = []
            return self._rules

    @property
    def is_counted(self) -> bool:
        """Whether the instances are known."""
        return all(rule.is_counted for rule in self.rules.values())

    def take(self, rules: Mapping[str, RuleStats]) -> None:
        """Record what was done with rules elsewhere."""
        with _CHARGING:
            for origin, done in rules.items():
                self._rules.setdefault(origin, RuleStats()).add(done)

    def charge(
        self, step: Derive, seconds: float, divided: float, done: Done, expected: float | None
    ) -> None:
        """Record a derivation. One without an estimate counts as expected."""
        known = self._rules.get(step.rule.origin)
        if known is None:
            known = self._rules[step.rule.origin] = RuleStats()
        known.seconds += seconds
        known.divided += divided
        known.instances += done.instances
        known.expected += done.instances if expected is None else expected
        known.examined += done.examined
        known.is_counted = known.is_counted and done.is_counted
        is_known = done.rows is not None and step.mode not in _TRACED
        known.rows = known.rows + (done.rows or 0) if known.rows is not None and is_known else None
        if step.rule.role is Role.DERIVE:
            start = step.rule.id, step.driver
            known.starts[start] = known.starts.get(start, 0.0) + seconds

    def charge_together(self, steps: Sequence[Derive], done: WhatWasDone, seconds: float) -> None:
        """Record derivations that ran in one call."""
        self._waiting.append((steps, done, seconds))
        if len(self._waiting) > _MOST:
            _ = self.rules


def shares(
    steps: Sequence[Derive], done: Sequence[tuple[int, Done]], seconds: float
) -> Iterator[tuple[Derive, Done, float, float]]:
    """The derivations of one call, each with its share of the seconds, and how much of that was divided.

    The time is divided by the rows that were examined.
    """
    total = sum(part.examined for _, part in done)
    for number, part in done:
        share = seconds * part.examined / total if total else 0.0
        yield steps[number], part, share, share if len(done) > 1 else 0.0


@dataclass(slots=True)
class Stats:
    """The statistics of a commit; `jobs` are all that Spark was asked to compute, also outside strata."""

    strata: list[StratumStats] = field(default_factory=list)
    seconds: float = 0.0
    jobs: int = 0

    @property
    def rounds(self) -> int:
        return sum(u.rounds for u in self.strata)

    @property
    def instances(self) -> int:
        return sum(u.instances for u in self.strata)
