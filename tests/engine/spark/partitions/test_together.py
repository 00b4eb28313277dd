"""Partitions that exchange tuples come to what one engine comes to: contents, changes, ranks and counts.

The partitions are engines in this process (see `together`); `test_exchange` has some of the same on Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import pytest

from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from engine.spark.partitions.together import Changes, Rows, Together
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.limits import Limits
from tidelog.engine.spark.partitions.routes import WIDE, Routes, find_routes
from tidelog.engine.spark.partitions.worker import Worker
from tidelog.plan.flat import FlatProgram, Stratum
from tidelog.plan.flatten import flatten
from tidelog.plan.seeds import with_seeds
from tidelog.plan.strictness import is_strict
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program

DECLARED = """
input relation E(a: int, b: int, w: int)
input relation Blocked(a: int)
input relation Begin(a: int)
input relation D(a: int, d: int)
relation F(a: int, d: int)
relation P(a: int, b: int, d: int)
relation R(a: int, b: int)
relation Near(a: int)
"""
STRICT = {
    "labels": """
        D(x, d) :- E(x, _, _), var d = x.group_by(x).min().
        D(y, d) :- D(x, a), E(x, y, _), var d = a.group_by(y).min().
    """,
    "labels, some nodes blocked": """
        D(x, d) :- E(x, _, _), var d = x.group_by(x).max().
        D(y, d) :- D(x, a), E(x, y, _), not Blocked(y), var d = a.group_by(y).max().
    """,
    "distances": """
        D(x, d) :- Begin(x), var d = 0.group_by(x).min().
        D(y, d) :- D(x, a), E(x, y, w), var d = (a + w).group_by(y).min().
    """,
    "a relation under not and beside it": """
        D(x, d) :- E(x, _, w), Begin(x), var d = w.group_by(x).min().
        F(y, d) :- D(x, a), E(x, y, w), not Blocked(x), Blocked(y), var d = (a + w).group_by(y).min().
        D(y, d) :- F(x, a), E(x, y, w), not Begin(y), var d = (a + w).group_by(y).min().
    """,
    "all pairs, both ways": """
        P(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
        P(x, z, d) :- P(x, y, a), P(y, z, b), var d = (a + b).group_by(x, z).min().
    """,
}
OTHERS = {
    "bottlenecks": """
        D(x, d) :- Begin(x), var d = x.group_by(x).min().
        D(y, d) :- D(x, a), E(x, y, w), var d = max(a, w).group_by(y).min().
    """,
    "superseded values": """
        D(x, d) :- Begin(x), var d = (x + 2).group_by(x).min().
        D(y, d) :- D(x, a), E(x, y, w), var d = max(min(a, 2), w).group_by(y).min().
    """,
    "a set beside it": """
        D(x, d) :- Begin(x), var d = 0.group_by(x).min().
        D(y, d) :- D(x, a), E(x, y, w), Near(x), var d = (a + w).group_by(y).min().
        Near(x) :- Begin(x).
        Near(x) :- D(x, d), d < 3.
        Near(y) :- Near(x), E(x, y, 0), not Blocked(y).
    """,
    "a set and a constant": """
        P(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().
        P(x, z, d) :- P(x, y, a), Near(y), E(y, z, w), var d = (a + w).group_by(x, z).min().
        Near(y) :- P(0, y, d), d <= 3.
        Near(x) :- Near(y), E(x, y, 0).
    """,
    "arithmetic": """
        R(x, 0) :- Begin(x).
        R(y, n + w) :- R(x, n), E(x, y, w), n < 6, not Blocked(y).
    """,
    "functions": """
        R(x, y) :- E(x, y, _).
        R(min(x, z), max(x, z)) :- R(x, y), E(y, z, _), var n = x + z, n < 9.
    """,
    "doubling": """
        R(x, y) :- E(x, y, _).
        R(x, z) :- R(x, y), R(y, z), not Blocked(y).
    """,
    "doubling over what is computed": """
        R(x, y) :- E(x, y, w), w < 2.
        R(x, (y + z) % 5) :- R(x, y), R(y, z).
    """,
}
PROGRAMS = STRICT | OTHERS


class Whole(LocalReasoner):
    """One engine with all of the program, which has its seeds apart."""

    def flatten(self, program: Program) -> FlatProgram:
        return with_seeds(flatten(program), lambda stratum: True)

    def rows(self, relation: str) -> Rows:
        return set(self.decode(self.flat.relations[relation].types, self.engine.rows(relation)))

    def changed(self) -> dict[str, tuple[Rows, Rows]]:
        changes = self.changes({name: stored.types for name, stored in self.flat.relations.items()})
        return {
            name: ({row for row, n in change.items() if n > 0}, {row for row, n in change.items() if n < 0})
            for name, change in changes.items()
        }


@dataclass
class Part:
    """A partition, as `check_state` looks at reasoners."""

    worker: Worker
    decode = LocalReasoner.decode

    @property
    def engine(self) -> object:
        return self.worker._engine

    @property
    def flat(self) -> FlatProgram:
        return self.worker._commits.program


def recursion(flat: FlatProgram) -> Stratum:
    return next(stratum for stratum in flat.strata if stratum.recursive)


def routes_of(stratum: Stratum, rows: int) -> Routes | None:
    return find_routes(stratum, lambda name, pattern: 0, lambda name: rows)


@dataclass
class History:
    """Random commits, and both sides of the comparison."""

    random: Random
    rules: str

    def __post_init__(self) -> None:
        self.program = load(DECLARED + self.rules)
        self.optional = self.random.choice(sorted(self.program.rules))
        self.size, self.heaviest = self.random.choice([3, 5, 7]), self.random.choice([0, 1, 3])
        self.wide = self.random.choice([0, WIDE + 1])
        self.parts = self.random.choice([2, 3, 4])
        self.whole = Whole()
        self.divided: Together | None = None
        self.facts: dict[str, Rows] = {"E": set(), "Blocked": set(), "Begin": set(), "D": set()}
        self.unsettled = False

    def commit(self, *, first: bool) -> None:
        self.edit_rules()
        changes = self.edit_facts(10 if first else self.random.choice([0, 1, 2, 6]))
        with self.whole.commits.attempt(self.whole.flatten(self.program)):
            types = {relation.name: relation.types for relation in self.program.relations.values()}
            self.whole.stage(types, changes)
            self.whole.stats = self.whole.commits.run(Limits())
            made = self.whole.changed()
            self.whole.commits.publish()
        self.whole._types = types
        check_state(self.whole)
        self.compare(changes, made)
        self.unsettled |= self.divided is not None and self.divided.unsettled

    def compare(self, facts: Mapping[str, ZSet[Row]], made: Changes) -> None:
        flat = self.whole.flat
        stratum = next((s for s in flat.strata if s.recursive), None)
        if stratum is None:
            self.divided = None
            return
        routes = routes_of(stratum, self.wide)
        assert routes is not None
        own = stratum.relations
        known = self.divided is not None and self.divided.stratum.relations == own
        if self.divided is None or not known:
            self.divided = Together(stratum, flat, routes, self.parts)
        elif self.divided.routes != routes:
            self.divided = Together(stratum, flat, routes, self.parts, content=self.divided.content)
        else:
            self.divided.adopt(stratum, flat)
        changes = {name: change for name, change in made.items() if name not in own}
        for name in own & facts.keys():
            changes[name] = (
                {row for row, n in facts[name].items() if n > 0},
                {row for row, n in facts[name].items() if n < 0},
            )
        rows = {name: self.whole.rows(name) for name in flat.relations if name not in own}
        rows |= {name: self.facts[name] for name in own & self.facts.keys()}
        found = self.divided.commit(changes, rows)
        for name in own:
            assert self.divided.content.get(name, set()) == self.whole.rows(name), name
            if known:
                assert found[name] == made.get(name, (set(), set())), name
        for worker in self.divided.workers:
            check_state(Part(worker))  # type: ignore[arg-type]

    def edit_rules(self) -> None:
        draft = Draft(self.program)
        if self.random.random() < 0.15 and self.optional in draft.finish().rules:
            draft.remove_rule(self.optional)
        elif self.random.random() < 0.5:
            draft.load(self.rules)
        self.program = draft.finish()

    def edit_facts(self, edges: int) -> dict[str, ZSet[Row]]:
        random, n = self.random, self.size
        inserted: dict[str, Rows] = {
            "E": {
                (random.randrange(n), random.randrange(n), random.randint(0, self.heaviest))
                for _ in range(edges)
            },
            "Blocked": {(random.randrange(n),) for _ in range(random.choice([0, 0, 1]))},
            "Begin": {(random.randrange(n),) for _ in range(random.choice([0, 1]))},
            "D": {(random.randrange(n), random.randrange(4)) for _ in range(random.choice([0, 0, 1]))},
        }
        changes: dict[str, ZSet[Row]] = {}
        for name, rows in self.facts.items():
            share = random.choice([0, 0.2, 0.5])
            deleted = {row for row in sorted(rows) if random.random() < share} - inserted[name]
            changes[name] = ZSet(
                [(row, 1) for row in sorted(inserted[name] - rows)] + [(r, -1) for r in sorted(deleted)]
            )
            self.facts[name] = (rows - deleted) | inserted[name]
        return changes


@pytest.mark.parametrize("name", PROGRAMS)
def test_partitions_come_to_what_one_engine_comes_to(name: str) -> None:
    for seed in range(size(4, 200)):
        random = Random(f"{name} {seed}")
        history = History(random, PROGRAMS[name])
        for number in range(8):
            history.commit(first=not number)
        assert not (history.unsettled and name in STRICT), seed


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_strict_stays_strict(name: str) -> None:
    stratum = recursion(with_seeds(flatten(load(DECLARED + PROGRAMS[name])), lambda stratum: True))
    routes = routes_of(stratum, WIDE + 1)
    assert routes is not None
    assert routes.in_phases is (name != "doubling")
    assert is_strict(stratum) is (name in STRICT)


def test_a_hot_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.engine.spark.partitions.worker._CROWD", 10)
    flat = with_seeds(flatten(load(DECLARED + STRICT["labels"])), lambda stratum: True)
    stratum = recursion(flat)
    routes = routes_of(stratum, WIDE + 1)
    assert routes is not None
    star: Rows = {(7, node, 0) for node in range(20)} | {(node, 7, 0) for node in range(20)}
    divided = Together(stratum, flat, routes, 2)
    divided.commit({}, {"E": star, "D [seeds]": {(node, node) for node in range(20)}})
    by = {copy.name: copy.by for copy in divided.copies if copy.by is not None}
    found = [worker.hot_key(by) for worker in divided.workers]
    assert sorted(found) == ["", "20 rows of E have a = 7, all in one task"]
