"""Recursive `min` and `max` under insertions, deletions and rule changes, against the reference."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import pytest

import tidelog
from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from session.routes import home
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.extrema import replacing, waiting
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.storage.best import BestRows
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.draft import Draft, load
from tidelog.reference.chibi import Chibi

PROGRAMS = {
    "shortest path": """
        D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
        D(x, z, d) :- D(x, y, a), E(y, z, w), var d = (a + w).group_by(x, z).min().
    """,
    "shortest path, both ways": """
        D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
        D(x, z, d) :- D(x, y, a), D(y, z, b), var d = (a + b).group_by(x, z).min().
    """,
    "two relations": """
        A(x, d) :- E(x, _, w), var d = w.group_by(x).min().
        A(y, d) :- B(x, a), E(x, y, w), var d = (a + w).group_by(y).min().
        B(y, d) :- A(x, a), E(x, y, w), not Blocked(x), var d = (a + w).group_by(y).min().
    """,
    "longest path, some lengths negative": """
        D(x, y, d) :- E(x, y, w), var d = (1 - w).group_by(x, y).max().
        D(x, z, d) :- D(x, y, a), E(y, z, w), y < z, var d = (a + 1 - w).group_by(x, z).max().
    """,
    "two atoms of one partition": """
        D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
        D(x, z, d) :- D(x, y, a), D(x, v, b), E(y, z, w), E(v, z, _), var d = (a + b).group_by(x, z).min().
    """,
    "widest path": """
        D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).max().
        D(x, z, d) :- D(x, y, a), E(y, z, w), var d = min(a, w).group_by(x, z).max().
    """,
    "smallest label": """
        D(x, x, l) :- E(x, _, _), var l = x.group_by(x).min().
        D(y, y, l) :- D(x, x, m), E(x, y, _), not Blocked(y), var l = m.group_by(y).min().
    """,
    "with a set beside it": """
        D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
        D(x, z, d) :- D(x, y, a), Near(y), E(y, z, w), var d = (a + w).group_by(x, z).min().
        Near(y) :- D(0, y, d), d <= 3.
        Near(x) :- Near(y), E(x, y, 0).
    """,
    "words": """
        D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).max().
        W(x, s) :- E(x, _, _), var t = "n${x}", var s = t.group_by(x).max().
        W(y, s) :- W(x, t), E(x, y, _), var s = t.group_by(y).max().
    """,
    # new values are computed before the next atom is joined
    "large numbers": """
        L(x, d) :- E(x, _, w), var v = w as bigint, var d = v.group_by(x).min().
        L(y, d) :- L(x, a), E(x, y, _), var d = (a + 7).group_by(y).min().
        M(x, d) :- E(x, _, w), var v = w as decimal(30, 2), var d = v.group_by(x).max().
        M(y, d) :- M(x, a), E(x, y, w), w > 0, var v = a / 3.0, var d = v.group_by(y).max().
    """,
}
DECLARED = """
input relation E(a: int, b: int, w: int)
input relation Blocked(a: int)
relation Near(a: int)
input relation D(a: int, b: int, d: int)
relation W(a: int, s: string)
input relation A(a: int, d: int)
relation B(a: int, d: int)
relation L(a: int, d: bigint)
relation M(a: int, d: decimal(30, 2))
"""


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_follow_every_change(name: str, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(size(6, 100)):
        monkeypatch.setattr(waiting, "_MANY", 2 if seed % 2 else 4096)  # in every other history, values wait
        _history(f"{name} {seed}", PROGRAMS[name], strategy)


def _history(seed: str, rules: str, strategy: str) -> None:
    choose = random.Random(seed)
    size, heaviest = choose.choice([3, 5, 7]), choose.choice([0, 1, 3])
    program = load(DECLARED + rules)
    optional = choose.choice(sorted(program.rules))
    reference, local = Chibi(), LocalReasoner(lambda engine: Scheduler(engine, STRATEGIES[strategy]))
    for step in range(8):
        draft = Draft(program)
        if choose.random() < 0.2 and optional in draft.finish().rules:
            draft.remove_rule(optional)
        elif choose.random() < 0.5:
            draft.load(rules)
        facts: dict[str, ZSet[Row]] = {
            "E": _edges(choose, size, heaviest, choose.choice([0, 1, 2, 6]) if step else 10),
            "Blocked": ZSet([((choose.randrange(size),), choose.choice([1, -1]))]),
            "D": _edges(choose, size, heaviest, choose.choice([0, 0, 1])),
        }
        program = draft.finish()
        assert local.commit(program, facts) == reference.commit(program, facts), (seed, step)
        assert dict(local.contents) == dict(reference.contents), (seed, step)
        check_state(local)


def _edges(choose: random.Random, size: int, heaviest: int, count: int) -> ZSet[Row]:
    rows: dict[Row, int] = {}
    for _ in range(count):
        edge = choose.randrange(size), choose.randrange(size), choose.randint(0, heaviest)
        rows[edge] = choose.choice([1, 1, -1])
    return ZSet(rows)


TWO = """
input relation E(a: int, b: int, w: int)
output relation A(x: int, d: int)
output relation B(x: int, d: int)
A(x, d) :- E(x, _, w), var d = w.group_by(x).min().
A(y, d) :- B(x, a), E(x, y, w), var d = (a + w).group_by(y).min().
B(y, d) :- A(x, a), E(x, y, w), var d = (a + w).group_by(y).min().
"""


def test_memory_that_runs_out_at_the_beginning_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [(i, (7 * i + 3) % 40, i % 9) for i in range(40)]
    db, fresh = tidelog.open(text=TWO, facts={"E": edges[:30]}), tidelog.open(text=TWO)
    calls = count()

    def exhausted(*arguments: Any, **more: Any) -> BestRows:
        if next(calls):
            raise MemoryError
        return BestRows(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(replacing, "BestRows", exhausted)
        with pytest.raises(EngineError, match="memory"), db.transaction() as tx:
            tx.insert("E", edges[30:])
    engine = home(db).engine
    assert not any(engine.tables[name].words[layout.BEST_AT] for name in "AB")
    with db.transaction() as tx:
        tx.delete("E", edges[:5])
    with fresh.transaction() as tx:
        tx.insert("E", edges[5:30])
    assert [set(db[name]) for name in "AB"] == [set(fresh[name]) for name in "AB"]
