"""The cost model of strata: predicts the next commit from earlier ones.

- A bootstrap is predicted to take as long for each row that it reads or derives as the last one.
- An update is predicted to take as long as recent updates with about as many changes.
- A change of facts is predicted to change the number of tuples as earlier ones did. Before the first change,
  tuples are taken to be in proportion to facts.
- Before the first insertion, each new tuple is predicted to cost as much as each tuple of the bootstrap.
- Before the first deletion, the cost is predicted from the stratum's `depth`, the number of facts that a
  tuple rests on. If it rests on ten, it loses its support with a probability of 1 - 0.99**10 when 1 % of the
  facts are deleted. Each tuple that does is deleted and looked for again.

So an update is preferred unless the stratum grows many times over or much of it loses its support. The
scheduler corrects wrong predictions while the update runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from typing import Final, NamedTuple

__all__ = ["AGAIN", "UNFINISHED", "Sizes", "StratumCost"]

UNFINISHED: Final = 1.6  # an abandoned update counts as this many times the time it took
AGAIN: Final = 2.0  # deleting a tuple and looking for it again costs as much as deriving so many
_NEGLIGIBLE: Final = 0.002  # seconds; changes of a few facts always update below this
_FEW: Final = 0.1  # of the facts
_SMALL: Final = 1000  # rows of a stratum and its inputs up to which times say little
_DEEPEST: Final = 1000.0
_NOTICEABLE: Final = 0.005  # a change of this share of the facts shows how the number of tuples depends on it
_MOST_MORE: Final = 8.0  # times that a stratum is predicted to grow more than its facts
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
    with about that many changes took. `depth` is about how many facts a tuple rests on. If facts become
    twice as many, tuples become 2 to the power of `growth` times as many.
    """

    bootstrap: float = 0.0
    below: int = 0
    asserted: int = 0
    tuples: int = 0
    depth: float = 1.0
    growth: float = 1.0
    insertions: dict[int, float] = field(default_factory=dict)
    deletions: dict[int, float] = field(default_factory=dict)

    def made(self, seconds: float, below: int, asserted: int, tuples: int, depth: float = 1.0) -> None:
        """Record a bootstrap."""
        self.bootstrap, self.below, self.asserted, self.tuples = seconds, below, asserted, tuples
        self.depth = min(max(depth, 1.0), _DEEPEST)

    def predict_now(self, sizes: Sizes) -> float:
        """The predicted time of a bootstrap without the change."""
        rows = self.below + self.tuples
        return self.bootstrap * (sizes.below + sizes.tuples) / rows if rows else self.bootstrap

    def predict_bootstrap(self, sizes: Sizes) -> float:
        """The predicted time of a bootstrap after a change."""
        facts = self._facts(sizes)
        if not facts:
            return self.predict_now(sizes)
        times = max(1 + (sizes.insertions - sizes.deletions) / facts, 0.0)
        return float(self.predict_now(sizes) * min(times**self.growth, times * _MOST_MORE))

    def predict(self, sizes: Sizes) -> float | None:
        """The predicted time of an update for a change; None without measurements."""
        inserting, deleting = (
            _guess(known, count)
            for known, count in ((self.insertions, sizes.insertions), (self.deletions, sizes.deletions))
        )
        facts = self._facts(sizes)
        if not facts and (inserting is None or deleting is None):
            return None
        if inserting is None:
            more = self.predict_bootstrap(sizes._replace(deletions=0)) - self.predict_now(sizes)
            inserting = max(more, self.predict_now(sizes) * sizes.insertions / facts)
        if deleting is None:
            deleting = AGAIN * self.predict_now(sizes) * (1 - self._remaining(sizes))
        return inserting + deleting

    def _facts(self, sizes: Sizes) -> float:
        """About how many facts there are before a change, if as many tuples are asserted as were."""
        asserted = self.asserted * sizes.tuples / self.tuples if self.tuples else 0
        return sizes.below + asserted if self.below or self.asserted else 0

    def _remaining(self, sizes: Sizes) -> float:
        """The predicted share of tuples that keep their support when facts are deleted."""
        facts = self._facts(sizes)
        return float(max(1 - sizes.deletions / facts, 0.0) ** self.depth) if facts else 1.0

    def discourages(self, sizes: Sizes) -> str | None:
        """The reason to bootstrap instead of updating; None if an update is worthwhile."""
        predicted, bootstrap = self.predict(sizes), self.predict_bootstrap(sizes)
        is_small = sizes.below + sizes.tuples + sizes.insertions <= _SMALL
        if is_small or predicted is None:
            return None
        facts = self._facts(sizes)
        if sizes.insertions > _SURE * (facts + sizes.insertions - sizes.deletions):
            return "nearly all facts are new"
        if sizes.deletions > _SURE * facts:
            return "few facts remain"
        is_few = sizes.insertions + sizes.deletions <= _FEW * facts
        if predicted <= max(_NEGLIGIBLE if is_few else 0.0, _SURE * bootstrap):
            return None
        return (
            f"an update would cost about {predicted / bootstrap:.0%} of a bootstrap"
            if bootstrap
            else "few facts remain"
        )

    def measure(self, sizes: Sizes, suspects: int) -> None:
        """Learn from a deletion how many facts a tuple rests on; so many tuples lost their support."""
        facts = self._facts(sizes)
        if not facts or not 0 < sizes.deletions < facts or suspects >= sizes.tuples:
            return
        measured = log(1 - suspects / sizes.tuples) / log(1 - sizes.deletions / facts)
        self.depth = min(max((self.depth + measured) / 2, 1.0), _DEEPEST)

    def follow(self, sizes: Sizes, tuples: int) -> None:
        """Learn from the number of tuples after a change how it depends on that of facts."""
        facts = self._facts(sizes)
        times = 1 + (sizes.insertions - sizes.deletions) / facts if facts else 1.0
        if times > 0 and abs(times - 1) >= _NOTICEABLE and sizes.tuples and tuples:
            measured = min(max(log(tuples / sizes.tuples) / log(times), 0.0), _DEEPEST)
            self.growth = (self.growth + measured) / 2

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
        self.depth = max(self.depth * 0.95, 1.0)


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
