"""↑: applies a function at every tick, or an operator to every inner stream.

Idea: lifting turns a function on values into an operator on streams of values. Lifting an operator turns it
into an operator on streams of streams: each outer tick has its own inner stream and gets a fresh operator.

Invariant: a lifted function has no state; a lifted operator keeps no state between outer ticks.

Mathematics: (↑f)(s)[t] = f(s[t]). If f is linear, so is ↑f, and then D ∘ ↑f ∘ I = ↑f: a lifted linear
function is its own incremental version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from tidelog.reference.circuit.stream import Unary, run

__all__ = ["Lift", "LiftOperator"]

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")


class Lift(Generic[P, B]):
    """↑f, on as many streams as f has arguments."""

    def __init__(self, function: Callable[P, B]) -> None:
        self._function = function

    def step(self, *xs: P.args, **named: P.kwargs) -> B:
        return self._function(*xs, **named)


class LiftOperator(Generic[A, B]):
    """↑Q for an operator Q, given as a factory of Q."""

    def __init__(self, fresh: Callable[[], Unary[A, B]]) -> None:
        self._fresh = fresh

    def step(self, xs: list[A]) -> list[B]:
        return run(self._fresh(), xs)
