"""The chain of levels: strata, one above the other.

Idea: level 0 is given the asserted facts, every other level the facts known below it; what the last one
knows is the result. A clause whose stratum changes because *other* rules came or went is a removal at one
level and an addition at another: restratification is a change like any other.

Invariant: there is a level for every stratum in use. A level without clauses passes on what it is given,
so levels are never taken away, and a new one starts with all that the last one knows.

Mathematics: asserted facts are made a set before they enter, so an assertion counts once; each level gives
the change of a set to the next.
"""

from __future__ import annotations

from typing import NamedTuple

from tidelog.data.zset import ZSet
from tidelog.reference.circuit.clause import Clause
from tidelog.reference.circuit.kit import Prefixes, kit
from tidelog.reference.circuit.level import Level
from tidelog.reference.circuit.operators.distinct import IncrementalDistinct
from tidelog.reference.circuit.rewrite import Fact
from tidelog.reference.evaluate import Functions

__all__ = ["Chain", "Placed"]


class Placed(NamedTuple):
    """A clause at its level."""

    level: int
    clause: Clause


class Chain:
    def __init__(self, functions: Functions, *, indexed: bool, max_rounds: int) -> None:
        self._functions = functions
        self._indexed = indexed
        self._max_rounds = max_rounds
        self._prefixes = Prefixes()
        self._asserted: IncrementalDistinct[Fact] = IncrementalDistinct()
        self._known: ZSet[Fact] = ZSet()
        self._levels: list[Level] = []

    def tick(self, program: ZSet[Placed], asserted: ZSet[Fact]) -> ZSet[Fact]:
        """The change of all known facts, from the changes of the clauses and of the asserted facts.

        Raises EngineError if an expression failed where it counts; the chain is of no use after that.
        """
        for _ in range(len(self._levels), 1 + max((p.level for p in program), default=0)):
            self._append()
        change = self._asserted.step(asserted)
        for number, level in enumerate(self._levels):
            here = ZSet((p.clause, w) for p, w in program.items() if p.level == number)
            change = level.tick(change, kit(here, self._prefixes))
        self._known += change
        return change

    def _append(self) -> None:
        """A new last level, brought to where the chain was before this tick."""
        level = Level(
            self._prefixes.of(()), self._functions, indexed=self._indexed, max_rounds=self._max_rounds
        )
        level.tick(self._known, kit(ZSet(), self._prefixes))
        self._levels.append(level)
