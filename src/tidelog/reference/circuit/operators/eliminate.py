"""∫: the sum of a whole stream, as one value.

Idea: this is how the result of a fixpoint leaves it. Of a stream of inner changes, the sum is the state
that the iteration ended in.

Invariant: the stream is zero from some tick on, and given at least up to there.

Mathematics: ∫(s) = s[0] + s[1] + …; it is linear, and ∫ ∘ δ₀ = id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tidelog.reference.circuit.operators.integrate import Integrate
from tidelog.reference.circuit.stream import Group

__all__ = ["eliminate"]

A = TypeVar("A")


def eliminate(group: Group[A], stream: Iterable[A]) -> A:
    total = group.zero
    integral = Integrate(group)
    for value in stream:
        total = integral.step(value)
    return total
