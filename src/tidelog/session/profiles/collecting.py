"""Adds up the statistics of commits, by stratum and by rule.

A `Recorder` has a lock, since one thread may commit while another asks for the profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, TypeVar

from tidelog.engine.statistics import RuleStats, StratumStats
from tidelog.plan.fan_outs import Start
from tidelog.session.statistics import CommitStats

__all__ = ["Collected", "CollectedStratum", "Recorder"]

Made = TypeVar("Made")

_OBSERVED: Final = 20  # rules whose join orders are looked at


@dataclass(slots=True)
class CollectedStratum:
    """What commits did to a stratum; `reasons` counts the strategies that they chose, with the reason."""

    last: StratumStats
    seconds: float = 0.0
    rounds: int = 0
    instances: int = 0
    inserted: int = 0
    deleted: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    rules: dict[str, RuleStats] = field(default_factory=dict)

    def add(self, stratum: StratumStats) -> None:
        self.last = stratum
        self.seconds += stratum.seconds
        self.rounds += stratum.rounds
        self.instances += stratum.instances
        self.inserted += stratum.inserted
        self.deleted += stratum.deleted
        # the number of changes differs from commit to commit
        self.reasons[stratum.strategy, stratum.why.lstrip("0123456789 ")] += 1
        for rule, done in stratum.rules.items():
            self.rules.setdefault(rule, RuleStats()).add(done)


@dataclass(slots=True)
class Collected:
    """What some consecutive commits did."""

    first: int = 0
    last: int = -1
    seconds: float = 0.0
    strata: dict[str, CollectedStratum] = field(default_factory=dict)

    @property
    def commits(self) -> int:
        return self.last - self.first + 1

    def add(self, stats: CommitStats) -> None:
        if not self.commits:
            self.first = stats.commit
        self.last = stats.commit
        self.seconds += stats.seconds
        for stratum in stats.strata:
            known = self.strata.get(stratum.name)
            if known is None:
                known = self.strata[stratum.name] = CollectedStratum(stratum)
            known.add(stratum)

    @classmethod
    def of(cls, stats: CommitStats) -> Collected:
        made = cls()
        made.add(stats)
        return made

    def starts(self) -> list[Start]:
        """What the rules that took the most time started from, once each."""
        rules = [r for stratum in self.strata.values() for r in stratum.rules.values() if r.starts]
        slowest = sorted(rules, key=lambda r: -r.seconds)[:_OBSERVED]
        return [max(r.starts, key=r.starts.__getitem__) for r in slowest]


class Recorder:
    """What commits did since somebody asked for it."""

    def __init__(self) -> None:
        self._collected = Collected()
        self._lock = Lock()

    def add(self, stats: CommitStats) -> None:
        with self._lock:
            self._collected.add(stats)

    def read(self, make: Callable[[Collected], Made]) -> Made:
        with self._lock:
            return make(self._collected)
