"""δ₀: turns a value into the stream with that value at tick 0 and zero afterwards.

Idea: this makes the change of a commit an input of the fixpoint. As a stream of inner *changes*, δ₀(x) says
that x is present in every round: the input of an iteration does not change while it iterates.

Invariant: only the first step returns the value.

Mathematics: δ₀(x)[0] = x, δ₀(x)[i] = 0 for i > 0; I(δ₀(x)) is x at every tick. It is linear, and
elimination undoes it: ∫ ∘ δ₀ = id.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from tidelog.reference.circuit.stream import Group

__all__ = ["Delta0"]

A = TypeVar("A")


class Delta0(Generic[A]):
    """A source: it has no input stream, so `step` takes no argument."""

    def __init__(self, group: Group[A], value: A) -> None:
        self._zero = group.zero
        self._next = value

    def step(self) -> A:
        value, self._next = self._next, self._zero
        return value
