"""Recursive `sum` and `count` under insertions, deletions and rule changes, against the reference."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from conformance.reasoners import Changes, DenseReasoner, ImpatientScheduler, LocalReasoner
from engine.local.totals.recount import check_totals
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.limits import Limits
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.plan.flat import FlatProgram
from tidelog.plan.flatten import flatten
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program
from tidelog.reference.chibi import Chibi

DECLARATIONS = """
    input relation E(x: int, y: int, w: int)
    input relation S(x: int)
    input relation L(x: int, c: int)
    output relation T(x: int, y: int, n: int)
    output relation P(x: int, n: int)
    output relation A(x: int)
    output relation B(x: int, n: int)
    output relation G(n: int)
"""

PROGRAMS = {
    "quantities": """
        T(x, y, n) :- E(x, y, w), var n = w.group_by(x, y).sum().
        T(x, z, n) :- T(x, y, m), E(y, z, w), var n = (m * w).group_by(x, z).sum().
    """,
    "quantities, both ways": """
        T(x, y, n) :- E(x, y, w), var n = w.group_by(x, y).sum().
        T(x, z, n) :- T(x, y, a), T(y, z, b), var n = (a * b).group_by(x, z).sum().
    """,
    "paths, counted": """
        P(x, n) :- S(x), var n = x.group_by(x).count().
        P(y, n) :- P(x, _), E(x, y, _), not S(y), var n = x.group_by(y).count().
    """,
    "sums over two relations": """
        P(x, n) :- S(x), var one = 1, var n = one.group_by(x).sum().
        P(y, n) :- B(x, m), E(x, y, w), var n = (m + w).group_by(y).sum().
        B(x, n) :- P(x, m), L(x, c), var n = (m - c).group_by(x).sum().
        B(x, n) :- L(x, c), x > 1, var n = c.group_by(x).sum().
    """,
    "a condition on a total": """
        P(x, n) :- S(x), var n = x.group_by(x).sum().
        P(y, n) :- P(x, m), E(x, y, w), m > 1, m < 9, var n = w.group_by(y).sum().
    """,
    "a total in an ordinary relation": """
        P(x, n) :- E(x, _, w), var n = w.group_by(x).sum().
        P(y, n) :- B(x, m), E(x, y, w), var n = (m + w).group_by(y).sum().
        B(x, m) :- P(x, m), m > 2.
        A(x) :- B(x, _).
    """,
    "an ordinary relation with a group below": """
        P(x, n) :- S(x), var n = x.group_by(x).sum().
        P(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().
        A(x) :- E(x, _, w), var c = w.group_by(x).sum(), P(c, m), m != c.
    """,
    "a total looked up": """
        P(x, n) :- S(x), var n = x.group_by(x).sum().
        P(y, n) :- P(x, m), L(m, c), E(x, y, _), var n = c.group_by(y).sum().
        P(y, n) :- P(x, m), not S(m), E(x, y, 1), var n = x.group_by(y).sum().
    """,
    "a key that depends on a total": """
        P(x, n) :- S(x), var n = x.group_by(x).sum().
        B(k, n) :- P(x, m), E(x, y, w), var k = m % 3, var n = w.group_by(k).sum().
        P(y, n) :- B(3, m), E(4, y, w), var n = (m + w).group_by(y).sum().
    """,
    "control": """
        A(y) :- T(0, y, s), s > 3.
        T(0, y, s) :- E(0, y, w), var s = w.group_by(y).sum().
        T(0, y, s) :- A(x), E(x, y, w), var s = w.group_by(y).sum().
    """,
    "counted neighbours": """
        A(x) :- S(x).
        A(y) :- P(y, n), L(y, c), c <= n, P(y, _).
        P(y, n) :- A(x), E(x, y, _), var n = x.group_by(y).count().
    """,
    "a total of everything": """
        G(n) :- S(x), var n = x.group_by().sum().
        A(x) :- G(n), L(x, c), n > c.
        G(n) :- A(x), E(x, _, w), var n = w.group_by().sum().
    """,
    "several heads and alternatives": """
        T(x, y, n) :- (E(x, y, w), not L(x, _); E(x, y, w), S(x)), var n = w.group_by(x, y).sum().
        T(x, z, n), B(z, n) :- T(x, y, m), E(y, z, w), var n = (m * w).group_by(x, z).sum().
        A(x) :- B(x, n), not T(x, x, n).
    """,
    "failures": """
        P(x, n) :- S(x), var n = (6 / x).group_by(x).sum().
        P(y, n) :- P(x, m), E(x, y, w), var n = (12 / m + w).group_by(y).sum().
    """,
}

FURTHER = """
    T(x, x, n) :- S(x), var n = x.group_by(x).sum().
    P(x, n) :- L(x, c), var n = c.group_by(x).sum().
    P(x, n) :- L(x, c), var n = c.group_by(x).count().
    P(y, n) :- P(x, m), L(x, y), var n = m.group_by(y).sum().
    A(x) :- L(x, 0).
    A(y) :- A(x), L(x, y).
    G(7).
    P(3, 4).
    T(0, 1, 2).
    B(x, n) :- P(x, n).
"""


def _program(draft: Draft, text: str, add: bool) -> Program | None:
    try:
        (draft.add_rule if add else draft.remove_rule)(text)
        return draft.finish()
    except Exception:
        return None


class _History:
    """Random commits; most graphs lead upwards, so that few groups depend on themselves."""

    def __init__(self, seed: int, text: str) -> None:
        self.random = random.Random(seed)
        self.program = load(DECLARATIONS + text)
        self.rules = [line.strip() for line in (text + FURTHER).splitlines() if line.strip()]
        self.there: dict[str, set[Row]] = {name: set() for name in self.program.relations}
        self.weights = self.random.choice([[1, 2, 3], [0, 1], [0, 1, 5], [-1, 0, 2], [4], [2, 2**61]])
        self.upwards = self.random.random() < 0.8

    def _row(self, name: str) -> Row:
        x, y, w = self.random.randrange(5), self.random.randrange(5), self.random.choice(self.weights)
        if name == "E":
            return (min(x, y), max(x, y) + (x == y), w) if self.upwards else (x, y, w)
        rows: dict[str, Row] = {"S": (x,), "A": (x,), "G": (w,), "T": (x, y, w)}
        return rows.get(name, (x, w))

    def facts(self) -> dict[str, ZSet[Row]]:
        change: dict[str, dict[Row, int]] = {}
        for _ in range(self.random.choice([0, 1, 1, 2, 4])):
            name = self.random.choice(["E", "E", "E", "S", "L", "T", "P", "A", "B", "G"])
            if name in "TPABG" and self.random.random() < 0.6:
                name = "E"
            rows = sorted(self.there[name])
            if rows and self.random.random() < 0.45:
                change.setdefault(name, {})[self.random.choice(rows)] = -1
            else:
                change.setdefault(name, {})[self._row(name)] = 1
        return {name: ZSet(rows) for name, rows in change.items()}

    def changed(self) -> Program:
        """The program after a change of rules, if it is valid."""
        if self.random.random() > 0.2:
            return self.program
        text, draft = self.random.choice(self.rules), Draft(self.program)
        known = {r.id for r in self.program.rules.values()}
        added = _program(draft, text, add=True)
        if added is not None and {r.id for r in added.rules.values()} != known:
            return added
        return _program(Draft(self.program), text, add=False) or self.program

    def commit(self, program: Program, facts: dict[str, ZSet[Row]]) -> None:
        self.program = program
        for name, change in facts.items():
            for row, weight in change.items():
                (self.there[name].add if weight > 0 else self.there[name].discard)(row)


def _outcome(reasoner: Chibi | LocalReasoner, program: Program, facts: dict[str, ZSet[Row]]) -> object:
    try:
        return reasoner.commit(program, facts)
    except EngineError as error:
        return next((kind for kind in ("depends on itself", "negative") if kind in str(error)), "failed")


def _run(seed: int, name: str, engine: LocalReasoner) -> int:
    """Run a history; returns how many commits succeeded."""
    history, chibi, done = _History(seed, PROGRAMS[name]), Chibi(), 0
    for _ in range(12):
        program, facts = history.changed(), history.facts()
        wanted, found = _outcome(chibi, program, facts), _outcome(engine, program, facts)
        assert found == wanted, (seed, name)
        assert dict(engine.contents) == {n: r for n, r in chibi.contents.items() if n in engine.contents}
        if not isinstance(wanted, str):
            history.commit(program, facts)
            check_totals(engine)
            done += 1
    return done


class _ByDifference(LocalReasoner):
    """Plans programs by difference, as sessions do."""

    before: Program | None = None

    def flatten(self, program: Program) -> FlatProgram:
        made = flatten(program, self.before, self.flat if self.before is not None else None)
        fresh = flatten(program)
        assert (made.relations, made.rules, made.groupings) == (fresh.relations, fresh.rules, fresh.groupings)
        return made

    def commit(
        self, program: Program, facts: Mapping[str, ZSet[Row]], limits: Limits | None = None
    ) -> Changes:
        changes = super().commit(program, facts, limits)
        self.before = program
        return changes


def _engine(strategy: str) -> LocalReasoner:
    others: dict[str, Callable[[], LocalReasoner]] = {
        "elastic": _ByDifference,
        "switching": lambda: LocalReasoner(ImpatientScheduler),
        "dense": DenseReasoner,
    }
    if strategy in others:
        return others[strategy]()
    return LocalReasoner(lambda engine: Scheduler(engine, STRATEGIES[strategy]))


@pytest.mark.parametrize("strategy", [*STRATEGIES, "switching", "dense"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_commit_gives_what_evaluation_from_nothing_gives(name: str, strategy: str) -> None:
    assert sum(_run(seed, name, _engine(strategy)) for seed in range(size(20, 400)))
