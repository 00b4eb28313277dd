"""index: facts, arranged by the columns that some rule will look them up by.

Idea: which columns matter is said by the rules, as a stream of join orders. So an index is built when the
first rule that needs it comes, follows the facts, and is gone with the last rule that needed it.

Invariant: for each join order there is one entry per fact of its relation, under the fact's values of the
order's columns. `order` says under which order a candidate must look.

Mathematics: the nested incremental join of orders and facts on the relation. Without an index there is
one order per relation, of no columns, whatever the rules: a linear map of the facts.
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
    """How facts are arranged for the product."""

    def order(self, prefix: Prefix) -> Order: ...

    def step(self, orders: ZSet[Order], facts: ZSet[Fact]) -> ZSet[Entry]: ...

    def tick(self) -> None: ...


class Index:
    """Facts by the columns that are bound when a rule comes to them."""

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
    """Facts by relation alone."""

    def order(self, prefix: Prefix) -> Order:
        assert isinstance(prefix.last, Match)
        return Order(prefix.last.relation, ())

    def step(self, orders: ZSet[Order], facts: ZSet[Fact]) -> ZSet[Entry]:
        return facts.map(lambda fact: entry(Order(fact.relation, ()), fact))

    def tick(self) -> None:
        pass
