"""The profile of commits: time, rounds, instances, rows and memory by stratum and rule.

What is measured, and what is not:

- The time of a stratum is measured. Its rules' times add up to less: ending rounds and grouping belong to
  none of them.
- The time of a rule is measured if it ran alone. Small rounds of several rules run in one call; its time is
  divided among them by the rows that their joins examined. `divided` is the part that was divided.
- Instances, examined rows and added rows are counted, not estimated. In tasks, the time of a rule is that of
  the task in which it took the most. In frames, nothing is known of single rules, nor how many instances.
- Fan-outs are measured on a sample of the rows that there are now.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidelog.engine.statistics import RuleStats
from tidelog.plan.fan_outs import FanOut, Start
from tidelog.session.profiles.advice import advise
from tidelog.session.profiles.collecting import Collected, CollectedStratum, Recorder
from tidelog.session.profiles.flames import picture
from tidelog.session.profiles.model import ProfiledOrder, ProfiledRule, ProfiledStratum
from tidelog.session.profiles.observed import Observed, Size
from tidelog.session.profiles.pages import page, tables_html
from tidelog.session.profiles.wording import as_text

__all__ = ["Profile", "made_profile", "profile_of"]


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """The commits from `first` to `last`; strata and their rules are sorted by time.

    `advice` says which rule to look at, and why.
    """

    first: int
    last: int
    seconds: float
    strata: tuple[ProfiledStratum, ...]
    advice: tuple[str, ...]

    @property
    def commits(self) -> int:
        return self.last - self.first + 1

    @property
    def rules(self) -> tuple[ProfiledRule, ...]:
        """All rules by time; rule 1 takes the most."""
        return tuple(sorted((r for s in self.strata for r in s.rules), key=lambda r: r.number))

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data; times are in seconds, memory in bytes, and None is not known."""
        data = asdict(self)
        for stratum in data["strata"]:
            _forget(stratum, "instances")
            for rule in stratum["rules"]:
                _forget(rule, "seconds", "divided", "instances", "estimated", "examined", "rows")
        return data

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def to_svg(self) -> str:
        """A picture: strata and rules, as wide as the time that they take."""
        return picture(self.seconds, self.strata)

    def to_html(self) -> str:
        """A page that needs nothing else."""
        return page(self.title(), self.advice, self.strata, self.seconds)

    def title(self) -> str:
        which = f"commit {self.last}" if self.first == self.last else f"commits {self.first} to {self.last}"
        return f"profile of {which}" if self.last >= self.first else "profile of no commits"

    def __repr__(self) -> str:
        return as_text(self.title(), self.seconds, self.strata, self.advice)

    def _repr_html_(self) -> str:
        return tables_html(self.title(), self.advice, self.strata, self.seconds)

    __str__ = __repr__


def _forget(part: dict[str, Any], *names: str) -> None:
    """Replace what was not counted by None."""
    if not part.pop("is_counted"):
        part.update(dict.fromkeys(names))


def profile_of(recorder: Recorder, observe: Callable[[Sequence[Start]], Observed]) -> Profile:
    """The profile of what a recorder has; `observe` looks at the state now, which may take a moment."""
    observed = observe(recorder.read(Collected.starts))
    return recorder.read(lambda collected: made_profile(collected, observed))


def made_profile(collected: Collected, observed: Observed) -> Profile:
    numbers = _numbers(collected)
    strata = [_stratum(s, observed, numbers) for s in collected.strata.values()]
    strata.sort(key=lambda s: -s.seconds)
    found = tuple(strata)
    return Profile(
        collected.first, collected.last, collected.seconds, found, advise(found, collected.commits)
    )


def _numbers(collected: Collected) -> dict[tuple[str, str], int]:
    """The numbers of rules, by stratum and text: the first takes the most time."""
    times = [
        (-rule.seconds if rule.is_counted else 0.0, stratum, text)
        for stratum, found in collected.strata.items()
        for text, rule in found.rules.items()
    ]
    return {(stratum, text): i for i, (_, stratum, text) in enumerate(sorted(times), 1)}


def _stratum(
    found: CollectedStratum, observed: Observed, numbers: Mapping[tuple[str, str], int]
) -> ProfiledStratum:
    last = found.last
    rules = [_rule(numbers[last.name, text], text, r, observed) for text, r in found.rules.items()]
    sizes = [observed.sizes.get(name, Size(0, None)) for name in last.relations]
    memory = [size.bytes for size in sizes if size.bytes is not None]
    return ProfiledStratum(
        name=last.name,
        seconds=found.seconds,
        rounds=found.rounds,
        instances=found.instances,
        is_counted=all(r.is_counted for r in found.rules.values()),
        inserted=found.inserted,
        deleted=found.deleted,
        rows=sum(size.rows for size in sizes),
        bytes=sum(memory) if len(memory) == len(sizes) else None,
        strategies=tuple((how, why, times) for (how, why), times in found.reasons.most_common()),
        where=last.placed,
        texts=tuple(" ".join(text.split()) for text in last.origins),
        rules=tuple(sorted(rules, key=lambda r: r.number)),
    )


def _rule(number: int, text: str, done: RuleStats, observed: Observed) -> ProfiledRule:
    slowest = sorted(done.starts.items(), key=lambda item: -item[1])
    return ProfiledRule(
        number=number,
        text=" ".join(text.split()),
        seconds=done.seconds if done.is_counted else 0.0,
        divided=done.divided,
        instances=done.instances,
        estimated=done.expected,
        examined=done.examined,
        rows=done.rows,
        is_counted=done.is_counted,
        orders=tuple(
            ProfiledOrder(_from(observed.orders[start]), seconds, observed.orders[start])
            for start, seconds in slowest
            if start in observed.orders
        ),
    )


def _from(atoms: tuple[FanOut, ...]) -> str:
    """What an order starts from."""
    if atoms and atoms[0].estimated is None:
        return f"changed rows of {atoms[0].literal}"
    return "all rows"
