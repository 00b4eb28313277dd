"""Joins in blocks: heads, ranks and counts do not depend on where a block begins, ends or is interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from tidelog.bench.database import Database
from tidelog.data.zset import ZSet
from tidelog.engine.local.rules import bytecode, fusion
from tidelog.engine.scheduler import Scheduler
from tidelog.program.draft import load

PROGRAM = """
input relation A(x: int, y: int, z: int)
input relation B(x: int, y: int)
output relation Constant(x: int, w: int)
output relation Repeated(x: int, w: int)
output relation Path(x: int, w: int)
output relation Chained(x: int, w: int)
Constant(x, w) :- A(x, y, 3), B(y, w).
Repeated(x, w) :- A(x, y, y), B(y, w), w > x.
Path(x, y) :- B(x, y).
Path(x, z) :- Path(x, y), B(y, z).
Chained(x, w) :- B(x, y), B(y, z), A(z, _, w).
"""


def expected(a: set[Any], b: set[Any]) -> dict[str, set[Any]]:
    """What the rules derive, by plain loops."""
    path = set(b)
    while more := {(x, z) for x, y in path for v, z in b if v == y} - path:
        path |= more
    return {
        "Constant": {(x, w) for x, y, z in a if z == 3 for v, w in b if v == y},
        "Repeated": {(x, w) for x, y, z in a if y == z for v, w in b if v == y and w > x},
        "Path": path,
        "Chained": {(x, w) for x, y in b for v, z in b if v == y for u, _, w in a if u == z},
    }


def rows_of(random: np.random.Generator, count: int, arity: int) -> set[Any]:
    return {tuple(map(int, row)) for row in random.integers(0, 8, (count, arity))}


@pytest.mark.parametrize("steps", [1, 2, 5, 40, 1_000_000])
def test_a_join_goes_on_where_it_was_interrupted(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "LARGE", -1)
    monkeypatch.setattr(bytecode, "STEPS", steps)
    random, program = np.random.default_rng(steps), load(PROGRAM, "joins.dl")
    made = LocalReasoner(lambda engine: Scheduler(engine, switch=None))
    made.engine.follow_scripts()  # no bits
    a: set[Any] = set()
    b: set[Any] = set()
    for _ in range(6):
        more = {"A": rows_of(random, 60, 3), "B": rows_of(random, 12, 2)}
        fewer = {"A": rows_of(random, 30, 3) & a, "B": rows_of(random, 6, 2) & b}
        changes = {n: ZSet.of(more[n] - (a, b)[n == "B"]) - ZSet.of(fewer[n] - more[n]) for n in "AB"}
        a, b = (a - fewer["A"]) | more["A"], (b - fewer["B"]) | more["B"]
        made.commit(program, changes)
        contents = made.contents
        assert {name: set(contents[name]) for name in expected(a, b)} == expected(a, b)
        check_state(made)


def test_an_index_with_many_keys_and_one_with_few_find_the_same() -> None:
    """One index is larger than what is cached; the other has far fewer keys than rows."""
    random, count = np.random.default_rng(7), 40_000
    b = np.unique(
        np.stack([random.integers(0, 30_000, count), random.integers(0, 90, count)], axis=1), axis=0
    )
    text = """
    input relation B(x: int, y: int)
    input relation C(x: int)
    output relation Wide(x: int, w: int)
    output relation Narrow(y: int, w: int)
    Wide(x, w) :- C(x), B(x, w).
    Narrow(y, w) :- C(y), B(w, y).
    """
    db, keys = Database(text), np.arange(0, 30_000, 7)
    db.commit({"B": pa.table({"x": b[:, 0], "y": b[:, 1]}), "C": pa.table({"x": keys})})
    asked = np.isin(b[:, 0], keys)
    assert db.size("Wide") == int(asked.sum())
    assert db.size("Narrow") == int(np.isin(b[:, 1], keys).sum())
    table = db._engine.tables["B"]
    few, many = table.index((1,)), table.index((0,))
    assert len(few.starts) < 1000 < 16_000 < len(many.starts)
