"""distinct: the set of the elements whose weight is positive.

Idea: rules can derive a fact in many ways; a set contains it once. Distinct makes a recursive program reach a
fixpoint. It is the only operator that is not linear: it must know the weights so far.

Mathematics: d(w) = 1 if w > 0, else 0, for each element separately. With W the sum over earlier ticks, the
change at a tick is d(W + w) - d(W), which is zero wherever w is. On nested streams, let New_i and Old_i be
the sums of the changes up to inner tick i with and without the current outer tick. The change at i is

    d(New_i) - d(New_{i-1}) - d(Old_i) + d(Old_{i-1}),

which is zero for elements without a change in the current outer tick up to i, where New and Old are equal.
Other elements can change at a later inner tick without input: an element that earlier commits derived in
round 5 and this commit derives in round 2 is new in round 2, and no longer new in round 5.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from tidelog.data.zset import ZSet

__all__ = ["IncrementalDistinct", "NestedDistinct"]

K = TypeVar("K", bound=Hashable)


def _d(weight: int) -> int:
    return 1 if weight > 0 else 0


class IncrementalDistinct(Generic[K]):
    """(↑distinct)^Δ: the change of the set of a changing Z-set."""

    def __init__(self) -> None:
        self._weights: dict[K, int] = {}

    def step(self, x: ZSet[K]) -> ZSet[K]:
        return ZSet((element, self._add(element, weight)) for element, weight in x.items())

    def _add(self, element: K, weight: int) -> int:
        before = self._weights.pop(element, 0)
        if before + weight:
            self._weights[element] = before + weight
        return _d(before + weight) - _d(before)


class NestedDistinct(Generic[K]):
    """(↑(↑distinct)^Δ)^Δ: `step` is an inner tick; `tick` ends the inner stream and the outer tick."""

    def __init__(self) -> None:
        self._earlier: dict[K, dict[int, int]] = {}  # for each element, its weight at each inner tick
        self._current: dict[K, dict[int, int]] = {}
        self._inner = 0

    def step(self, x: ZSet[K]) -> ZSet[K]:
        for element, weight in x.items():
            self._current.setdefault(element, {})[self._inner] = weight
        changes = ZSet((element, self._change(element)) for element in self._current)
        self._inner += 1
        return changes

    def _change(self, element: K) -> int:
        i = self._inner
        earlier, current = self._earlier.get(element, {}), self._current[element]
        if i not in earlier and i not in current:
            return 0
        old = sum(weight for inner, weight in earlier.items() if inner < i)
        new = old + sum(weight for inner, weight in current.items() if inner < i)
        old_now = old + earlier.get(i, 0)
        new_now = new + earlier.get(i, 0) + current.get(i, 0)
        return _d(new_now) - _d(new) - _d(old_now) + _d(old)

    def tick(self) -> None:
        for element, weights in self._current.items():
            total = ZSet(self._earlier.pop(element, {})) + ZSet(weights)
            if total:
                self._earlier[element] = dict(total.items())
        self._current = {}
        self._inner = 0
