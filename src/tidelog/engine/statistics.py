"""Statistics of a commit, stratum by stratum."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["RuleStats", "Stats", "StratumStats"]


@dataclass(slots=True)
class RuleStats:
    """What a commit did with one rule: the instances found, and those expected by its join orders."""

    seconds: float = 0.0
    instances: int = 0
    expected: float = 0.0

    def add(self, other: RuleStats) -> None:
        self.seconds += other.seconds
        self.instances += other.instances
        self.expected += other.expected


@dataclass(slots=True)
class StratumStats:
    """What a commit did to one stratum."""

    name: str
    strategy: str
    why: str
    rounds: int = 0
    instances: int = 0
    seconds: float = 0.0
    placed: str = ""
    rules: dict[str, RuleStats] = field(default_factory=dict)


@dataclass(slots=True)
class Stats:
    strata: list[StratumStats] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rounds(self) -> int:
        return sum(u.rounds for u in self.strata)

    @property
    def instances(self) -> int:
        return sum(u.instances for u in self.strata)
