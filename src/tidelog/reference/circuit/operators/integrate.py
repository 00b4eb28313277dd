"""I: the sum of all inputs so far.

Idea: a stream of changes becomes the stream of the resulting states.

Invariant: after a tick, the total is the sum of all inputs up to and including that tick.

Mathematics: I(s)[t] = s[0] + … + s[t]; that is, I(s) = s + z⁻¹(I(s)). It is linear, and the inverse of D.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from tidelog.reference.circuit.stream import Group

__all__ = ["Integrate"]

A = TypeVar("A")


class Integrate(Generic[A]):
    def __init__(self, group: Group[A]) -> None:
        self._add = group.add
        self._total = group.zero

    def step(self, x: A) -> A:
        self._total = self._add(self._total, x)
        return self._total
