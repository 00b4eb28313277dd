"""Results of groups that are brought up to date equal those of whole groups, over random histories."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from conformance.reasoners import LocalReasoner
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.rules import groups, increments
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.draft import load
from tidelog.program.model import Program
from tidelog.reference.chibi import Chibi

STATES = """
    aggregate moments(x: int, w: u8): (int, int, bigint) {
        var n = 0;
        var (sum, squares) = (0, 0 as bigint);
        insert {
            var y = if (x < 0) -x else x;
            n = n + 1;
            if (w > 3) { sum = sum + x * w as int; } else { sum = sum - x; }
            squares = squares + y as bigint * y as bigint;
        }
        (n, sum, squares)
    }
    aggregate parity(x: int): u8 {
        var bits = 0 as u8;
        insert { bits = bits ^ (x & 255) as u8; }
        delete { bits = bits ^ (x & 255) as u8; }
        bits
    }
    aggregate counts(x: int): map<int, int> {
        var seen = to_map([(0, 0)]).remove(0);
        insert { seen = seen.insert(x, seen.get(x).unwrap_or(0) + 1); }
        delete {
            var left = seen.get(x).unwrap_or(0) - 1;
            seen = if (left == 0) seen.remove(x) else seen.insert(x, left);
        }
        seen
    }
    aggregate narrow(x: int): s8 {
        var s = 0 as s8;
        insert { s = s + x as s8; }
        delete { s = s - x as s8; }
        s
    }
    aggregate quotient(x: int): int {
        var q = 0;
        insert { q = q + 60 / (x - 7); }
        q
    }
    aggregate rounded(x: double): double {
        var s = 0.0;
        insert { s = s + x; }
        delete { s = s - x; }
        s
    }
"""
DECLARED = """
    input relation A(k: int, x: int, w: u8)
    input relation B(k: int, big: bigint)
    output relation O(k: int, a: int, b: (int, int, bigint))
    output relation P(k: int, a: u8, c: map<int, int>, n: int)
    output relation Q(k: int, n: int, s: bigint, t: u8)
    output relation N(k: int, s: s8, q: int)
    output relation D(k: int, s: double)
    output relation E(k: int, e: map<int, int>, s: int)
    output relation Whole(n: int, s: int)
"""
RULES = """
    O(k, a, m) :- A(k, x, w), var a = x.group_by(k).sum(), var m = x.group_by(k).moments(w).
    P(k, a, c, n) :-
        A(k, x, _),
        var a = x.group_by(k).parity(),
        var c = x.group_by(k).counts(),
        var n = (x > 2).group_by(k).count_if().
    Q(k, n, s, t) :-
        A(k, _, w),
        B(k, b),
        var n = k.group_by(k).count(),
        var s = b.group_by(k).sum(),
        var t = (w & 1).group_by(k).sum().
    N(k, s, q) :- A(k, x, _), var s = x.group_by(k).narrow(), var q = x.group_by(k).quotient().
    D(k, s) :- A(k, x, _), var s = (x as double / 10.0).group_by(k).rounded().
    E(k, e, s) :-
        A(k, x, _),
        var e = (x % 3).group_by(k).distinct().counts(),
        var s = (x % 3).group_by(k).distinct().sum().
    Whole(n, s) :- A(_, x, _), var n = x.group_by().count(), var s = x.group_by().sum().
"""


def _row(rng: Random, relation: str) -> Row:
    if relation == "B":
        return rng.randrange(3), rng.randrange(-4, 4) * 2**62
    return rng.randrange(3), rng.choice([rng.randrange(-6, 7), rng.randrange(-70, 70)]), rng.randrange(8)


def _changes(rng: Random, rows: dict[str, set[Row]]) -> dict[str, ZSet[Row]]:
    made: dict[str, dict[Row, int]] = {"A": {}, "B": {}}
    for _ in range(rng.choice([1, 1, 3, 10])):
        name = rng.choice("AAB")
        here = sorted(rows[name])
        if here and rng.random() < 0.45:
            row = rng.choice(here)
            rows[name].discard(row)
            made[name][row] = made[name].get(row, 0) - 1
        else:
            row = _row(rng, name)
            if row not in rows[name]:
                rows[name].add(row)
                made[name][row] = made[name].get(row, 0) + 1
    return {name: ZSet(change.items()) for name, change in made.items()}


def _program() -> Program:
    return load(STATES + DECLARED + RULES)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(size(2, 100)))
def test_updated_groups_equal_those_computed_from_scratch(
    seed: int, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "SHARE", 0)
    monkeypatch.setattr(groups, "FEW", 0)  # even small groups are updated
    rng, program = Random(seed), _program()
    reasoner = LocalReasoner(lambda engine: Scheduler(engine, STRATEGIES[strategy]))
    rows: dict[str, set[Row]] = {"A": set(), "B": set()}
    for _ in range(12):
        before = {name: set(own) for name, own in rows.items()}
        change = _changes(rng, rows)
        scratch = Chibi()
        try:
            scratch.commit(program, {name: ZSet((row, 1) for row in own) for name, own in rows.items()})
        except EngineError:
            with pytest.raises(EngineError):
                reasoner.commit(program, change)
            rows = before
            continue
        reasoner.commit(program, change)
        assert dict(reasoner.contents) == dict(scratch.contents)
        if rng.random() < 0.5:  # values get other codes between commits
            engine = reasoner.engine
            marks = engine._collector.in_use(engine.codec)
            engine.forget_values({item: np.flatnonzero(mark) for item, mark in marks.items()})


WRONG = """
    aggregate {name}(x: int): int {{
        var s = 1;
        insert {{ s = {insert}; }}
        delete {{ s = {delete}; }}
        s
    }}
    input relation A(k: int, x: int)
    output relation O(k: int, s: int)
    O(k, s) :- A(k, x), var s = x.group_by(k).{name}().
"""


@pytest.mark.parametrize(
    ("insert", "delete"),
    [("(s * 31 + x) % 1009", "(s - x) % 1009"), ("(s ^ x) +% 1", "(s ^ x) -% 1"), ("s ^ x", "s ^ x ^ 1")],
)
def test_an_aggregate_that_breaks_its_promise_fails_the_commit(insert: str, delete: str) -> None:
    program = load(WRONG.format(name="odd", insert=insert, delete=delete))
    reasoner = LocalReasoner()
    reasoner.commit(program, {"A": ZSet(((1, x), 1) for x in range(2, 200, 3))})
    with pytest.raises(EngineError, match="`odd` gives another result for a whole group"):
        reasoner.commit(program, {"A": ZSet([((1, 5), -1), ((1, 7), 1)])})


def test_updates_are_tried_for_some_instances_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(increments, "_MOST", 30)
    trials = increments.Trials()
    assert trials.chosen(["f"], np.array([10, 10, 20])).tolist() == [0, 1]
    assert trials.chosen(["f"], np.array([15])).tolist() == []
    assert trials.chosen([], np.array([1])).tolist() == []
