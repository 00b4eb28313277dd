"""∫: the sum of a whole stream, as one value.

Idea: this extracts the result of a fixpoint. The sum of a stream of inner changes is the final state of the
iteration.

Invariant: the stream is zero from some tick on, and is given at least up to that tick.

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
