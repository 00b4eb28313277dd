"""Tests in blocks: heads, ranks and counts do not depend on where a block begins, ends or is interrupted."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from tidelog.data.zset import ZSet
from tidelog.engine.local import engine
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.rules import bytecode, first_rounds, fusion
from tidelog.engine.local.rules.compiler import Level
from tidelog.engine.local.storage.pending import Working
from tidelog.engine.local.storage.table import Rows
from tidelog.engine.scheduler import Scheduler
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.draft import load

PROGRAM = """
input relation A(x: int, y: int, z: int)
input relation B(x: int, y: int)
input relation N(x: option<int>, y: int)
input relation M(x: int, y: option<int>)
output relation Mutual(x: int, y: int)
output relation Constant(x: int, y: int)
output relation Fixed(x: int, y: int)
output relation Repeated(x: int, y: int)
output relation Bounded(x: int, y: int, z: int)
output relation Sum(x: int, s: int)
output relation Kept(x: int, y: int)
output relation Missing(x: int)
output relation Path(x: int, y: int)
Mutual(x, y) :- B(x, y), B(y, x).
Constant(x, y) :- A(x, y, 3), B(y, 5).
Fixed(x, y) :- B(x, y), B(2, 3).
Repeated(x, y) :- A(x, y, y), B(y, x).
Bounded(x, y, z) :- A(x, y, z), x < z, not B(z, x), B(x, y), y != 4.
Sum(x, y + z) :- A(x, y, z), B(x, z).
Kept(x, y) :- M(x, n), N(n, y), B(x, y).
Missing(x) :- M(x, n), N(n, x).
Path(x, y) :- B(x, y).
Path(x, z) :- Path(x, y), Path(y, z), A(x, y, z).
"""


def expected(a: set[Any], b: set[Any], n: set[Any], m: set[Any]) -> dict[str, set[Any]]:
    """What the rules derive, by plain loops."""
    path = set(b)
    while more := {(x, z) for x, y, z in a if (x, y) in path and (y, z) in path} - path:
        path |= more
    return {
        "Mutual": {(x, y) for x, y in b if (y, x) in b},
        "Constant": {(x, y) for x, y, z in a if z == 3 and (y, 5) in b},
        "Fixed": b if (2, 3) in b else set(),
        "Repeated": {(x, y) for x, y, z in a if y == z and (y, x) in b},
        "Bounded": {(x, y, z) for x, y, z in a if x < z and (z, x) not in b and (x, y) in b and y != 4},
        "Sum": {(x, y + z) for x, y, z in a if (x, z) in b},
        "Kept": {(x, y) for (x, v), (w, y) in product(m, n) if v == w and v is not None and (x, y) in b},
        "Missing": {(x,) for x, v in m if v is not None and (v, x) in n},
        "Path": path,
    }


def rows_of(random: np.random.Generator, count: int, arity: int, optional: int = -1) -> set[Any]:
    """Random rows; where a column is optional, some of its values are missing."""
    drawn = random.integers(0, 8, (count, arity)).tolist()
    return {tuple(None if i == optional and v == 7 else v for i, v in enumerate(row)) for row in drawn}


def changed(random: np.random.Generator, now: dict[str, set[Any]]) -> dict[str, set[Any]]:
    """The facts after some are added and some removed."""
    shapes = {"A": (40, 3, -1), "B": (9, 2, -1), "N": (7, 2, 0), "M": (7, 2, 1)}
    after = {}
    for name, (count, arity, optional) in shapes.items():
        fewer = rows_of(random, count // 2, arity, optional)
        after[name] = (now[name] - fewer) | rows_of(random, count, arity, optional)
    return after


@pytest.mark.parametrize(
    ("steps", "strategy"), [(1, "elastic"), (5, "dred"), (40, "differential"), (1_000_000, "elastic")]
)
def test_tests_go_on_where_they_were_interrupted(
    steps: int, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion, "LARGE", -1)
    monkeypatch.setattr(bytecode, "STEPS", steps)
    monkeypatch.setattr(first_rounds, "_MANY", 0)
    random, program = np.random.default_rng(steps), load(PROGRAM, "probes.dl")
    made = LocalReasoner(lambda engine: Scheduler(engine, STRATEGIES[strategy], switch=None))
    made.engine.follow_scripts()  # no bits
    now: dict[str, set[Any]] = {name: set() for name in "ABNM"}
    for _ in range(4):
        after = changed(random, now)
        made.commit(program, {n: ZSet.of(after[n] - now[n]) - ZSet.of(now[n] - after[n]) for n in now})
        now = after
        wanted, contents = expected(now["A"], now["B"], now["N"], now["M"]), made.contents
        assert {name: set(contents.get(name, ())) for name in wanted} == wanted
        check_state(made)


TRIPLES = """
input relation T(s: int, p: int, o: int)
T(x, 1, z) :- T(x, 1, y), T(y, 1, z).
T(x, 0, z) :- T(x, 0, y), T(y, 1, z).
T(x, q, y) :- T(p, 2, q), T(x, p, y).
T(x, 0, z) :- T(p, 3, z), T(x, p, _).
"""


def closed(facts: set[Any]) -> set[Any]:
    """The triples that follow, by plain loops."""
    known = set(facts)
    while True:
        pairs = {p: {(s, o) for s, q, o in known if q == p} for p in range(4)}
        more = {(x, 1, z) for x, y in pairs[1] for v, z in pairs[1] if v == y}
        more |= {(x, 0, z) for x, y in pairs[0] for v, z in pairs[1] if v == y}
        more |= {(x, b, y) for a, b in pairs[2] for x, p, y in known if p == a}
        more |= {(x, 0, z) for a, z in pairs[3] for x, p, _ in known if p == a}
        if more <= known:
            return known
        known |= more


@pytest.mark.parametrize("threads", [1, 3])
def test_a_first_round_begins_with_the_rows_that_have_the_constants(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows, ranks and counts as if it looked at all rows."""
    monkeypatch.setattr(fusion, "LARGE", -1)
    monkeypatch.setattr(first_rounds, "_MANY", 0)
    begun: list[tuple[int, int]] = []

    def counted(level: Level, working: Working, slots: Codes, delta: Rows) -> Rows:
        rows = first_rounds.with_constants(level, working, slots, delta)
        begun.append((len(rows), len(delta)))
        return rows

    monkeypatch.setattr(engine, "with_constants", counted)
    program, random = load(TRIPLES, "triples.dl"), np.random.default_rng(3)
    made = LocalReasoner(lambda engine: Scheduler(engine, switch=None))
    made.engine.runner.threads = threads
    facts: set[Any] = set()
    for count in (90, 20, 50):
        added: set[Any] = {tuple(map(int, row)) for row in random.integers(0, [12, 6, 12], (count, 3))}
        gone = set(sorted(facts)[::3])
        made.commit(program, {"T": ZSet.of(added - facts) - ZSet.of(gone - added)})
        facts = (facts - gone) | added
        assert set(made.contents["T"]) == closed(facts)
        check_state(made)
    assert any(rows < delta for rows, delta in begun)
