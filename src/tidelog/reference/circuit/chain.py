"""The chain of levels: strata, one above the other.

Idea: level 0 gets the asserted facts, every other level the facts of the level below. The facts of the last
level are the result. If *other* rules are added or removed, a clause may move to another stratum. It is then
deleted at one level and inserted at another: restratification is an ordinary change.

Invariant: there is a level for every stratum in use. A level without clauses passes its input on, so levels
are never removed. A new level starts with all facts of the last one.

Mathematics: asserted facts are made a set first, so an assertion counts once. Each level passes the change of
a set to the next.
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

        Raises EngineError if an expression failed in a derivation; the chain is unusable after that.
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
        """Append a level that starts in the state of the chain before this tick."""
        level = Level(
            self._prefixes.of(()), self._functions, indexed=self._indexed, max_rounds=self._max_rounds
        )
        level.tick(self._known, kit(ZSet(), self._prefixes))
        self._levels.append(level)
