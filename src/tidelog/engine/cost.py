"""The cost model of strata: predicts the next commit from the time that earlier ones took.

- A bootstrap is predicted to take as long per input fact as the last one.
- An update is predicted to take as long as recent updates with about as many changes. Before the first
  update, each change is predicted to cost as much as each fact of the bootstrap.

So an update is preferred unless the stratum grows many times over or about half of it is deleted. The
scheduler corrects wrong predictions while the update runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["UNFINISHED", "Sizes", "StratumCost"]

UNFINISHED: Final = 1.6  # an abandoned update counts as this many times the time it took
_NEGLIGIBLE: Final = 0.002  # seconds; always update below this
_NEAR: Final = 3  # binary digits
_SURE: Final = 0.8  # update if predicted to take at most this fraction of a bootstrap


class Sizes(NamedTuple):
    """The size of a stratum and its inputs before a commit, and the number of changes.

    `tuples` counts the stratum's own tuples, including asserted ones; `below` counts the tuples of other
    strata that its rules read.
    """

    below: int
    tuples: int
    insertions: int
    deletions: int


@dataclass(slots=True)
class StratumCost:
    """The measured cost of a stratum, in seconds.

    `bootstrap` is the time of the last bootstrap, which derived `tuples` from the `below` and `asserted`
    facts. `insertions` and `deletions` map the bit length of a number of changes to the time that updates
    with about that many changes took.
    """

    bootstrap: float = 0.0
    below: int = 0
    asserted: int = 0
    tuples: int = 0
    insertions: dict[int, float] = field(default_factory=dict)
    deletions: dict[int, float] = field(default_factory=dict)

    def made(self, seconds: float, below: int, asserted: int, tuples: int) -> None:
        """Record a bootstrap."""
        self.bootstrap, self.below, self.asserted, self.tuples = seconds, below, asserted, tuples

    def predict_bootstrap(self, sizes: Sizes) -> float:
        """The predicted time of a bootstrap after a change."""
        facts = self.below + self.asserted
        if not facts:
            return self.bootstrap
        asserted = self.asserted * sizes.tuples / self.tuples if self.tuples else 0  # assumes the same share
        after = sizes.below + asserted + sizes.insertions - sizes.deletions
        return self.bootstrap * max(after, 0) / facts

    def predict(self, sizes: Sizes) -> float | None:
        """The predicted time of an update for a change; None without measurements."""
        facts = self.below + self.asserted
        total = 0.0
        for known, count in ((self.insertions, sizes.insertions), (self.deletions, sizes.deletions)):
            guess = _guess(known, count)
            if guess is None and not facts:
                return None
            total += self.bootstrap * count / facts if guess is None else guess
        return total

    def discourages(self, sizes: Sizes) -> str | None:
        """The reason to bootstrap instead of updating; None if an update is worthwhile."""
        predicted, bootstrap = self.predict(sizes), self.predict_bootstrap(sizes)
        if predicted is None or predicted <= max(_NEGLIGIBLE, _SURE * bootstrap):
            return None
        return (
            f"an update would cost about {predicted / bootstrap:.0%} of a bootstrap"
            if bootstrap
            else "few facts remain"
        )

    def learn(self, seconds: float, sizes: Sizes) -> None:
        """Record an update, averaged with earlier ones so that one outlier does not decide the next."""
        total = max(sizes.insertions + sizes.deletions, 1)
        for known, count in ((self.insertions, sizes.insertions), (self.deletions, sizes.deletions)):
            if count:
                measured = seconds * count / total
                before = known.get(count.bit_length(), measured)
                known[count.bit_length()] = (before + measured) / 2

    def doubt(self) -> None:
        """Lower the predictions each time they prevent an update, so that one is eventually tried again."""
        for known in (self.insertions, self.deletions):
            for digits in known:
                known[digits] *= 0.95


def _guess(known: Mapping[int, float], count: int) -> float | None:
    """Extrapolate from the nearest measured number of changes; None if none is near enough.

    The extrapolation to larger numbers is capped at `_NEAR` binary digits.
    """
    if not count:
        return 0.0
    digits = count.bit_length()
    nearest = min(known, key=lambda other: abs(other - digits), default=None)
    if nearest is None or nearest - digits > _NEAR:
        return None
    return known[nearest] * 2.0 ** min(digits - nearest, _NEAR)
