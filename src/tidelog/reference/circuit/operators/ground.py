"""ground: rewrites of a whole body derive the heads of its rules.

Idea: a signal says which head a prefix grounds. Applying the rewrite to the head gives a fact. If an
expression of the body or the head failed, it gives a breach: an instance that satisfies the body but has no
row.

Invariant: a rewrite marked with a failure never derives a fact.

Mathematics: the nested incremental join of rewrites and signals on the prefix, projected to the head.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from tidelog.data.values import Value
from tidelog.reference.circuit.kit import Signal
from tidelog.reference.circuit.operators.join import NestedJoin, On
from tidelog.reference.circuit.rewrite import Fact, Known, Rewrite, value_of
from tidelog.reference.evaluate import Failure, Functions

__all__ = ["Breach", "Ground", "Grounded"]


class Breach(NamedTuple):
    """An instance of a rule that holds except for a failed expression."""

    rule: str
    values: tuple[Known, ...]
    failure: Failure


Grounded: TypeAlias = Fact | Breach


class Ground(NestedJoin[Rewrite, Signal, Grounded]):
    def __init__(self, functions: Functions) -> None:
        super().__init__(
            On(
                left=lambda rewrite: rewrite.prefix,
                right=lambda signal: signal.prefix,
                merge=lambda rewrite, signal: _apply(rewrite, signal, functions),
            )
        )


def _apply(rewrite: Rewrite, signal: Signal, functions: Functions) -> Grounded:
    if rewrite.failure:
        return Breach(signal.rule, rewrite.values, rewrite.failure)
    row: list[Value] = []
    for expr in signal.head.values:
        value = value_of(expr, rewrite, functions)
        if isinstance(value, Failure):
            return Breach(signal.rule, rewrite.values, value)
        row.append(value)
    return Fact(signal.head.relation, tuple(row))
