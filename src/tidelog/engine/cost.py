"""What units cost: what earlier commits taught, and what is expected of the next.

A bootstrap takes about as long as before for each fact that it starts from. An update takes about as long as
the last ones that had as many changes; before there was one, each change is taken to cost what each fact did
in the bootstrap. So adding to a unit is worth an update unless it grows many times over, and deleting unless
about half of it goes; what the guess gets wrong is seen while the update runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["UNFINISHED", "Sizes", "StratumCost"]

UNFINISHED: Final = 1.6  # of the time after which an update was given up is what it is taken to have cost
_NEGLIGIBLE: Final = 0.002  # seconds that are not worth a thought
_NEAR: Final = 3  # binary digits
_SURE: Final = 0.8  # of the time of a bootstrap is what an update may be expected to take


class Sizes(NamedTuple):
    """What a unit rests on before a commit, and how much of it changes.

    `tuples` are the unit's own, asserted ones among them; `below` is what its rules read of other units.
    """

    below: int
    tuples: int
    insertions: int
    deletions: int


@dataclass(slots=True)
class StratumCost:
    """What earlier commits taught about a unit, in seconds.

    `bootstrap` is what the last one took, which made so many `tuples` of what was `below` and `asserted`;
    `arrivals` and `departures` what updates for so many changes took, by the number of binary digits of how
    many they were.
    """

    bootstrap: float = 0.0
    below: int = 0
    asserted: int = 0
    tuples: int = 0
    insertions: dict[int, float] = field(default_factory=dict)
    deletions: dict[int, float] = field(default_factory=dict)

    def made(self, seconds: float, below: int, asserted: int, tuples: int) -> None:
        """Remember a bootstrap."""
        self.bootstrap, self.below, self.asserted, self.tuples = seconds, below, asserted, tuples

    def anew(self, sizes: Sizes) -> float:
        """What a bootstrap would take after a change."""
        facts = self.below + self.asserted
        if not facts:
            return self.bootstrap
        asserted = self.asserted * sizes.tuples / self.tuples if self.tuples else 0  # as many of them as then
        after = sizes.below + asserted + sizes.insertions - sizes.deletions
        return self.bootstrap * max(after, 0) / facts

    def predict(self, sizes: Sizes) -> float | None:
        """What an update for a change would take; None if nothing is known of the unit."""
        facts = self.below + self.asserted
        total = 0.0
        for known, count in ((self.insertions, sizes.insertions), (self.deletions, sizes.deletions)):
            guess = _guess(known, count)
            if guess is None and not facts:
                return None
            total += self.bootstrap * count / facts if guess is None else guess
        return total

    def discourages(self, sizes: Sizes) -> str | None:
        """Why a change is not worth an update, if so."""
        predicted, anew = self.predict(sizes), self.anew(sizes)
        if predicted is None or predicted <= max(_NEGLIGIBLE, _SURE * anew):
            return None
        return f"an update would take about {predicted / anew:.0%} of its time" if anew else "little is left"

    def learn(self, seconds: float, sizes: Sizes) -> None:
        """Remember an update; one odd change should not decide about the next commit alone."""
        total = max(sizes.insertions + sizes.deletions, 1)
        for known, count in ((self.insertions, sizes.insertions), (self.deletions, sizes.deletions)):
            if count:
                measured = seconds * count / total
                before = known.get(count.bit_length(), measured)
                known[count.bit_length()] = (before + measured) / 2

    def doubt(self) -> None:
        """Trust predictions less each time one is followed, so that an update is tried again some day."""
        for known in (self.insertions, self.deletions):
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
