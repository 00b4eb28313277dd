"""The definition of incremental versions.

Idea: the incremental version of a function maps changes to changes. The definition is direct: sum the
changes, apply the function to whole states, take differences. It is slow but obviously correct, so it serves
to test the operators that only process what changed.

Mathematics: for streams Q^Δ = D ∘ ↑Q ∘ I. For nested streams the sums and differences are taken over both
clocks: (↑(↑Q)^Δ)^Δ = D ∘ ↑D ∘ ↑↑Q ∘ ↑I ∘ I.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, TypeVar

from tidelog.data.zset import ZSet
from tidelog.reference.circuit.operators.differentiate import Differentiate
from tidelog.reference.circuit.operators.integrate import Integrate
from tidelog.reference.circuit.operators.lift import LiftOperator
from tidelog.reference.circuit.stream import run, streams, zsets

__all__ = ["Nested", "Stream", "incremental", "nested_incremental"]

K = TypeVar("K", bound=Hashable)
Stream: TypeAlias = list[ZSet[K]]
Nested: TypeAlias = list[Stream[K]]


def incremental(function: Callable[..., ZSet[K]], *inputs: Stream[Any]) -> Stream[K]:
    """D ∘ ↑function ∘ I, for one stream per argument."""
    states = [_integral(xs) for xs in inputs]
    return _derivative([function(*values) for values in zip(*states, strict=True)])


def nested_incremental(function: Callable[..., ZSet[K]], *inputs: Nested[Any]) -> Nested[K]:
    """D ∘ ↑D ∘ ↑↑function ∘ ↑I ∘ I, for one nested stream per argument; inner streams have equal length."""
    length = len(inputs[0][0]) if inputs[0] else 0
    states = [_nested_integral(xs, length) for xs in inputs]
    results = [
        [function(*values) for values in zip(*rows, strict=True)] for rows in zip(*states, strict=True)
    ]
    return _nested_derivative(results, length)


def _integral(xs: Stream[K]) -> Stream[K]:
    operator: Integrate[ZSet[K]] = Integrate(zsets())
    return run(operator, xs)


def _derivative(xs: Stream[K]) -> Stream[K]:
    operator: Differentiate[ZSet[K]] = Differentiate(zsets())
    return run(operator, xs)


def _nested_integral(xs: Nested[K], length: int) -> Nested[K]:
    outer: Integrate[Stream[K]] = Integrate(streams(zsets(), length))
    inner: LiftOperator[ZSet[K], ZSet[K]] = LiftOperator(lambda: Integrate(zsets()))
    return run(inner, run(outer, xs))


def _nested_derivative(xs: Nested[K], length: int) -> Nested[K]:
    outer: Differentiate[Stream[K]] = Differentiate(streams(zsets(), length))
    inner: LiftOperator[ZSet[K], ZSet[K]] = LiftOperator(lambda: Differentiate(zsets()))
    return run(outer, run(inner, xs))
