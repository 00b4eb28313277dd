"""⋈: pairs of elements that agree on a key.

Idea: for each element of one side, a join looks up the elements of the other side with the same key. Its
incremental versions do so only for changed elements, and therefore keep both sides arranged by key.

Mathematics: (a ⋈ b)[merge(x, y)] sums a[x]·b[y] over the pairs with equal keys that `merge` accepts. It is
bilinear, so with sums A, B over earlier ticks the change at a tick is a ⋈ (B + b) + A ⋈ b. On nested streams,
the change at outer tick t and inner tick i consists of pairs of changes, one per side. The later of their
outer ticks is t, and the later of their inner ticks is i. Sorted by the left change, with c for the current
outer tick and o for all earlier ones:

    current, at i        a_i    ⋈ (Bc_≤i + Bo_≤i)
    current, before i    Ac_<i  ⋈ (b_i + Bo_i)
    earlier, at i        Ao_i   ⋈ Bc_≤i
    earlier, before i    Ao_<i  ⋈ b_i

So a join can have output at an inner tick without input, if an earlier outer tick had input there: an
iteration must run at least as long as the longest one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from tidelog.data.zset import ZSet

__all__ = ["IncrementalJoin", "NestedJoin", "On", "join"]

A = TypeVar("A", bound=Hashable)
B = TypeVar("B", bound=Hashable)
C = TypeVar("C", bound=Hashable)


@dataclass(frozen=True, slots=True)
class On(Generic[A, B, C]):
    """The pairs that a join selects: equal keys, and `merge` does not return None."""

    left: Callable[[A], Hashable]
    right: Callable[[B], Hashable]
    merge: Callable[[A, B], C | None]


class _Arranged(Generic[A]):
    """A growing Z-set arranged by key; no weight is 0 and no key is without elements."""

    def __init__(self, key: Callable[[A], Hashable]) -> None:
        self._key = key
        self._groups: dict[Hashable, dict[A, int]] = {}

    def add(self, change: ZSet[A]) -> None:
        for element, weight in change.items():
            key = self._key(element)
            group = self._groups.setdefault(key, {})
            group[element] = group.get(element, 0) + weight
            if not group[element]:
                del group[element]
            if not group:
                del self._groups[key]

    def at(self, key: Hashable) -> Iterable[tuple[A, int]]:
        return self._groups.get(key, {}).items()

    def common(self, other: _Arranged[B]) -> list[Hashable]:
        """The common keys, found in time proportional to the smaller side."""
        if len(self._groups) <= len(other._groups):
            return [key for key in self._groups if key in other._groups]
        return other.common(self)


_Pairs = Iterator[tuple[A, int, B, int]]


def _from_left(a: ZSet[A], key: Callable[[A], Hashable], right: _Arranged[B]) -> _Pairs[A, B]:
    return ((x, v, y, w) for x, v in a.items() for y, w in right.at(key(x)))


def _from_right(left: _Arranged[A], b: ZSet[B], key: Callable[[B], Hashable]) -> _Pairs[A, B]:
    return ((x, v, y, w) for y, w in b.items() for x, v in left.at(key(y)))


def _from_both(left: _Arranged[A], right: _Arranged[B]) -> _Pairs[A, B]:
    return ((x, v, y, w) for key in left.common(right) for x, v in left.at(key) for y, w in right.at(key))


def _merged(on: On[A, B, C], pairs: Iterable[tuple[A, int, B, int]]) -> Iterator[tuple[C, int]]:
    for x, v, y, w in pairs:
        merged = on.merge(x, y)
        if merged is not None:
            yield merged, v * w


def join(on: On[A, B, C], a: ZSet[A], b: ZSet[B]) -> ZSet[C]:
    """a ⋈ b."""
    right = _Arranged(on.right)
    right.add(b)
    return ZSet(_merged(on, _from_left(a, on.left, right)))


class IncrementalJoin(Generic[A, B, C]):
    """(↑⋈)^Δ: the change of the join of two changing Z-sets."""

    def __init__(self, on: On[A, B, C]) -> None:
        self._on = on
        self._left = _Arranged(on.left)
        self._right = _Arranged(on.right)

    def step(self, a: ZSet[A], b: ZSet[B]) -> ZSet[C]:
        pairs = list(_from_right(self._left, b, self._on.right))
        self._right.add(b)
        pairs += _from_left(a, self._on.left, self._right)
        self._left.add(a)
        return ZSet(_merged(self._on, pairs))


class _Side(Generic[A]):
    """One input of a nested join: the sum of the current outer tick, and earlier sums by inner tick."""

    def __init__(self, key: Callable[[A], Hashable]) -> None:
        self._key = key
        self._changes: list[ZSet[A]] = []
        self.current = _Arranged(key)
        self.earlier: list[_Arranged[A]] = []

    def add(self, change: ZSet[A]) -> None:
        self._changes.append(change)
        self.current.add(change)

    def earlier_at(self, inner: int) -> _Arranged[A]:
        return self.earlier[inner] if inner < len(self.earlier) else _Arranged(self._key)

    def tick(self) -> None:
        missing = len(self._changes) - len(self.earlier)
        self.earlier += [_Arranged(self._key) for _ in range(missing)]
        for arranged, change in zip(self.earlier, self._changes, strict=False):
            arranged.add(change)
        self._changes = []
        self.current = _Arranged(self._key)


class NestedJoin(Generic[A, B, C]):
    """(↑(↑⋈)^Δ)^Δ: `step` is an inner tick; `tick` ends the inner stream and starts the next outer tick."""

    def __init__(self, on: On[A, B, C]) -> None:
        self._on = on
        self._left = _Side(on.left)
        self._right = _Side(on.right)
        self._inner = 0

    def step(self, a: ZSet[A], b: ZSet[B]) -> ZSet[C]:
        left, right, i = self._left, self._right, self._inner
        by_left, by_right = self._on.left, self._on.right
        pairs = list(_from_right(left.current, b, by_right))
        pairs += _from_both(left.current, right.earlier_at(i))
        for before in left.earlier[:i]:
            pairs += _from_right(before, b, by_right)
        right.add(b)
        pairs += _from_both(left.earlier_at(i), right.current)
        pairs += _from_left(a, by_left, right.current)
        for until in right.earlier[: i + 1]:
            pairs += _from_left(a, by_left, until)
        left.add(a)
        self._inner += 1
        return ZSet(_merged(self._on, pairs))

    def tick(self) -> None:
        self._left.tick()
        self._right.tick()
        self._inner = 0
