"""Inequalities in joins and range queries use rows in order; the results are those of looking at all."""

from __future__ import annotations

import random

import pytest

import tidelog
from engine.local.recount import check_table
from session.routes import home
from tidelog.maintain.strategy import STRATEGIES
from tidelog.session.session import Session

SPANS = """
input relation Event(key: int, at: int)
input relation Span(key: int, from: int, to: int)
output relation Inside(at: int, from: int)
output relation Later(a: int, b: int)
output relation During(key: int, at: int, from: int)
Inside(t, a) :- Span(_, a, b), Event(_, t), t >= a, t < b.
Later(x, y) :- Span(_, x, _), Event(_, y), x < y, y <= 3.
During(k, t, a) :- Span(k, a, b), Event(k, t), a < t, b >= t.
"""


def expected(
    events: set[tuple[int, int]], spans: set[tuple[int, int, int]]
) -> dict[str, set[tuple[int, ...]]]:
    return {
        "Inside": {(t, a) for _, a, b in spans for _, t in events if a <= t < b},
        "Later": {(x, y) for _, x, _ in spans for _, y in events if x < y <= 3},
        "During": {(k, t, a) for k, a, b in spans for j, t in events if j == k and a < t <= b},
    }


def orders_of(db: Session, relation: str) -> set[tuple[int, ...]]:
    return set(home(db).engine.tables[relation].orders)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(6))
def test_random_commits_give_what_looking_at_all_pairs_gives(seed: int, strategy: str) -> None:
    random_ = random.Random(seed)
    db = tidelog.open(text=SPANS, strategy=strategy)
    events: set[tuple[int, int]] = set()
    spans: set[tuple[int, int, int]] = set()
    for _ in range(6):
        with db.transaction() as tx:
            came = {
                (random_.randrange(2), random_.randrange(-400, 400)) for _ in range(random_.choice((1, 150)))
            }
            went = set(random_.sample(sorted(events), len(events) // random_.choice((2, 9))))
            tx.insert("Event", sorted(came))
            tx.delete("Event", sorted(went - came))
            events = (events | came) - (went - came)
            a, b = random_.randrange(-400, 400), random_.randrange(-400, 400)
            span = (random_.randrange(2), min(a, b), max(a, b))
            tx.insert("Span", [span])
            spans.add(span)
            if random_.random() < 0.4:
                gone = random_.choice(sorted(spans))
                tx.delete("Span", [gone])
                spans.discard(gone)
        for name, rows in expected(events, spans).items():
            assert set(db[name]) == rows
        for name in home(db).engine.tables:
            check_table(home(db).engine.tables[name])
    assert (1,) in orders_of(db, "Event")


def test_a_key_with_many_rows_is_looked_up_in_order() -> None:
    db = tidelog.open(text=SPANS)
    with db.transaction() as tx:
        tx.insert("Event", [(i % 3, i) for i in range(30_000)])
        tx.insert("Span", [(1, 50, 60), (2, 29_000, 29_010)])
    assert (0, 1) in orders_of(db, "Event")
    assert sorted(db["During"]) == [
        (k, t, a) for k, a, b in [(1, 50, 60), (2, 29_000, 29_010)] for t in range(a + 1, b + 1) if t % 3 == k
    ]


def test_a_key_with_few_rows_is_looked_up_by_hash() -> None:
    db = tidelog.open(text=SPANS)
    with db.transaction() as tx:
        tx.insert("Event", [(i, i) for i in range(10_000)])
        tx.insert("Span", [(7, 0, 100)])
    assert list(db["During"]) == [(7, 7, 0)]
    assert (0, 1) not in orders_of(db, "Event")


def test_ranges_of_large_relations_are_found_in_order() -> None:
    db = tidelog.open(text="input relation P(x: int, name: string, score: option<float>)")
    rows = [(i * 7 % 10_007, f"n{i:05}", None if i % 5 == 0 else i / 4) for i in range(10_007)]
    with db.transaction() as tx:
        tx.insert("P", rows)
    for _ in range(2):
        view = db["P"]
        assert set(view.between("x", 100, 110)) == {r for r in rows if 100 <= r[0] <= 110}
        assert set(view.between("x", low=10_000)) == {r for r in rows if r[0] >= 10_000}
        assert set(view.between("x", high=-1)) == {r for r in rows if r[0] <= -1}
        assert len(view.between("x")) == len(rows)
        assert set(view.between("name", "n00100", "n00103x")) == {
            r for r in rows if "n00100" <= r[1] <= "n00103"
        }
        assert set(view.between("score", high=2.0)) == {r for r in rows if r[2] is not None and r[2] <= 2}
        with db.transaction() as tx:
            tx.insert("P", [(-5, "n00101a", -1.0), (105, "z", None)])
            tx.delete("P", [rows[0], rows[15]])
        rows = [*rows[1:15], *rows[16:], (-5, "n00101a", -1.0), (105, "z", None)]
    assert (0,) in orders_of(db, "P")
