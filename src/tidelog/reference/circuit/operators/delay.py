"""z⁻¹: delays a stream by one tick, starting with zero.

Idea: delay allows a circuit to contain a cycle. The output of a tick is known before its input, so a result
can be fed back: read `output`, compute with it, and pass the result to `step`.

Invariant: `output` is the argument of the last `step`, or zero if there was none.

Mathematics: z⁻¹(s)[0] = 0 and z⁻¹(s)[t] = s[t-1]. It is linear and strict; a causal operator fed back
through it has exactly one solution.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from tidelog.reference.circuit.stream import Group

__all__ = ["Delay"]

A = TypeVar("A")


class Delay(Generic[A]):
    def __init__(self, group: Group[A]) -> None:
        self.output = group.zero

    def step(self, x: A) -> A:
        output, self.output = self.output, x
        return output
