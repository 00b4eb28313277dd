"""A relation that the engine keeps as a matrix reads like any other."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import pytest

import tidelog
from session.routes import home
from tidelog import EngineError, Session
from tidelog.engine.local.codes import garbage
from tidelog.engine.local.dense import matrix
from tidelog.engine.local.native import calls
from tidelog.engine.local.rules import bytecode
from tidelog.engine.local.rules.sharing import run_shared
from tidelog.engine.local.storage.record import read_record, write_record

SIZE = 600
PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


@pytest.fixture(scope="module")
def db() -> Session:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Edge", [(i, (i + 1) % SIZE) for i in range(SIZE)])
    return db


def test_all_ways_of_reading_agree(db: Session) -> None:
    assert "Reach" in home(db).engine.dense.bits
    view = db["Reach"]
    assert len(view) == SIZE * SIZE
    assert (3, 2) in view
    assert (3, SIZE) not in view
    assert set(view.where(src=5)) == {(5, i) for i in range(SIZE)}
    assert set(view.where(dst=5)) == {(i, 5) for i in range(SIZE)}
    assert list(view.where(src=5, dst=7)) == [(5, 7)]
    assert list(view.where(src=-1)) == []
    assert len(view.between("src", 10, 11)) == 2 * SIZE
    assert set(view) == {(i, j) for i in range(SIZE) for j in range(SIZE)}
    assert (len(view.given), len(view.derived)) == (0, SIZE * SIZE)
    assert len(view.where()) == SIZE * SIZE
    assert "and 359,990 more" in repr(view)


def test_a_question_leaves_the_matrix_as_it_was(db: Session) -> None:
    assert len(db.query("Edge(0, x)")) == 1
    assert len(db.query("Reach(0, x), x < 10")) == 10
    assert "Reach" in home(db).engine.dense.bits
    assert len(db["Reach"]) == SIZE * SIZE


def test_views_stay_as_they_were_when_the_matrix_changes(db: Session) -> None:
    before = db["Reach"]
    with db.transaction() as tx:
        tx.insert("Edge", [(0, SIZE)])
        tx.insert("Reach", [(7, 7), (SIZE, 0)])
    assert len(tx.changes["Reach"]) == 2 * SIZE + 1
    after = db["Reach"]
    assert (len(before), len(after)) == (SIZE * SIZE, (SIZE + 1) ** 2)
    assert (0, SIZE) not in before
    assert (0, SIZE) in after
    assert (len(before.given), sorted(after.given)) == (0, [(7, 7), (SIZE, 0)])
    with db.transaction() as tx:
        tx.clear("Reach")
        tx.clear("Edge")
        tx.insert("Edge", [(1, 2)])
    assert list(db["Reach"]) == [(1, 2)]
    assert len(tx.changes["Reach"].deleted) == (SIZE + 1) ** 2 - 1
    assert sorted(after.given) == [(7, 7), (SIZE, 0)]
    assert len(after.derived) == (SIZE + 1) ** 2 - 2
    assert len(set(before)) == SIZE * SIZE


def test_rounds_that_a_matrix_makes_needless_are_not_counted() -> None:
    db = tidelog.open(text=PROGRAM, max_iterations=50)
    with db.transaction() as tx:
        tx.insert("Edge", [(i, i + 1) for i in range(1000)])
    assert len(db["Reach"]) == 500_500
    assert "Reach" in home(db).engine.dense.bits


def test_a_strategy_that_follows_scripts_makes_no_matrix_of_what_was_saved() -> None:
    db = tidelog.open(text=PROGRAM, strategy="dred")
    record = home(db).saved().record()
    other = tidelog.open(text="", strategy="dred")
    assert home(other).resume(db.program, record)
    with other.transaction() as tx:
        tx.insert("Edge", [(i, (i + 1) % 60) for i in range(60)])
    assert len(other["Reach"]) == 3600
    assert not home(other).engine.dense.bits


# -- rules that read a matrix

READERS = """
output relation Cyclic(x: int)
output relation Into(x: int)
output relation Lost(x: int, y: int)
output relation Fan(x: int, n: int)
Cyclic(x) :- Reach(x, x).
Into(x) :- Reach(x, 7).
Lost(x, y) :- Edge(x, _), Edge(_, y), not Reach(x, y).
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
"""
NODES = 40


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "_ENOUGH_ROWS", 100)


def _expected(edges: set[tuple[int, int]]) -> dict[str, set[tuple[int, ...]]]:
    """What the relations hold, by sets alone."""
    reach: set[tuple[int, ...]] = set(edges)
    while more := {(x, z) for x, y in reach for y2, z in edges if y == y2} - reach:
        reach |= more
    lost: set[tuple[int, ...]] = {(x, y) for x, _ in edges for _, y in edges}
    return {
        "Reach": reach,
        "Cyclic": {(x,) for x, y in reach if x == y},
        "Into": {(x,) for x, y in reach if y == 7},
        "Lost": lost - reach,
        "Fan": {(x, sum(x == other for other, _ in reach)) for x, _ in reach},
    }


def _shown(db: Session) -> dict[str, set[tuple[int, ...]]]:
    return {name: set(db[name]) for name in ("Reach", "Cyclic", "Into", "Lost", "Fan")}


def _rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs matrices give away from now on, whenever they do."""
    listed: list[int] = []
    pairs = calls.pairs

    def counted(*args: Any) -> Any:
        found = pairs(*args)
        listed.append(len(found))
        return found

    monkeypatch.setattr(calls, "pairs", counted)
    return listed


@pytest.mark.usefixtures("small")
def test_readers_follow_a_matrix_without_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.open(text=PROGRAM + READERS)
    listed = _rows(monkeypatch)
    edges = {(i, (i + 1) % NODES) for i in range(NODES)}
    with db.transaction() as tx:
        tx.insert("Edge", sorted(edges))
    for change in ({(3, 4)}, {(3, 4)}, {(0, NODES), (NODES, 7)}, {(20, 21), (5, 6)}, {(5, 6)}):
        inserted, deleted = change - edges, change & edges
        with db.transaction() as tx:
            tx.insert("Edge", sorted(inserted))
            tx.delete("Edge", sorted(deleted))
        edges = (edges | inserted) - deleted
        assert "Reach" in home(db).engine.dense.bits
        assert not listed
        assert set(db.query("Reach(x, x)")) == set(db["Cyclic"])
        assert not listed
        assert _shown(db) == _expected(edges)
        listed.clear()


@pytest.mark.usefixtures("small")
def test_readers_may_come_and_go() -> None:
    db = tidelog.open(text=PROGRAM)
    edges = {(i, (i + 1) % NODES) for i in range(NODES)}
    with db.transaction() as tx:
        tx.insert("Edge", sorted(edges))
    for _ in range(2):
        with db.transaction() as tx:
            rules = tx.load(READERS)
            tx.delete("Edge", [(3, 4)])
        assert _shown(db) == _expected(edges - {(3, 4)})
        assert "Reach" in home(db).engine.dense.bits
        with db.transaction() as tx:
            for rule in rules:
                tx.remove_rule(rule)
            for name in ("Cyclic", "Into", "Lost", "Fan"):
                tx.drop(name)
            tx.insert("Edge", [(3, 4)])
        assert set(tx.changes["Cyclic"].deleted) == set()
        assert set(db["Reach"]) == _expected(edges)["Reach"]
        assert "Reach" in home(db).engine.dense.bits


@pytest.mark.usefixtures("small")
def test_a_preview_or_a_failure_leaves_readers_and_matrix_as_they_were() -> None:
    db = tidelog.open(text=PROGRAM + READERS + "output relation Bad(x: int)\n")
    edges = {(i, (i + 1) % NODES) for i in range(NODES)}
    with db.transaction() as tx:
        tx.insert("Edge", sorted(edges))
    with db.transaction() as tx:
        tx.delete("Edge", [(3, 4)])
        told = tx.preview()
        tx.rollback()
    assert set(told["Cyclic"].deleted) == _expected(edges)["Cyclic"]
    tx = db.transaction()
    tx.delete("Edge", [(3, 4)])
    tx.add_rule("Bad(1 / (x - x)) :- Into(x), not Cyclic(x).")
    with pytest.raises(EngineError, match="zero"):
        tx.commit()
    assert _shown(db) == _expected(edges)
    with db.transaction() as tx:
        tx.delete("Edge", [(3, 4)])
    assert _shown(db) == _expected(edges - {(3, 4)})


@pytest.mark.usefixtures("small")
def test_readers_go_on_from_a_saved_state() -> None:
    db = tidelog.open(text=PROGRAM + READERS)
    edges = {(i, (i + 1) % NODES) for i in range(NODES)}
    with db.transaction() as tx:
        tx.insert("Edge", sorted(edges))
    other = tidelog.open(text="")
    written = io.BytesIO()
    write_record(written, home(db).saved().record())
    assert home(other).resume(db.program, read_record(written.getvalue()))
    for step in ({(3, 4)}, {(9, 10)}):
        with other.transaction() as tx:
            tx.delete("Edge", sorted(step))
        edges -= step
        assert "Reach" in home(other).engine.dense.bits
        assert _shown(other) == _expected(edges)


@pytest.mark.usefixtures("small")
def test_a_matrix_that_becomes_sparse_or_part_of_a_larger_recursion_is_rows_again() -> None:
    db = tidelog.open(text=PROGRAM + READERS)
    edges = {(i, (i + 1) % NODES) for i in range(NODES)}
    with db.transaction() as tx:
        tx.insert("Edge", sorted(edges))
    with db.transaction() as tx:
        rule = tx.add_rule("Reach(x, x) :- Cyclic(x).")
    assert not home(db).engine.dense.bits
    assert _shown(db) == _expected(edges)
    with db.transaction() as tx:
        tx.remove_rule(rule)
    assert _shown(db) == _expected(edges)
    kept = {(i, i + 1) for i in range(0, NODES, 4)}
    with db.transaction() as tx:
        tx.clear("Edge")
        tx.insert("Edge", sorted(kept))
    for _ in range(2):  # the commit after the one in which it becomes small
        assert _shown(db) == _expected(kept)
        with db.transaction() as tx:
            tx.insert("Edge", [(1, 7)])
        kept |= {(1, 7)}
    assert not home(db).engine.dense.bits
    assert _shown(db) == _expected(kept)


WORDS = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
output relation Cyclic(x: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Edge(x, y), Reach(y, z).
Cyclic(x) :- Edge(x, _), Reach(x, x), not Reach(x, "out").
"""


@pytest.mark.usefixtures("small")
def test_readers_follow_when_values_get_new_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "SMALLEST", 50)
    db = tidelog.open(text=WORDS)
    for turn in range(4):  # each turn has values of its own, and those of the turn before are forgotten
        nodes = [f"{turn}-{i}" for i in range(30)]
        with db.transaction() as tx:
            tx.clear("Edge")
            tx.insert("Edge", list(pairwise([*nodes, nodes[0]])))
        assert "Reach" in home(db).engine.dense.bits
        assert set(db["Cyclic"]) == {(n,) for n in nodes}
        for way in ("insert", "delete"):
            with db.transaction() as tx:
                getattr(tx, way)("Edge", [(nodes[3], "out")])
            assert len(db["Cyclic"]) == (0 if way == "insert" else 30)
            assert len(db.query('Reach(x, "out")')) == (30 if way == "insert" else 0)


def test_threads_read_a_matrix_as_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads share the rows of a first atom, and each reads bits for its own."""
    monkeypatch.setattr(matrix.BitRelation, "worth_transposing", -1)
    shared: list[bool] = []

    def counted(*args: Any) -> bool:
        shared.append(True)
        return run_shared(*args)

    monkeypatch.setattr(bytecode, "run_shared", counted)
    program = PROGRAM + "input relation Node(x: int)\noutput relation Near(x: int, y: int)\n"
    program += "Near(x, z) :- Node(x), Reach(x, y), Reach(z, y), not Reach(z, x), z < x + 40.\n"
    found = []
    for threads in (1, 2):
        db = tidelog.open(text=program, max_threads=threads)
        with db.transaction() as tx:
            tx.insert("Edge", [(i, i + 1) for i in range(SIZE)] + [(i, i + 7) for i in range(0, SIZE, 3)])
            tx.insert("Node", [(i,) for i in range(0, SIZE, 10)])
        assert "Reach" in home(db).engine.dense.bits
        found.append(sorted(db["Near"]))
    assert found[0] == found[1]
    assert found[0]
    assert shared


def test_a_reader_that_takes_too_long_is_stopped() -> None:
    db = tidelog.open(text=PROGRAM, timeout=2)
    with db.transaction() as tx:
        tx.insert("Edge", [(i, (i + 1) % SIZE) for i in range(SIZE)])
    tx = db.transaction()
    tx.load("output relation Far(n: int)\nFar(1) :- Reach(x, y), Reach(y, z), Reach(z, w), x != w.")
    with pytest.raises(EngineError, match="time limit"):
        tx.commit()
    assert len(db["Reach"]) == SIZE * SIZE
