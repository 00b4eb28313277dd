"""product: evaluates the next literal of candidates and extends them to rewrites.

Idea: an atom extends a candidate once per fact that unifies with it. A condition keeps or drops the
candidate, an assignment adds a value, a generator adds one of several. A negated atom keeps the candidate
unless the relation has its key.

Invariant: the weight of a rewrite is its number of instances: one for each choice of a fact per positive
atom and of a position per generator. The keys under a negation are a set, do not change within a fixpoint,
and never contain `none`.

Mathematics: candidates ⋈ entries is bilinear. Conditions, assignments and generators are linear maps. A
negated atom gives candidates - candidates ⋈ keys: a linear part minus a bilinear one.
"""

from __future__ import annotations

from typing import NamedTuple

from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.program.typed import Absent, Bind, Each, Match, Test
from tidelog.reference.circuit.kit import Order, absence
from tidelog.reference.circuit.operators.index import Entry, Lookup
from tidelog.reference.circuit.operators.join import NestedJoin, On
from tidelog.reference.circuit.rewrite import Known, Rewrite, advance, key, unify
from tidelog.reference.evaluate import Functions

__all__ = ["Key", "Product"]


class Key(NamedTuple):
    """The values of a row of the relation in some columns."""

    order: Order
    values: Row


class Product:
    def __init__(self, lookup: Lookup, functions: Functions) -> None:
        def asked(candidate: Rewrite) -> tuple[Order, tuple[Known, ...]]:
            order = lookup.order(candidate.prefix)
            return order, key(candidate, order)

        self._functions = functions
        self._matched: NestedJoin[Rewrite, Entry, Rewrite] = NestedJoin(
            On(asked, lambda entry: (entry.order, entry.key), lambda c, entry: unify(c, entry.row))
        )
        self._refuted: NestedJoin[Rewrite, Key, Rewrite] = NestedJoin(
            On(_denied, lambda key: (key.order, key.values), lambda candidate, _: candidate)
        )

    def step(self, candidates: ZSet[Rewrite], entries: ZSet[Entry], keys: ZSet[Key]) -> ZSet[Rewrite]:
        atoms = candidates.filter(lambda c: isinstance(c.prefix.last, Match))
        negated = candidates.filter(lambda c: isinstance(c.prefix.last, Absent))
        computed = candidates.filter(lambda c: isinstance(c.prefix.last, Test | Bind | Each))
        unrefuted = negated - self._refuted.step(negated, keys)
        return self._matched.step(atoms, entries) + unrefuted + self._advanced(computed)

    def tick(self) -> None:
        self._matched.tick()
        self._refuted.tick()

    def _advanced(self, candidates: ZSet[Rewrite]) -> ZSet[Rewrite]:
        return ZSet((r, weight) for c, weight in candidates.items() for r in advance(c, self._functions))


def _denied(candidate: Rewrite) -> tuple[Order, tuple[Known, ...]]:
    assert isinstance(candidate.prefix.last, Absent)
    order = absence(candidate.prefix.last)
    return order, key(candidate, order)
