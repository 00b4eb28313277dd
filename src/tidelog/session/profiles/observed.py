"""What a profile shows beside the statistics of commits: sizes, memory and join orders, as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.plan.fan_outs import FanOut, Start

__all__ = ["Observed", "Size"]


@dataclass(frozen=True, slots=True)
class Size:
    """The rows of a relation, and its bytes with indexes; None if they are not in this process."""

    rows: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Observed:
    sizes: Mapping[str, Size] = field(default_factory=dict)
    orders: Mapping[Start, tuple[FanOut, ...]] = field(default_factory=dict)
