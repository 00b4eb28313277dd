"""D: the difference between each value and the previous one.

Idea: a stream of states becomes the stream of changes between them; the first state is a change from zero.

Invariant: the outputs so far sum to the last input.

Mathematics: D(s) = s - z⁻¹(s). It is linear, and the inverse of I.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from tidelog.reference.circuit.operators.delay import Delay
from tidelog.reference.circuit.stream import Group

__all__ = ["Differentiate"]

A = TypeVar("A")


class Differentiate(Generic[A]):
    def __init__(self, group: Group[A]) -> None:
        self._group = group
        self._before = Delay(group)

    def step(self, x: A) -> A:
        return self._group.add(x, self._group.negate(self._before.step(x)))
