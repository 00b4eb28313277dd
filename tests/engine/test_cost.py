"""The choice between update and bootstrap rests on what earlier commits took."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.engine.cost import Sizes, StratumCost


def made(*, below: int = 0, asserted: int = 0, tuples: int = 0) -> StratumCost:
    cost = StratumCost()
    cost.made(1.0, below, asserted, tuples)
    return cost


def test_a_bootstrap_takes_longer_the_more_there_is_to_start_from() -> None:
    cost = made(below=100, tuples=500)
    assert cost.predict_bootstrap(Sizes(100, 500, 100, 0)) == 2.0
    assert cost.predict_bootstrap(Sizes(100, 500, 0, 50)) == 0.5
    assert cost.predict_bootstrap(Sizes(300, 500, 0, 0)) == 3.0


def test_asserted_facts_are_taken_to_be_as_large_a_part_of_the_tuples_as_they_were() -> None:
    cost = made(asserted=100, tuples=200)
    assert cost.predict_bootstrap(Sizes(0, 400, 100, 0)) == 3.0


def test_where_nothing_is_known_of_what_there_was_a_bootstrap_takes_what_it_took() -> None:
    cost = StratumCost(bootstrap=2.0)
    assert cost.predict_bootstrap(Sizes(10, 10, 5, 5)) == 2.0
    assert cost.predict(Sizes(10, 10, 5, 5)) is None
    assert cost.discourages(Sizes(10, 10, 5, 5)) is None


def test_before_there_was_an_update_a_change_costs_what_a_fact_did() -> None:
    assert made(below=100).predict(Sizes(100, 0, 20, 30)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("insertions", "deletions", "worth"), [(100, 0, True), (500, 0, False), (0, 25, True), (0, 50, False)]
)
def test_a_first_update_is_tried_unless_most_is_new_or_half_is_gone(
    insertions: int, deletions: int, worth: bool
) -> None:
    cost = made(below=100)
    assert (cost.discourages(Sizes(100, 0, insertions, deletions)) is None) == worth


def test_what_updates_took_counts_more_than_the_guess() -> None:
    cost = made(below=1000)
    cost.learn(0.9, Sizes(1000, 0, 100, 0))
    assert cost.discourages(Sizes(1000, 0, 100, 0)) is not None
    assert cost.discourages(Sizes(1000, 0, 0, 100)) is None
    assert cost.discourages(Sizes(1000, 0, 1, 0)) is None


def test_a_prediction_that_is_followed_is_trusted_less_in_the_end() -> None:
    cost = made(below=1000)
    cost.learn(1.2, Sizes(1000, 0, 100, 0))
    for _ in range(20):
        cost.doubt()
    assert cost.discourages(Sizes(1000, 0, 100, 0)) is None


def test_when_nothing_is_left_a_bootstrap_is_best() -> None:
    assert made(below=100).discourages(Sizes(100, 0, 0, 100)) == "few facts remain"


def test_an_update_that_prepares_later_ones_is_not_taken_for_their_cost() -> None:
    """The first deletion plans how to re-derive. If its time counted, a second one of more facts would seem
    to cost more than a bootstrap."""
    text = """
    input relation Edge(src: int, dst: int)
    output relation Reach(src: int, dst: int)
    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Reach(x, y), Edge(y, z).
    """
    db = tidelog.open(text=text)
    with db.transaction() as tx:
        tx.insert("Edge", [(i, j) for i in range(0, 120, 3) for j in (i + 1, i + 2, i + 3)])
    cost = db._state.commits.scheduler.costs[frozenset({"Reach"})]  # type: ignore[attr-defined]
    assert cost.bootstrap > 0
    learned = []
    for i in range(0, 60, 3):
        with db.transaction() as tx:
            tx.delete("Edge", [(i, i + 1)])
        learned.append(bool(cost.deletions))
    assert not learned[0]
    assert learned[-1]
