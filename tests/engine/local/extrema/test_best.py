"""Recursive `min` and `max` under insertions, deletions and rule changes, against the reference."""

from __future__ import annotations

import random

import pytest

from conformance.reasoners import LocalReasoner
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.extrema import best
from tidelog.engine.scheduler import Scheduler
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
}
DECLARED = """
input relation E(a: int, b: int, w: int)
input relation Blocked(a: int)
relation Near(a: int)
input relation D(a: int, b: int, d: int)
relation W(a: int, s: string)
"""


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_follow_every_change(name: str, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(size(6, 100)):
        monkeypatch.setattr(best, "_MANY", 2 if seed % 2 else 4096)  # in every other history, values wait
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


def _edges(choose: random.Random, size: int, heaviest: int, count: int) -> ZSet[Row]:
    rows: dict[Row, int] = {}
    for _ in range(count):
        edge = choose.randrange(size), choose.randrange(size), choose.randint(0, heaviest)
        rows[edge] = choose.choice([1, 1, -1])
    return ZSet(rows)
