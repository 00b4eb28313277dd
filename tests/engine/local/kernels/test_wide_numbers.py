"""Counts, ranks and row numbers: how far they go, and what is said where they end."""

from __future__ import annotations

import numpy as np
import pytest

import tidelog
from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.kernels.layout import INSTANCE, OTHERS
from tidelog.engine.local.storage import table as tables
from tidelog.engine.local.storage import trace as traces
from tidelog.engine.local.storage.table import Table
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.program.draft import load

PAIRS = """
input relation M(g: int, x: int)
output relation Q(g: int)
Q(g) :- M(g, x), M(g, y).
"""

CLOSURE = """
input relation Edge(x: int, y: int)
output relation Path(x: int, y: int)
Path(x, y) :- Edge(x, y).
Path(x, z) :- Path(x, y), Edge(y, z).
"""


def _updating() -> LocalReasoner:
    """A reasoner that never chooses to bootstrap instead."""
    return LocalReasoner(lambda engine: Scheduler(engine, switch=None))


def _facts(*rows: Row) -> ZSet[Row]:
    return ZSet.of(rows)


@pytest.mark.parametrize("count", [2**30 - 1, 2**31 - 1, 2**32 - 1, 2**40])
def test_a_count_may_pass_any_power_of_two(count: int) -> None:
    program = load(PAIRS, "pairs.dl")
    reasoner = _updating()
    reasoner.commit(program, {"M": _facts((1, 1))})
    table = reasoner.engine.tables["Q"]
    row = np.zeros(1, np.int64)
    table.set_support(row, 1, count * INSTANCE)  # as if so many pairs had been found
    reasoner.commit(program, {"M": _facts((1, 2))})
    assert table.counts(row) // INSTANCE == count + 3
    reasoner.commit(program, {"M": -_facts((1, 1))})
    assert table.counts(row) // INSTANCE == count
    assert set(reasoner.contents["Q"]) == {(1,)}


def test_a_group_of_many_pairs_outlives_one_of_its_rows() -> None:
    rows = size(2_000, 32_769)  # in the nightly size more than 2 ** 30 instances
    db = tidelog.open(text=PAIRS)
    with db.transaction() as tx:
        tx.insert("M", [(1, x) for x in range(rows)])
    with db.transaction() as tx:
        tx.delete("M", [(1, 0)])
    assert set(db["Q"]) == {(1,)}


@pytest.mark.parametrize("rank", [2**31 - 3, 2**32, 2**40])
def test_ranks_go_on_past_any_power_of_two(rank: int) -> None:
    program = load(CLOSURE, "closure.dl")
    reasoner = _updating()
    edges = [(i, i + 1) for i in range(20)]
    reasoner.commit(program, {"Edge": _facts(*edges, (20, 0))})
    table = reasoner.engine.tables["Path"]
    rows = np.arange(table.rows)
    table.set_support(rows, table.ranks(rows) + rank, table.counts(rows))  # as if after so many rounds
    table.highest += rank
    for change in ([(5, 6)], [(20, 0)], [(10, 11)]):
        reasoner.commit(program, {"Edge": -_facts(*change)})
        check_state(reasoner)
        reasoner.commit(program, {"Edge": _facts(*change)})
        check_state(reasoner)
    assert len(set(reasoner.contents["Path"])) == 21 * 21
    assert int(table.ranks(np.arange(table.rows)).max()) > rank


WIDE = [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**62, -(2**63) + 1]


@pytest.mark.parametrize("strategy", ["recompute", "dred", "differential", "elastic"])
@pytest.mark.parametrize("value", WIDE)
def test_rows_get_wider_when_a_value_needs_it(value: int, strategy: str) -> None:
    db = tidelog.open(text=CLOSURE, strategy=strategy)
    edges = [(i, i + 1) for i in range(5)]
    with db.transaction() as tx:
        tx.insert("Edge", edges)
    wide = [(5, value), (value, 7)]
    with db.transaction() as tx:
        tx.insert("Edge", wide)
        assert len(tx.preview()["Path"]) == 13
        tx.rollback()
    assert len(db["Path"]) == 15
    with db.transaction() as tx:
        tx.insert("Edge", wide)
    assert len(db["Path"]) == 28
    assert {(0, value), (value, 7)} <= set(db["Path"])
    with db.transaction() as tx:
        tx.delete("Edge", wide)
    assert sorted(db["Path"]) == [(i, j) for i in range(6) for j in range(i + 1, 6)]


def test_a_value_that_does_not_fit_is_missing_from_narrow_rows() -> None:
    table = Table(2)
    table.add(np.array([[1, 2], [-1, 3]]))
    assert not table.is_wide
    wanted = np.array([[1 + 2**32, 2], [1, 2], [2**63 - 1, 3], [-1, 3]])
    assert [row >= 0 for row in table.find(wanted)] == [False, True, False, True]
    assert table.add(wanted).tolist() == [2, 0, 3, 1]
    assert table.codes().tolist() == [[1, 2], [-1, 3], *wanted[[0, 2]].tolist()]


def test_the_mark_of_other_instances_does_not_touch_the_count() -> None:
    assert (7 * INSTANCE + OTHERS) // INSTANCE == 7
    assert (-1 * INSTANCE + OTHERS) // INSTANCE == -1


def test_a_relation_with_too_many_rows_is_an_error_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 200)
    db = tidelog.open(text=CLOSURE)
    with db.transaction() as tx:
        tx.insert("Edge", [(i, i + 1) for i in range(10)])
    before = set(db["Path"])
    with pytest.raises(EngineError, match="exceeds the limit of 200 rows"), db.transaction() as tx:
        tx.insert("Edge", [(i, i + 1) for i in range(10, 100)])
    assert set(db["Path"]) == before
    with db.transaction() as tx:
        tx.insert("Edge", [(10, 11)])
    assert len(db["Path"]) == 66


def test_a_table_can_be_filled_to_its_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 1000)
    table = Table(1)
    table.add(np.arange(1000).reshape(-1, 1))
    with pytest.raises(EngineError, match="a relation with 1,001 rows exceeds the limit"):
        table.grow()


def test_too_many_derivations_by_iteration_are_an_error_that_names_another_strategy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traces, "_MOST", 100)
    db = tidelog.open(text=CLOSURE, strategy="differential")
    with pytest.raises(EngineError, match="use `elastic`"), db.transaction() as tx:
        tx.insert("Edge", [(i, i + 1) for i in range(30)])
    assert not list(db["Path"])
