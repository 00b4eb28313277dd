"""A level: the nested circuit that evaluates the clauses of one stratum.

Idea: one outer tick is one commit, one inner tick is one round of the fixpoint. In a round, rewrites of the
previous round move to their next prefixes (gatekeep), join the facts of the previous round (index, product)
and ground heads (ground). The given and grounded facts so far are made a set (distinct). The change of a
commit is the input of round 0, and the sum of all rounds is the change of the result:

    given ─ δ₀ ──────────────────────────────→ + → distinct ─┬→ ∫ → known
                                               ↑             z⁻¹
    orders ─ δ₀ ───────────────→ index ←───────┼─────────────┘
                                   ↓           │
    directions ─ δ₀ → gatekeep → product → + → ground ← δ₀ ─ signals
                          ↑          ↑     │
                          │       keys ─δ₀ │
                          └─ z⁻¹ ──────────┘ ← δ₀ ─ the empty rewrite, once

Invariants: all facts of lower levels are given facts, so a negated relation is complete in the input and its
keys do not change between rounds. Directions, orders and absences are made sets first: a rule that shares a
prefix with another then costs only its own part, and weights count instances.

Termination: a round that feeds nothing back is the last one, unless an earlier commit had more rounds: what
it derived in its late rounds may have to be deleted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.data.zset import ZSet
from tidelog.errors import EngineError
from tidelog.reference.circuit.kit import Direction, Kit, Order, Prefix, Signal
from tidelog.reference.circuit.operators.delay import Delay
from tidelog.reference.circuit.operators.delta0 import Delta0
from tidelog.reference.circuit.operators.distinct import IncrementalDistinct, NestedDistinct
from tidelog.reference.circuit.operators.eliminate import eliminate
from tidelog.reference.circuit.operators.gatekeep import Gatekeep
from tidelog.reference.circuit.operators.ground import Breach, Ground, Grounded
from tidelog.reference.circuit.operators.index import Index, Lookup, Whole
from tidelog.reference.circuit.operators.join import IncrementalJoin, On
from tidelog.reference.circuit.operators.product import Key, Product
from tidelog.reference.circuit.rewrite import Fact, Rewrite
from tidelog.reference.circuit.stream import Group, zsets
from tidelog.reference.evaluate import Functions

__all__ = ["Level"]


@dataclass(frozen=True, slots=True)
class _Sources:
    """The inputs of one fixpoint, all present from round 0 on."""

    given: Delta0[ZSet[Fact]]
    start: Delta0[ZSet[Rewrite]]
    directions: Delta0[ZSet[Direction]]
    signals: Delta0[ZSet[Signal]]
    orders: Delta0[ZSet[Order]]
    keys: Delta0[ZSet[Key]]


class Level:
    """`empty` is the empty prefix, where every body starts."""

    def __init__(self, empty: Prefix, functions: Functions, *, indexed: bool, max_rounds: int) -> None:
        self._start = ZSet.of([Rewrite(empty)])
        self._directions: IncrementalDistinct[Direction] = IncrementalDistinct()
        self._orders: IncrementalDistinct[Order] = IncrementalDistinct()
        self._absences: IncrementalDistinct[Order] = IncrementalDistinct()
        self._keyed: IncrementalJoin[Order, Fact, Key] = IncrementalJoin(
            On(lambda order: order.relation, lambda fact: fact.relation, _key)
        )
        self._keys: IncrementalDistinct[Key] = IncrementalDistinct()
        self._gatekeep = Gatekeep()
        self._index: Lookup = Index() if indexed else Whole()
        self._product = Product(self._index, functions)
        self._ground = Ground(functions)
        self._distinct: NestedDistinct[Fact] = NestedDistinct()
        self._breaches: ZSet[Breach] = ZSet()
        self._rounds = 1
        self._max_rounds = max_rounds

    def tick(self, given: ZSet[Fact], kit: Kit) -> ZSet[Fact]:
        """One commit: the change of the facts known here, from the changes of the given facts and the rules.

        Raises EngineError if an expression failed in an instance that holds; the level is then unusable.
        """
        facts: Group[ZSet[Fact]] = zsets()
        known = eliminate(facts, self._iterate(self._sources(given, kit)))
        for operator in (self._gatekeep, self._index, self._product, self._ground, self._distinct):
            operator.tick()
        for rule, values, failure in self._breaches:
            raise EngineError(f"rule {rule}: {failure.reason}, in the instance with values {values}")
        return known

    def _sources(self, given: ZSet[Fact], kit: Kit) -> _Sources:
        start, self._start = self._start, ZSet()
        keyed = self._keyed.step(self._absences.step(kit.absences), given)
        return _Sources(
            Delta0(zsets(), given),
            Delta0(zsets(), start),
            Delta0(zsets(), self._directions.step(kit.directions)),
            Delta0(zsets(), kit.signals),
            Delta0(zsets(), self._orders.step(kit.orders)),
            Delta0(zsets(), self._keys.step(keyed)),
        )

    def _iterate(self, sources: _Sources) -> Iterator[ZSet[Fact]]:
        """The change of the known facts, round by round."""
        rewrites: Delay[ZSet[Rewrite]] = Delay(zsets())
        facts: Delay[ZSet[Fact]] = Delay(zsets())
        count = 0
        while count < self._rounds or rewrites.output or facts.output:
            yield self._round(sources, rewrites, facts)
            count += 1
            if count > self._max_rounds:
                names = ", ".join(sorted({fact.relation for fact in facts.output}))
                message = f"{names} still grew after {self._max_rounds} rounds, the iteration limit"
                raise EngineError(message)
        self._rounds = count

    def _round(
        self, sources: _Sources, rewrites: Delay[ZSet[Rewrite]], facts: Delay[ZSet[Fact]]
    ) -> ZSet[Fact]:
        candidates = self._gatekeep.step(rewrites.output, sources.directions.step())
        entries = self._index.step(sources.orders.step(), facts.output)
        extended = self._product.step(candidates, entries, sources.keys.step()) + sources.start.step()
        grounded = self._ground.step(extended, sources.signals.step())
        known = self._distinct.step(sources.given.step() + self._facts(grounded))
        rewrites.step(extended)
        facts.step(known)
        return known

    def _facts(self, grounded: ZSet[Grounded]) -> ZSet[Fact]:
        """The grounded facts; breaches are collected until the end of the commit."""
        self._breaches += ZSet((g, w) for g, w in grounded.items() if isinstance(g, Breach))
        return ZSet((g, w) for g, w in grounded.items() if isinstance(g, Fact))


def _key(order: Order, fact: Fact) -> Key | None:
    values = tuple(fact.row[column] for column in order.columns)
    return None if None in values else Key(order, values)
