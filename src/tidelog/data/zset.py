"""Z-sets: finite maps from elements to integer weights. They form the group of changes.

Idea: a set is a Z-set whose weights are all 1, a change is a Z-set with weights of both signs, and applying
a change is addition. Addition is associative and commutative, the empty Z-set is its zero, and every
Z-set has a negative. Linear operators can therefore be maintained from changes alone.

Invariant: no element has weight 0, so two Z-sets are equal iff they are the same map.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["ZSet"]

K = TypeVar("K", bound=Hashable)
L = TypeVar("L", bound=Hashable)


class ZSet(Generic[K]):
    """An immutable map from elements to weights other than 0."""

    __slots__ = ("_weights",)

    def __init__(self, weights: Mapping[K, int] | Iterable[tuple[K, int]] = ()) -> None:
        pairs = weights.items() if isinstance(weights, Mapping) else weights
        summed: dict[K, int] = {}
        for element, weight in pairs:
            summed[element] = summed.get(element, 0) + weight
        self._weights = {e: w for e, w in summed.items() if w}

    @classmethod
    def of(cls, elements: Iterable[K]) -> ZSet[K]:
        """The set of these elements. Each has weight 1, even if it is repeated."""
        return cls(dict.fromkeys(elements, 1))

    def __getitem__(self, element: K) -> int:
        return self._weights.get(element, 0)

    def __contains__(self, element: object) -> bool:
        return element in self._weights

    def __iter__(self) -> Iterator[K]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def items(self) -> Iterable[tuple[K, int]]:
        return self._weights.items()

    def __add__(self, other: ZSet[K]) -> ZSet[K]:
        if not other._weights:
            return self
        if not self._weights:
            return other
        large, small = (self, other) if len(self) >= len(other) else (other, self)
        summed = dict(large._weights)
        for element, weight in small._weights.items():
            total = summed.get(element, 0) + weight
            if total:
                summed[element] = total
            else:
                del summed[element]
        return self._wrap(summed)

    def __neg__(self) -> ZSet[K]:
        return self._wrap({e: -w for e, w in self._weights.items()})

    def __sub__(self, other: ZSet[K]) -> ZSet[K]:
        return self + -other

    def __mul__(self, factor: int) -> ZSet[K]:
        return self._wrap({e: w * factor for e, w in self._weights.items()} if factor else {})

    def map(self, function: Callable[[K], L]) -> ZSet[L]:
        """The image of each element. Weights of elements with the same image add up. Linear."""
        return ZSet((function(e), w) for e, w in self._weights.items())

    def filter(self, keep: Callable[[K], bool]) -> ZSet[K]:
        return self._wrap({e: w for e, w in self._weights.items() if keep(e)})

    def distinct(self) -> ZSet[K]:
        """The set of the elements whose weight is positive. Not linear."""
        return self._wrap({e: 1 for e, w in self._weights.items() if w > 0})

    @property
    def is_set(self) -> bool:
        return all(w == 1 for w in self._weights.values())

    @classmethod
    def _wrap(cls, weights: dict[K, int]) -> ZSet[K]:
        new: ZSet[K] = object.__new__(cls)
        new._weights = weights
        return new

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZSet) and self._weights == other._weights

    def __hash__(self) -> int:
        return hash(frozenset(self._weights.items()))

    def __bool__(self) -> bool:
        return bool(self._weights)

    def __repr__(self) -> str:
        return f"ZSet({self._weights})"
