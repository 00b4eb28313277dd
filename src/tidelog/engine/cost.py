"""What units cost: learned from commits, asked before the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["UnitCost"]

_NEAR: Final = 3  # binary digits


@dataclass(slots=True)
class UnitCost:
    """What earlier commits taught about a unit, in seconds.

    `bootstrap` is what the last one took; `arrivals` and `departures` what updates for so many changes took,
    by the number of binary digits of how many they were.
    """

    bootstrap: float = 0.0
    arrivals: dict[int, float] = field(default_factory=dict)
    departures: dict[int, float] = field(default_factory=dict)

    def predict(self, arrivals: int, departures: int) -> float | None:
        """What an update for so many changes would take; None if none like it was seen."""
        guesses = [_guess(self.arrivals, arrivals), _guess(self.departures, departures)]
        known = [guess for guess in guesses if guess is not None]
        return sum(known) if len(known) == len(guesses) else None

    def learn(self, seconds: float, arrivals: int, departures: int) -> None:
        """Remember an update; one odd change should not decide about the next commit alone."""
        total = max(arrivals + departures, 1)
        for known, count in ((self.arrivals, arrivals), (self.departures, departures)):
            if count:
                measured = seconds * count / total
                before = known.get(count.bit_length(), measured)
                known[count.bit_length()] = (before + measured) / 2

    def doubt(self) -> None:
        """Trust predictions less each time one is followed, so that an update is tried again some day."""
        for known in (self.arrivals, self.departures):
            for digits in known:
                known[digits] *= 0.95


def _guess(known: Mapping[int, float], count: int) -> float | None:
    """In proportion to what the nearest number of changes took, if there is one that is near enough.

    Many more changes than were ever seen take at least as long, and are taken to be a few times as many.
    """
    if not count:
        return 0.0
    digits = count.bit_length()
    nearest = min(known, key=lambda other: abs(other - digits), default=None)
    if nearest is None or nearest - digits > _NEAR:
        return None
    return known[nearest] * 2.0 ** min(digits - nearest, _NEAR)
