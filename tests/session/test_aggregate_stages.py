"""Stages of aggregates: a session, the reference and a computation from scratch agree as facts change."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

import tidelog
from tidelog.program.text import print_rule
from tidelog.reference.chibi import consequences

_PROGRAM: Final = """
input relation Order(id: int, customer: string, region: string, amount: int)
input relation Target(region: string, least: int)
output relation Best(region: string, total: int, customers: int)
output relation Most(total: int)
output relation Typical(n: int, times: int)
output relation Three(m: int, k: int)
output relation Above(region: string, total: int, who: string)
output relation Chain(x: int, n: int)

Best(r, m, n) :-
    Order(_, c, r, a),
    var t = a.group_by(c, r).sum(),
    var m = t.group_by(r).max(),
    var n = (c ++ "${t}").group_by(r).count(),
    t > 0.
Most(m) :- var m = t.group_by().max(), var t = a.group_by(c).sum(), Order(_, c, _, a).
Typical(n, k) :- Order(i, c, _, _), var n = i.group_by(c).count(), var k = c.group_by(n).count().
Three(m, k) :-
    Order(i, c, r, a),
    var t = a.group_by(c, r).sum(),
    var m = t.group_by(r).max(),
    var k = r.group_by(m).count(),
    k < 5.
Above(r, m, w) :-
    Order(_, c, r, a),
    var t = a.group_by(c, r).sum(),
    not Target(r, t),
    var u = count { Target(r, _) },
    u < 3,
    (t >= 0; t < -3),
    var w = c.group_by(r).arg_max(t),
    var m = t.group_by(r).max().
Chain(x, d) :- Order(x, _, _, a), var d = a.group_by(x).min().
Chain(x, d) :-
    Order(i, c, _, _),
    var n = i.group_by(c).count(),
    Chain(n, b),
    var x = n + 1,
    x < 6,
    var d = (b + n).group_by(x).min().
"""


def _change(rng: random.Random) -> tuple[str, tuple[Any, ...]]:
    if rng.random() < 0.7:
        return "Order", (rng.randint(0, 5), rng.choice("ab"), rng.choice("xyz"), rng.randint(-3, 6))
    return "Target", (rng.choice("xyz"), rng.randint(-1, 5))


def _totals(orders: set[tuple[Any, ...]], *columns: int) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for row in orders:
        key = tuple(row[i] for i in columns)
        found[key] = found.get(key, 0) + row[3]
    return found


@pytest.mark.parametrize("strategy", ["recompute", "dred", "differential", "elastic"])
@pytest.mark.parametrize("seed", range(3))
def test_stages_follow_insertions_and_deletions(seed: int, strategy: str) -> None:
    rng = random.Random(seed)
    db = tidelog.open(text=_PROGRAM, strategy=strategy)
    program = tidelog.load(_PROGRAM)
    facts: dict[str, set[tuple[Any, ...]]] = {"Order": set(), "Target": set()}
    for _ in range(12):
        with db.transaction() as tx:
            for name, row in (_change(rng) for _ in range(rng.randint(1, 6))):
                if row in facts[name]:
                    facts[name].discard(row)
                    tx.delete(name, [row])
                else:
                    facts[name].add(row)
                    tx.insert(name, [row])
        expected = consequences(program, facts)
        for name in ("Best", "Most", "Typical", "Three", "Above", "Chain"):
            assert set(db[name]) == set(expected.get(name, ())), name
        totals = _totals(facts["Order"], 1)
        assert set(db["Most"]) == ({(max(totals.values()),)} if totals else set())


def test_a_rule_with_stages_can_be_removed_and_added_again() -> None:
    db = tidelog.open(text=_PROGRAM)
    rule = "Most(m) :- Order(_, who, _, a), var t = a.group_by(who).sum(), var m = t.group_by().max()."
    with db.transaction() as tx:
        tx.insert("Order", [(1, "a", "x", 2), (2, "a", "y", 3), (3, "b", "x", 4)])
    assert list(db["Most"]) == [(5,)]
    with db.transaction() as tx:
        tx.remove_rule(rule)
    assert list(db["Most"]) == []
    with db.transaction() as tx:
        tx.add_rule(rule)
    assert list(db["Most"]) == [(5,)]


def test_a_printed_rule_with_stages_is_the_same_rule() -> None:
    program = tidelog.load(_PROGRAM)
    declarations = _PROGRAM.partition("Best(r, m, n)")[0]
    staged = [
        rule for rule in program.rules.values() if rule.heads[0].relation in ("Most", "Typical", "Three")
    ]
    shown = tidelog.load(declarations + "\n".join(map(print_rule, staged)))
    assert set(shown.rules) == {rule.id for rule in staged}
