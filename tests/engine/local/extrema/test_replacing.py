"""Recursions whose rules are strict: values, ranks and counts are found in one pass, by partitions."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

import tidelog
from conformance.reasoners import ImpatientScheduler, LocalReasoner
from engine.local.recount import check_state, check_table
from session.routes import home
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.limits import Limits
from tidelog.engine.local.kernels import layout
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.program.draft import load

Edge = tuple[int, int, int]
_FAR = 10**9

PATHS = """
input relation E(a: int, b: int, w: int)
output relation D(a: int, b: int, d: int)
D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
D(x, z, d) :- D(x, y, a), E(y, z, w), var d = (a + w).group_by(x, z).min().
"""
# a partition is a value here, and the best one comes first
LABELS = """
input relation E(a: int, b: int, w: int)
output relation L(a: int, l: string)
L(x, l) :- E(x, _, _), var t = "n${x}", var l = t.group_by(x).max().
L(y, l) :- L(x, m), E(x, y, _), var l = m.group_by(y).max().
"""
# no column is copied to the head
BACK_AND_FORTH = """
input relation E(a: int, b: int, w: int)
output relation D(a: int, b: int, d: int)
D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
D(z, x, d) :- D(x, y, a), E(y, z, w), var d = (a + w).group_by(z, x).min().
"""
# an ordered index holds the values, so they do not change in place
ORDERED = """
input relation E(a: int, b: int, w: int)
relation Cap(a: int, c: int)
output relation D(a: int, b: int, d: int)
D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
D(x, z, d) :- D(x, y, a), Cap(y, c), D(y, z, b), b <= c, var d = (a + b).group_by(x, z).min().
Cap(y, 20) :- E(y, _, _).
"""


def _edges(choose: random.Random, nodes: int, count: int, is_negative: bool) -> set[Edge]:
    """Edges without negative cycles: with potentials, some weights are negative."""
    potential = [choose.randrange(40) if is_negative else 0 for _ in range(nodes)]
    made: set[Edge] = set()
    for _ in range(count):
        x, y = choose.randrange(nodes), choose.randrange(nodes)
        made.add((x, y, choose.randrange(10) + potential[x] - potential[y]))
    return made


def _toggling(edges: set[Edge], toggled: set[Edge]) -> ZSet[Row]:
    rows: dict[Row, int] = {edge: -1 if edge in edges else 1 for edge in toggled}
    return ZSet(rows)


def _distances(edges: Iterable[Edge], nodes: int) -> set[Edge]:
    """Floyd and Warshall's algorithm."""
    best = [[_FAR] * nodes for _ in range(nodes)]
    for x, y, w in edges:
        best[x][y] = min(best[x][y], w)
    for via in range(nodes):
        for row in best:
            for y, more in enumerate(best[via]):
                row[y] = min(row[y], row[via] + more)
    return {(x, y, d) for x, row in enumerate(best) for y, d in enumerate(row) if d < _FAR // 2}


@pytest.mark.parametrize("is_negative", [False, True])
def test_distances_follow_changes_of_many_edges(is_negative: bool) -> None:
    for seed in range(size(4, 40)):
        choose, nodes = random.Random(seed), 24
        pool = sorted(_edges(choose, nodes, 90, is_negative))
        local = LocalReasoner(ImpatientScheduler if seed % 2 else Scheduler)
        program, edges, before = load(PATHS), set[Edge](), set[Edge]()
        for share in (0.7, 0.2, 0.1, 0.3):
            toggled = set(choose.sample(pool, round(share * len(pool))))
            facts = _toggling(edges, toggled)
            edges ^= toggled
            changes, after = local.commit(program, {"E": facts}), _distances(edges, nodes)
            assert changes["D"] == ZSet.of(sorted(after)) - ZSet.of(sorted(before))
            check_state(local)
            before = after


@pytest.mark.parametrize("text", [PATHS, LABELS, BACK_AND_FORTH, ORDERED])
def test_updates_equal_a_bootstrap_and_a_rollback_leaves_everything_as_it_was(text: str) -> None:
    choose = random.Random(text)
    pool = sorted(_edges(choose, 60, 200, False))
    updated = LocalReasoner()
    program, edges = load(text), set[Edge]()
    for share in (0.8, 0.05, 0.1, 0.02):
        toggled = set(choose.sample(pool, round(share * len(pool))))
        facts = {"E": _toggling(edges, toggled)}
        state = {name: set(rows) for name, rows in updated.contents.items()}
        with pytest.raises(EngineError, match="rounds"):
            updated.commit(program, facts, Limits(max_iterations=1))
        for table in updated.engine.tables.values():
            check_table(table)
        assert {name: set(rows) for name, rows in updated.contents.items()} == state
        updated.commit(program, facts)
        edges ^= toggled
        fresh = LocalReasoner()
        fresh.commit(program, {"E": ZSet.of(sorted(edges))})
        assert dict(updated.contents) == dict(fresh.contents)
        for table in updated.engine.tables.values():
            check_table(table)


def test_values_that_an_index_holds_are_not_changed_in_place() -> None:
    nodes = 120
    edges = sorted(_edges(random.Random(1), nodes, 480, False))
    db = tidelog.open(text=ORDERED, facts={"E": edges[60:]})
    with db.transaction() as tx:
        tx.insert("E", edges[:60])
    table = home(db).engine.tables["D"]
    assert any(2 in columns for columns in table.orders)
    check_table(table)
    assert set(db["D"]) == _distances(edges, nodes)


def test_new_rows_have_no_superseded_ones_beside_them() -> None:
    db = tidelog.open(text=PATHS, facts={"E": sorted(_edges(random.Random(2), 60, 240, False))})
    table = home(db).engine.tables["D"]
    assert table.rows == table.live == len(set(db["D"]))


# -- limits


def test_only_the_best_values_count_against_the_row_limit() -> None:
    edges = sorted(_edges(random.Random(3), 40, 160, False))
    pairs = len(_distances(edges, 40))
    assert len(set(tidelog.open(text=PATHS, facts={"E": edges}, max_rows=pairs)["D"])) == pairs
    with pytest.raises(EngineError, match="rows"):
        tidelog.open(text=PATHS, facts={"E": edges}, max_rows=pairs - 1)


def test_a_cycle_of_negative_length_exceeds_the_iteration_limit() -> None:
    db = tidelog.open(text=PATHS, facts={"E": [(i, i + 1, 3) for i in range(20)]}, max_iterations=5000)
    before = set(db["D"])
    with pytest.raises(EngineError, match="iteration limit"), db.transaction() as tx:
        tx.insert("E", [(20, 0, -100)])
    assert set(db["D"]) == before
    engine = home(db).engine
    assert not engine.tables["D"].words[layout.BEST_AT]
    check_table(engine.tables["D"])


def test_long_paths_of_many_partitions_stay_within_the_iteration_limit() -> None:
    last = 150
    edges = [(i, i + 1, 1) for i in range(last)]
    db = tidelog.open(text=PATHS, facts={"E": edges}, max_iterations=last + 1)
    assert set(db["D"]) == {(x, y, y - x) for y in range(last + 1) for x in range(y)}
    with pytest.raises(EngineError, match="iteration limit"):
        tidelog.open(text=PATHS, facts={"E": edges}, max_iterations=last // 2)


def test_a_recursion_without_end_is_stopped_in_time() -> None:
    with pytest.raises(EngineError, match="time limit"):
        tidelog.open(text=PATHS, facts={"E": [(0, 1, 1), (1, 0, -2)]}, max_iterations=None, timeout=0.3)


def test_a_failure_counts_only_with_final_values() -> None:
    largest = 2**63 - 1
    edges = [(0, 1, largest - 1), (1, 2, 5), (0, 3, 1), (3, 1, 1)]  # 0 to 1 directly, then to 2, does not fit
    assert (0, 2, 7) in set(tidelog.open(text=PATHS, facts={"E": edges})["D"])
    with pytest.raises(EngineError, match="does not fit"):
        tidelog.open(text=PATHS, facts={"E": edges[:2]})
