"""gatekeep: moves each rewrite along the directions of its prefix.

Idea: a rewrite of a prefix is a candidate for every prefix with which some rule continues it.

Invariant: a candidate differs from its rewrite only in the prefix.

Mathematics: the nested incremental join of rewrites and directions on prefix = before, projected to the
rewrite under the direction's `after`.
"""

from __future__ import annotations

from tidelog.reference.circuit.kit import Direction
from tidelog.reference.circuit.operators.join import NestedJoin, On
from tidelog.reference.circuit.rewrite import Rewrite

__all__ = ["Gatekeep"]


class Gatekeep(NestedJoin[Rewrite, Direction, Rewrite]):
    def __init__(self) -> None:
        super().__init__(
            On(
                left=lambda rewrite: rewrite.prefix,
                right=lambda direction: direction.before,
                merge=lambda rewrite, direction: rewrite._replace(prefix=direction.after),
            )
        )
