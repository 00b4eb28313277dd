"""The choice between update and bootstrap rests on what earlier commits took."""

from __future__ import annotations

from math import inf

import pyarrow as pa
import pytest

import tidelog
from tidelog.bench.database import Database
from tidelog.engine.cost import Sizes, StratumCost
from tidelog.engine.interpreter import Tolerance


def made(*, below: int = 0, asserted: int = 0, tuples: int = 0, depth: float = 1.0) -> StratumCost:
    cost = StratumCost()
    cost.made(1.0, below, asserted, tuples, depth)
    return cost


def test_a_bootstrap_takes_longer_the_more_there_is_to_start_from() -> None:
    cost = made(below=1000, tuples=5000)
    assert cost.predict_bootstrap(Sizes(1000, 5000, 1000, 0)) == 2.0
    assert cost.predict_bootstrap(Sizes(1000, 5000, 0, 500)) == 0.5
    assert cost.predict_bootstrap(Sizes(2000, 10_000, 0, 0)) == 2.0
    assert cost.predict_bootstrap(Sizes(1000, 11_000, 0, 0)) == 2.0


def test_fewer_tuples_keep_their_support_where_they_rest_on_many_facts() -> None:
    cost = made(below=1000, tuples=5000, depth=3)
    assert cost.predict(Sizes(1000, 5000, 0, 500)) == pytest.approx(2 * 0.875)
    assert cost.discourages(Sizes(1000, 5000, 0, 200)) is not None
    assert made(below=1000, tuples=5000).discourages(Sizes(1000, 5000, 0, 200)) is None


def test_tuples_depend_on_facts_as_they_did_before() -> None:
    cost = made(below=1000, tuples=8000)
    for _ in range(20):
        cost.follow(Sizes(1000, 8000, 0, 500), 1000)
        cost.follow(Sizes(500, 1000, 500, 0), 8000)
    assert cost.growth == pytest.approx(3)
    assert cost.predict_bootstrap(Sizes(1000, 8000, 0, 500)) == pytest.approx(1 / 8)
    assert cost.predict_bootstrap(Sizes(1000, 8000, 1000, 0)) == pytest.approx(8)
    assert cost.predict_bootstrap(Sizes(1000, 8000, 3000, 0)) == pytest.approx(4 * 8)  # and not 64
    assert cost.discourages(Sizes(1000, 8000, 1000, 0)) is not None
    cost.follow(Sizes(1000, 8000, 1, 0), 9000)  # an exception, or noise
    assert cost.growth == pytest.approx(3)


def test_asserted_facts_are_taken_to_be_as_large_a_part_of_the_tuples_as_they_were() -> None:
    cost = made(asserted=100, tuples=200)
    assert cost.predict_bootstrap(Sizes(0, 400, 100, 0)) == 3.0


def test_where_nothing_is_known_of_what_there_was_a_bootstrap_takes_what_it_took() -> None:
    cost = StratumCost(bootstrap=2.0)
    assert cost.predict_bootstrap(Sizes(10, 10, 5, 5)) == 2.0
    assert cost.predict(Sizes(10, 10, 5, 5)) is None
    assert cost.discourages(Sizes(1000, 1000, 5, 5)) is None


def test_before_there_was_an_update_a_new_fact_costs_what_a_fact_did() -> None:
    assert made(below=100).predict(Sizes(100, 0, 20, 0)) == pytest.approx(0.2)


def test_before_there_was_a_deletion_what_it_takes_with_it_is_derived_twice() -> None:
    assert made(below=100).predict(Sizes(100, 0, 0, 20)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("insertions", "deletions", "worth"), [(1000, 0, True), (5000, 0, False), (0, 250, True), (0, 500, False)]
)
def test_a_first_update_is_tried_unless_most_is_new_or_half_is_gone(
    insertions: int, deletions: int, worth: bool
) -> None:
    cost = made(below=1001)
    assert (cost.discourages(Sizes(1001, 0, insertions, deletions)) is None) == worth


def test_what_updates_took_counts_more_than_the_guess() -> None:
    cost = made(below=2000)
    cost.learn(0.9, Sizes(2000, 0, 100, 0))
    assert cost.discourages(Sizes(2000, 0, 100, 0)) is not None
    assert cost.discourages(Sizes(2000, 0, 0, 100)) is None
    assert cost.discourages(Sizes(2000, 0, 1, 0)) is None


def test_a_prediction_that_is_followed_is_trusted_less_in_the_end() -> None:
    cost = made(below=2000)
    cost.learn(1.2, Sizes(2000, 0, 100, 0))
    for _ in range(20):
        cost.doubt()
    assert cost.discourages(Sizes(2000, 0, 100, 0)) is None


def test_a_depth_by_which_updates_are_prevented_is_trusted_less_in_the_end() -> None:
    cost = made(below=2000, tuples=2000, depth=50)
    change = Sizes(2000, 2000, 0, 100)
    assert cost.discourages(change) is not None
    for _ in range(50):
        cost.doubt()
    assert cost.discourages(change) is None


@pytest.mark.parametrize("depth", [1.0, 5.0, 40.0])
def test_deletions_show_how_many_facts_a_tuple_rests_on(depth: float) -> None:
    cost = made(below=2000, tuples=9000)
    for _ in range(10):
        cost.measure(Sizes(2000, 9000, 0, 20), round(9000 * (1 - 0.99**depth)))
    assert cost.depth == pytest.approx(depth, abs=0.5)


def test_deletions_of_nothing_or_everything_show_nothing() -> None:
    cost = made(below=2000, tuples=9000, depth=7)
    for sizes, suspects in (
        (Sizes(2000, 9000, 0, 0), 0),
        (Sizes(2000, 9000, 0, 2000), 9000),
        (Sizes(2000, 9000, 0, 10), 9000),
    ):
        cost.measure(sizes, suspects)
    assert cost.depth == 7


def test_when_nothing_is_left_a_bootstrap_is_best() -> None:
    assert made(below=2000).discourages(Sizes(2000, 0, 0, 2000)) == "few facts remain"


def test_small_strata_are_always_updated() -> None:
    """Their times depend on what else the machine does."""
    cost = made(below=100, tuples=500, depth=20)
    cost.learn(5.0, Sizes(100, 500, 10, 10))
    assert cost.discourages(Sizes(100, 500, 10, 50)) is None


def test_a_deletion_is_given_up_if_too_little_keeps_its_support() -> None:
    tolerance = Tolerance(begun=10.0, tuples=1000, all_again=1.0, bootstrap=0.7)
    assert not tolerance.is_exceeded(now=10.0, left=700)
    assert tolerance.is_exceeded(now=10.0, left=600)
    assert not tolerance.is_exceeded(now=10.5, left=600)  # most of the work is done


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


def test_where_nearly_all_facts_are_new_or_gone_a_bootstrap_costs_hardly_more() -> None:
    cost = made(below=1000, tuples=5000)
    cost.learn(0.001, Sizes(1000, 5000, 600, 600))  # updates seem to cost nothing
    assert cost.discourages(Sizes(1000, 5000, 3000, 0)) is None
    assert cost.discourages(Sizes(1000, 5000, 4500, 0)) == "nearly all facts are new"
    assert cost.discourages(Sizes(1000, 5000, 0, 700)) is None
    assert cost.discourages(Sizes(1000, 5000, 0, 900)) == "few facts remain"


def test_a_short_update_is_not_compared_with_a_bootstrap_unless_it_changes_much() -> None:
    cost = StratumCost()
    cost.made(0.0005, 1000, 0, 5000, 1.0)
    for count in (50, 400):
        cost.learn(0.001, Sizes(1000, 5000, count, 0))
    assert cost.discourages(Sizes(1000, 5000, 50, 0)) is None
    assert cost.discourages(Sizes(1000, 5000, 400, 0)) is not None


def test_an_infinite_switch_always_updates() -> None:
    db = Database("input relation A(x: int)\noutput relation B(x: int)\nB(x) :- A(x).", switch=inf)
    facts = pa.table({"x": range(5000)})
    db.commit({"A": facts})
    assert db.commit(None, {"A": facts.slice(10)}).strategy == "update"
    assert db.commit({"A": facts.slice(10)}).strategy == "update"
