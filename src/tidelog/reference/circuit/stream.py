"""Streams: values over time, and the operators between them.

Idea: a stream maps the ticks 0, 1, 2, … to values of an abelian group. An operator is an object that takes
one value per tick (`step`) and returns one. Its memory between ticks is its state, so every operator here is
causal. In a nested stream, the value of each tick is a stream: the *outer* ticks are commits, the *inner*
ticks are the rounds of the fixpoint of one commit.

Invariant: a list of n values represents the first n ticks of a stream, whatever follows. Operators are
causal, so a prefix of the input determines a prefix of the output of the same length.

Mathematics: streams over a group form a group, tick by tick (`streams`). So operators that need only a group
(delay, integrate, differentiate) work at the outer level unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tidelog.data.zset import ZSet

__all__ = ["Binary", "Group", "Unary", "run", "run_binary", "streams", "zsets"]

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
K = TypeVar("K", bound=Hashable)
A_contra = TypeVar("A_contra", contravariant=True)
B_contra = TypeVar("B_contra", contravariant=True)
C_co = TypeVar("C_co", covariant=True)


class Unary(Protocol[A_contra, C_co]):
    """An operator on one stream."""

    def step(self, x: A_contra, /) -> C_co: ...


class Binary(Protocol[A_contra, B_contra, C_co]):
    """An operator on two streams that tick together."""

    def step(self, x: A_contra, y: B_contra, /) -> C_co: ...


def run(operator: Unary[A, B], xs: Iterable[A]) -> list[B]:
    """The output of the operator for the stream."""
    return [operator.step(x) for x in xs]


def run_binary(operator: Binary[A, B, C], xs: Iterable[A], ys: Iterable[B]) -> list[C]:
    """The output of the operator for the two streams."""
    return [operator.step(x, y) for x, y in zip(xs, ys, strict=True)]


@dataclass(frozen=True, slots=True)
class Group(Generic[A]):
    """An abelian group: required of a stream's values for sums and differences over time to exist."""

    zero: A
    add: Callable[[A, A], A]
    negate: Callable[[A], A]


def zsets() -> Group[ZSet[K]]:
    """The group of Z-sets over one kind of element."""
    return Group(ZSet(), lambda x, y: x + y, lambda x: -x)


def streams(of: Group[A], length: int) -> Group[list[A]]:
    """The group of streams over a group, known for the first `length` ticks."""
    return Group(
        [of.zero] * length,
        lambda xs, ys: [of.add(x, y) for x, y in zip(xs, ys, strict=True)],
        lambda xs: [of.negate(x) for x in xs],
    )
