"""distinct: the set of the elements whose weight is positive.

Idea: rules can derive a fact in many ways; as a set it is there once. Distinct is what makes a recursive
program reach a fixpoint, and the one operator that is not linear: it must know the weights so far.

Mathematics: d(w) = 1 if w > 0, else 0, on each element for itself. With W the sum over earlier ticks the
change at a tick is d(W + w) - d(W), zero wherever w is. On nested streams let New_i and Old_i sum the
changes up to inner tick i with and without the current outer tick; the change at i is

    d(New_i) - d(New_{i-1}) - d(Old_i) + d(Old_{i-1}),

zero for elements that the current outer tick has not touched up to i, where New and Old are the same.
An element it has touched can change at a later inner tick at which nothing comes in: one that earlier
commits derived in round 5 and this one in round 2 is new in round 2 and no longer new in round 5.
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
        self._earlier: dict[K, dict[int, int]] = {}  # by element, the weight of each inner tick
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
