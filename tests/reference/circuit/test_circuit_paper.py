"""The examples of the paper that the circuit is taken from, section by section."""

from __future__ import annotations

import pytest

from reference.circuit.circuit_programs import atom, rule
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.reference.circuit import Circuit
from tidelog.reference.circuit.clause import clauses
from tidelog.reference.circuit.kit import Direction, Order, Prefix, Prefixes, Signal
from tidelog.reference.circuit.operators.delay import Delay
from tidelog.reference.circuit.operators.delta0 import Delta0
from tidelog.reference.circuit.operators.distinct import IncrementalDistinct
from tidelog.reference.circuit.operators.eliminate import eliminate
from tidelog.reference.circuit.operators.gatekeep import Gatekeep
from tidelog.reference.circuit.operators.ground import Ground
from tidelog.reference.circuit.operators.index import Index, Whole
from tidelog.reference.circuit.operators.product import Product
from tidelog.reference.circuit.rewrite import Fact, Rewrite, unify
from tidelog.reference.circuit.stream import Group, run, streams, zsets

AB: Row = ("a", "b")
BC: Row = ("b", "c")
CD: Row = ("c", "d")
AC: Row = ("a", "c")
GROUP: Group[ZSet[Row]] = zsets()

COPY = rule("copy", "T x y", "E x y")
STEP = rule("step", "T x z", "T x y", "E y z")
RULES = {"copy": COPY, "step": STEP}


def prefix(*body: str) -> Prefix:
    (only,) = clauses([rule("r", "H", *body)])
    return Prefixes().of(only.body)


def test_example_3_2_the_rewrite_product_keeps_the_rows_that_unify() -> None:
    candidates = [Rewrite(prefix("P x", "E x y"), (value,)) for value in ("a", "b")]
    found = [unify(c, row) for c in candidates for row in (AB, BC, CD)]
    assert [rewrite.values for rewrite in found if rewrite] == [AB, BC]


def test_example_4_1_delay_and_distinct() -> None:
    delayed = run(Delay(GROUP), [ZSet({AB: 1}), ZSet({BC: 2}), ZSet()])
    assert delayed == [ZSet(), ZSet({AB: 1}), ZSet({BC: 2})]
    stream = [ZSet({AB: 1}), ZSet({BC: 2}), ZSet({CD: 1})]
    assert [value.distinct() for value in stream] == [ZSet.of([AB]), ZSet.of([BC]), ZSet.of([CD])]
    operator: IncrementalDistinct[Row] = IncrementalDistinct()
    assert run(operator, [ZSet({BC: 2}), ZSet({BC: 1}), ZSet({BC: -3})]) == [
        ZSet({BC: 1}),
        ZSet(),
        ZSet({BC: -1}),
    ]


@pytest.mark.parametrize("indexed", [True, False])
def test_example_4_2_facts_and_rules_stream_together(indexed: bool) -> None:
    """Removing the rule that copies edges takes with it all that was built on the copies."""
    circuit = Circuit(indexed=indexed)
    assert circuit.commit({"copy": COPY}, {"E": ZSet.of([AB])}) == {"E": ZSet.of([AB]), "T": ZSet.of([AB])}
    assert circuit.commit(RULES, {"E": ZSet.of([BC])}) == {
        "E": ZSet.of([BC]),
        "T": ZSet.of([BC, AC]),
    }
    assert circuit.commit({"step": STEP}, {"E": ZSet.of([CD])}) == {
        "E": ZSet.of([CD]),
        "T": -ZSet.of([AB, BC, AC]),
    }


@pytest.mark.parametrize("indexed", [True, False])
def test_example_4_3_a_rule_meets_the_facts_that_came_before_it(indexed: bool) -> None:
    """Where the immediate consequence, taken for bilinear, would miss instances."""
    circuit = Circuit(indexed=indexed)
    circuit.commit({"copy": COPY}, {"E": ZSet.of([AB])})
    changes = circuit.commit(RULES, {"E": ZSet.of([BC])})
    assert changes["T"] == ZSet.of([BC, AC])


def test_example_4_5_introduction_and_elimination() -> None:
    changes = [ZSet.of([AB]), ZSet.of([BC])]
    introduced = []
    for change in changes:
        source = Delta0(GROUP, change)
        introduced.append([source.step(), source.step()])
    assert introduced == [[ZSet.of([AB]), ZSet()], [ZSet.of([BC]), ZSet()]]
    assert [eliminate(GROUP, inner) for inner in introduced] == changes
    assert eliminate(streams(GROUP, 2), introduced) == [ZSet.of([AB, BC]), ZSet()]


def test_gatekeep_sends_a_rewrite_on_along_every_direction() -> None:
    table = Prefixes()
    before, one, two = (table.of(body) for body in ((), (atom("P x"),), (atom("Q x"),)))
    directions = ZSet.of([Direction(before, one), Direction(before, two), Direction(one, two)])
    sent = Gatekeep().step(ZSet({Rewrite(before): 2}), directions)
    assert sent == ZSet({Rewrite(one): 2, Rewrite(two): 2})


def test_ground_applies_rewrites_to_the_heads_of_their_prefix() -> None:
    (only,) = clauses([COPY])
    whole = Prefixes().of(only.body)
    facts = Ground({}).step(ZSet.of([Rewrite(whole, AB)]), ZSet.of([Signal(whole, only.head, "copy")]))
    assert facts == ZSet.of([Fact("T", AB)])


def test_an_index_appears_and_disappears_with_the_join_order_that_asks_for_it() -> None:
    facts, order = ZSet.of([Fact("E", AB), Fact("E", BC)]), ZSet.of([Order("E", (0,))])
    index = Index()
    assert not index.step(ZSet(), facts)
    index.tick()
    built = index.step(order, ZSet())
    assert {entry.key for entry in built} == {("a",), ("b",)}
    index.tick()
    assert index.step(-order, ZSet()) == -built


def test_with_an_index_only_rows_under_the_key_are_unified(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = Rewrite(prefix("P x", "E x y"), ("a",))
    facts = ZSet.of([Fact("E", AB), Fact("E", BC), Fact("E", CD)])
    tried: list[Row] = []

    def counted(c: Rewrite, row: Row) -> Rewrite | None:
        tried.append(row)
        return unify(c, row)

    monkeypatch.setattr("tidelog.reference.circuit.operators.product.unify", counted)
    for lookup, wanted in ((Index(), [AB]), (Whole(), [AB, BC, CD])):
        tried.clear()
        entries = lookup.step(ZSet.of([Order("E", (0,))]), facts)
        product = Product(lookup, {})
        assert len(product.step(ZSet.of([candidate]), entries, ZSet())) == 1
        assert tried == wanted
