"""Statistics of a commit, by stratum and by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidelog.engine.statistics import RuleStats, Stats, StratumStats
from tidelog.session.rendering import counted, text_table

__all__ = ["CommitStats"]

_WIDEST: Final = 60


@dataclass(frozen=True, slots=True, repr=False)
class CommitStats:
    """`strata` has the strata that a change reached."""

    commit: int
    run: Stats

    @property
    def seconds(self) -> float:
        return self.run.seconds

    @property
    def rounds(self) -> int:
        return self.run.rounds

    @property
    def instances(self) -> int:
        """How many instances of rules were examined."""
        return self.run.instances

    @property
    def strata(self) -> tuple[StratumStats, ...]:
        return tuple(self.run.strata)

    @property
    def rules(self) -> dict[str, float]:
        """The seconds spent on each rule."""
        return {rule: done.seconds for rule, done in self.by_rule.items()}

    @property
    def by_rule(self) -> dict[str, RuleStats]:
        """For each rule the seconds, the instances found, and those expected by its join orders."""
        total: dict[str, RuleStats] = {}
        for stratum in self.run.strata:
            for rule, done in stratum.rules.items():
                total.setdefault(rule, RuleStats()).add(done)
        return total

    def __repr__(self) -> str:
        title = (
            f"commit {self.commit}: {_time(self.seconds)}, {counted(self.rounds, 'round')}, "
            f"{counted(self.instances, 'instance')}"
        )
        parts = [title]
        if self.run.strata:
            headers = ["relations", "strategy", "rounds", "instances", "time", "why"]
            lines = [_unit_line(stratum) for stratum in self.run.strata]
            if any(stratum.placed for stratum in self.run.strata):
                headers.append("where")
                lines = [[*line, u.placed] for line, u in zip(lines, self.run.strata, strict=True)]
            parts.append(text_table(headers, lines))
        if self.rules:
            slowest = sorted(self.by_rule.items(), key=lambda item: -item[1].seconds)
            lines = [
                [
                    _time(done.seconds),
                    f"{done.instances:,}",
                    f"{round(done.expected):,}",
                    " ".join(rule.split()),
                ]
                for rule, done in slowest
            ]
            parts.append(text_table(("time", "instances", "estimated", "rule"), lines))
        return "\n\n".join(parts)

    __str__ = __repr__


def _unit_line(stratum: StratumStats) -> list[str]:
    return [
        stratum.name if len(stratum.name) <= _WIDEST else stratum.name[: _WIDEST - 1] + "…",
        stratum.strategy,
        f"{stratum.rounds:,}",
        f"{stratum.instances:,}",
        _time(stratum.seconds),
        stratum.why,
    ]


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"
