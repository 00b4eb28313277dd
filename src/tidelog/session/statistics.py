"""Statistics of a commit, by stratum and by rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from tidelog.engine.statistics import RuleStats, Stats, StratumStats
from tidelog.session.rendering import LISTED, clip, counted, html_table, text_table

__all__ = ["CommitStats"]

_WIDEST: Final = 60
_CLIPPED: Final = 200
_SHOWN: Final = (  # of each stratum
    "name",
    "strategy",
    "why",
    "placed",
    "rounds",
    "instances",
    "inserted",
    "deleted",
    "seconds",
    "jobs",
    "steps",
    "written",
    "hot",
)


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
        """How many instances of rules were found; those found in frames are not counted."""
        return self.run.instances

    @property
    def jobs(self) -> int:
        """How often Spark was asked to compute something; it may divide that into several jobs."""
        return self.run.jobs

    @property
    def written(self) -> int:
        """How many bytes tasks on Spark wrote for the next commit."""
        return sum(stratum.written for stratum in self.run.strata)

    def to_dict(self) -> dict[str, Any]:
        """The statistics as plain data; times are in seconds."""
        return {
            "commit": self.commit,
            "seconds": self.seconds,
            "rounds": self.rounds,
            "instances": self.instances,
            "jobs": self.jobs,
            "written": self.written,
            "strata": [
                {name: getattr(stratum, name) for name in _SHOWN} | {"relations": sorted(stratum.relations)}
                for stratum in self.strata
            ],
            "rules": {
                rule: {"seconds": done.seconds, "instances": done.instances, "expected": done.expected}
                for rule, done in self.by_rule.items()
            },
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @property
    def strata(self) -> tuple[StratumStats, ...]:
        return tuple(self.run.strata)

    @property
    def rules(self) -> dict[str, float]:
        """The seconds spent on each rule; in frames, those of planning."""
        return {rule: done.seconds for rule, done in self.by_rule.items()}

    @property
    def by_rule(self) -> dict[str, RuleStats]:
        """For each rule the seconds, the instances found, and those expected by its join orders."""
        total: dict[str, RuleStats] = {}
        for stratum in self.run.strata:
            for rule, done in stratum.rules.items():
                total.setdefault(rule, RuleStats()).add(done)
        return total

    def _tables(self) -> list[tuple[str, Sequence[str], list[list[str]]]]:
        """The statistics as tables, each with a title and headers."""
        tables: list[tuple[str, Sequence[str], list[list[str]]]] = []
        if self.run.strata:
            headers = ["relations", "strategy", "rounds", "instances", "time", "why"]
            lines = [_unit_line(stratum) for stratum in self.run.strata]
            if any(stratum.placed for stratum in self.run.strata):
                headers.append("where")
                lines = [[*line, u.placed] for line, u in zip(lines, self.run.strata, strict=True)]
            tables.append(("strata", headers, lines))
        if self.rules:
            slowest = sorted(self.by_rule.items(), key=lambda item: -item[1].seconds)
            lines = [
                [
                    _time(done.seconds) if done.is_counted else "",
                    f"{done.instances:,}" if done.is_counted else "",
                    f"{round(done.expected):,}" if done.is_counted else "",
                    " ".join(rule.split()),
                ]
                for rule, done in slowest
            ]
            tables.append(("rules", ("time", "instances", "estimated", "rule"), lines))
        return tables

    def _title(self) -> str:
        return (
            f"commit {self.commit}: {_time(self.seconds)}, {counted(self.rounds, 'round')}, "
            f"{counted(self.instances, 'instance')}" + (f", {counted(self.jobs, 'job')}" if self.jobs else "")
        )

    def __repr__(self) -> str:
        tables = (text_table(headers, lines) for _, headers, lines in self._tables())
        return "\n\n".join([self._title(), *tables])

    def _repr_html_(self) -> str:
        tables = [
            html_table(title, headers, [[clip(c, _CLIPPED) for c in line] for line in lines[:LISTED]], more)
            for title, headers, lines in self._tables()
            for more in (max(len(lines) - LISTED, 0),)
        ]
        return "".join([f"<p>{escape(self._title())}</p>", *tables])

    __str__ = __repr__


def _unit_line(stratum: StratumStats) -> list[str]:
    return [
        stratum.name if len(stratum.name) <= _WIDEST else stratum.name[: _WIDEST - 1] + "…",
        stratum.strategy,
        f"{stratum.rounds:,}",
        f"{stratum.instances:,}" if stratum.is_counted else "",
        _time(stratum.seconds),
        stratum.why,
    ]


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"
