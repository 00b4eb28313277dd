"""The parts of a profile."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.plan.fan_outs import FanOut

__all__ = ["ProfiledOrder", "ProfiledRule", "ProfiledStratum"]


@dataclass(frozen=True, slots=True)
class ProfiledOrder:
    """A join order of a rule: what it started from, how long it took, and its atoms with their fan-outs."""

    start: str
    seconds: float
    atoms: tuple[FanOut, ...]


@dataclass(frozen=True, slots=True)
class ProfiledRule:
    """`divided` is how much of the time is a share of a call of several rules.

    `examined` is about how many rows joins looked at. `rows` are the rows that the rule added, or from which
    it took support; None if they are not known. If the rule was evaluated in frames, it is not `is_counted`,
    and neither its time nor its instances are known.
    """

    number: int
    text: str
    seconds: float
    divided: float
    instances: int
    estimated: float
    examined: int
    rows: int | None
    is_counted: bool
    orders: tuple[ProfiledOrder, ...]


@dataclass(frozen=True, slots=True)
class ProfiledStratum:
    """`rows` and `bytes` are those that it has now, `inserted` and `deleted` what commits changed.

    `strategies` has the strategies that were chosen, with the reason, and in how many commits. `texts` are
    its rules, whether or not the times of each are known. If not `is_counted`, its instances are not known.
    """

    name: str
    seconds: float
    rounds: int
    instances: int
    is_counted: bool
    inserted: int
    deleted: int
    rows: int
    bytes: int | None
    strategies: tuple[tuple[str, str, int], ...]
    where: str
    texts: tuple[str, ...]
    rules: tuple[ProfiledRule, ...]
