"""What a commit did, unit by unit, for people who wonder where the time goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidelog.engine.scheduler import Stats, UnitStats
from tidelog.session.reading.rendering import counted, text_table

__all__ = ["CommitStats"]

_WIDEST: Final = 60


@dataclass(frozen=True, slots=True, repr=False)
class CommitStats:
    """`units` are what was maintained together, those that nothing reached left out."""

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
        """How many instances of rules were looked at."""
        return self.run.instances

    @property
    def units(self) -> tuple[UnitStats, ...]:
        return tuple(self.run.units)

    @property
    def rules(self) -> dict[str, float]:
        """The seconds spent on each rule."""
        total: dict[str, float] = {}
        for unit in self.run.units:
            for rule, seconds in unit.rules.items():
                total[rule] = total.get(rule, 0.0) + seconds
        return total

    def __repr__(self) -> str:
        title = (
            f"commit {self.commit}: {_time(self.seconds)}, {counted(self.rounds, 'round')}, "
            f"{counted(self.instances, 'instance')}"
        )
        parts = [title]
        if self.run.units:
            headers = ["relations", "strategy", "rounds", "instances", "time", "why"]
            lines = [_unit_line(unit) for unit in self.run.units]
            if any(unit.placed for unit in self.run.units):
                headers.append("where")
                lines = [[*line, u.placed] for line, u in zip(lines, self.run.units, strict=True)]
            parts.append(text_table(headers, lines))
        if self.rules:
            slowest = sorted(self.rules.items(), key=lambda item: -item[1])
            lines = [[_time(seconds), " ".join(rule.split())] for rule, seconds in slowest]
            parts.append(text_table(("time", "rule"), lines))
        return "\n\n".join(parts)

    __str__ = __repr__


def _unit_line(unit: UnitStats) -> list[str]:
    return [
        unit.name if len(unit.name) <= _WIDEST else unit.name[: _WIDEST - 1] + "…",
        unit.strategy,
        f"{unit.rounds:,}",
        f"{unit.instances:,}",
        _time(unit.seconds),
        unit.why,
    ]


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"
