"""index: facts, arranged by the columns by which rules look them up.

Idea: the rules determine which columns matter, as a stream of join orders. So an index is built when the
first rule that needs it is added, is maintained as facts change, and is dropped with the last such rule.

Invariant: for each join order there is one entry per fact of its relation, under the fact's values in the
columns of the order. `order` returns the order under which a candidate is looked up.

Mathematics: the nested incremental join of orders and facts on the relation. Without an index there is one
order without columns per relation, whatever the rules: a linear map of the facts.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.program.typed import Match
from tidelog.reference.circuit import kit
from tidelog.reference.circuit.kit import Order, Prefix
from tidelog.reference.circuit.operators.join import NestedJoin, On
from tidelog.reference.circuit.rewrite import Fact

__all__ = ["Entry", "Index", "Lookup", "Whole", "entry"]


class Entry(NamedTuple):
    order: Order
    key: Row
    row: Row


def entry(order: Order, fact: Fact) -> Entry:
    return Entry(order, tuple(fact.row[column] for column in order.columns), fact.row)


class Lookup(Protocol):
    """The arrangement of facts for the product."""

    def order(self, prefix: Prefix) -> Order: ...

    def step(self, orders: ZSet[Order], facts: ZSet[Fact]) -> ZSet[Entry]: ...

    def tick(self) -> None: ...


class Index:
    """Facts by the columns that are bound when a rule looks them up."""

    def __init__(self) -> None:
        self._join: NestedJoin[Order, Fact, Entry] = NestedJoin(
            On(left=lambda order: order.relation, right=lambda fact: fact.relation, merge=entry)
        )

    def order(self, prefix: Prefix) -> Order:
        assert isinstance(prefix.last, Match)
        return kit.order(prefix.last, prefix.bound)

    def step(self, orders: ZSet[Order], facts: ZSet[Fact]) -> ZSet[Entry]:
        return self._join.step(orders, facts)

    def tick(self) -> None:
        self._join.tick()


class Whole:
    """Facts by relation only."""

    def order(self, prefix: Prefix) -> Order:
        assert isinstance(prefix.last, Match)
        return Order(prefix.last.relation, ())

    def step(self, orders: ZSet[Order], facts: ZSet[Fact]) -> ZSet[Entry]:
        return facts.map(lambda fact: entry(Order(fact.relation, ()), fact))

    def tick(self) -> None:
        pass
