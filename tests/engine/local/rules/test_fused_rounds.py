"""Fused rounds: a commit does the same as in single steps, and builds only what it needs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

import tidelog
from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from engine.local.snapshot import visible_state
from oracle.generator import FLAVOURS, Generator
from sizes import size
from tally import tally
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.rules import fusion, rounds, sharing
from tidelog.engine.local.rules.fusion import FusedLoops
from tidelog.engine.protocol import FusedRounds
from tidelog.engine.rounds import Rounds, in_rounds
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.script import Derive, EndRound, Repeat, Step
from tidelog.maintain.strategy import DIFFERENTIAL, DRED, ELASTIC, RuleChanges, Strategy
from tidelog.plan.flatten import flatten
from tidelog.program.draft import load


def reasoner(strategy: Strategy = ELASTIC, threads: int = 1) -> LocalReasoner:
    made = LocalReasoner(lambda engine: Scheduler(engine, strategy, switch=None))
    made.engine.runner.threads = threads
    return made


def both(seed: int, flavour: str, fused: LocalReasoner, single: LocalReasoner) -> None:
    """Commit a random history to both; one of them runs single steps only."""
    for step in Generator(seed, flavour).steps():
        tally("commits in fused rounds and in single steps")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fusion, "LARGE", -1)
            try:
                changes = single.commit(step.program, step.facts)
            except EngineError:
                changes = None
        if changes is None:
            with pytest.raises(EngineError):
                fused.commit(step.program, step.facts)
            return
        assert fused.commit(step.program, step.facts) == changes, (flavour, seed)
        assert visible_state(fused) == visible_state(single), (flavour, seed)
        assert work(fused) == work(single), (flavour, seed)
        check_state(fused)


def work(reasoner: LocalReasoner) -> object:
    """What the statistics say about a commit, without times."""
    return [
        (s.name, s.rounds, s.instances, {rule: r.instances for rule, r in s.rules.items() if r.instances})
        for s in reasoner.stats.strata
    ]


@pytest.mark.parametrize("strategy", [ELASTIC, DRED, DIFFERENTIAL], ids=lambda s: s.name)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_rows_ranks_counts_and_statistics_are_those_of_single_steps(flavour: str, strategy: Strategy) -> None:
    for seed in range(size(8, 100)):
        both(seed, flavour, reasoner(strategy), reasoner(strategy))


@pytest.mark.parametrize("flavour", ["positive", "negated", "guarded", "large"])
def test_they_are_the_same_if_loops_stop_all_the_time(flavour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "STEPS", 3)
    monkeypatch.setattr(sharing, "_MOST_NEW", 2.0)
    for seed in range(size(4, 40)):
        both(seed, flavour, reasoner(threads=1 + seed % 3), reasoner())


def test_an_update_is_one_call_for_each_script(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[FusedRounds | None] = []

    def counted(
        loops: FusedLoops,
        *args: object,
        original: Callable[..., FusedRounds | None] = FusedLoops.run_rounds,
    ) -> FusedRounds | None:
        found.append(original(loops, *args))
        return found[-1]

    monkeypatch.setattr(FusedLoops, "run_rounds", counted)
    db = tidelog.open(text=CLOSURE, facts={"E": [(i, i + 1) for i in range(20)]})
    found.clear()
    with db.transaction() as tx:
        tx.insert("E", [(20, 21)])
    ran = [each for each in found if each is not None]
    assert len(ran) == len(found) <= 6  # three for each stratum
    assert sum(each.rows for each in ran) == 1 + 21


CLOSURE = """
input relation E(x: int, y: int)
output relation R(x: int, y: int)
R(x, y) :- E(x, y).
R(x, z) :- R(x, y), E(y, z).
"""


def test_rules_without_rows_to_start_from_need_no_index() -> None:
    program = load(
        """
        input relation A(x: int, y: int)
        input relation B(y: int, z: int)
        output relation P(x: int, z: int)
        P(x, z) :- A(x, y), B(y, z).
        """,
        "join.dl",
    )
    local, rows = reasoner(), [(i, i) for i in range(100)]
    local.commit(program, {"A": ZSet.of(rows), "B": ZSet.of(rows)})
    for table in local.engine.tables.values():
        table.indexes.clear()
    local.engine.variants.clear()
    more: list[Row] = [(200, 7)]
    assert local.commit(program, {"A": ZSet.of(more)})["P"] == ZSet.of([(200, 7)])
    assert list(local.engine.tables["B"].indexes) == [(0,)]
    assert not local.engine.tables["A"].indexes
    assert not local.engine.tables["P"].indexes


def test_a_loop_is_built_again_when_a_relation_has_outgrown_its_join_orders() -> None:
    db = tidelog.open(text=CLOSURE)
    for i in range(600):  # through several magnitudes
        with db.transaction() as tx:
            tx.insert("E", [(i % 40, i // 40 + 100 * (i % 3))])
    wanted = tidelog.open(text=CLOSURE, facts={"E": list(db["E"])}, strategy="recompute")
    assert sorted(db["R"]) == sorted(wanted["R"])


def test_lists_of_a_commit_are_gone_after_it_and_after_a_rollback() -> None:
    """What one commit inserted must not be found again by the next."""
    db = tidelog.open(text="input relation A(x: int)\noutput relation B(x: int)\nB(x) :- A(x), not C(x).\n"
                           "input relation C(x: int)\n", facts={"A": [(1,), (2,)], "C": [(2,)]})  # fmt: skip
    with suppress(RuntimeError), db.transaction() as tx:
        tx.insert("A", [(3,)])
        tx.delete("C", [(2,)])
        assert sorted(tx.preview()["B"].inserted) == [(2,), (3,)]
        raise RuntimeError
    for relation in ("C", "A"):
        with db.transaction() as tx:
            tx.insert(relation, [(4,)])
        assert tx.changes["B"].inserted == []
    assert db.stats.instances == 1  # the assertion
    with db.transaction() as tx:
        tx.delete("C", [(4,)])
    assert tx.changes["B"].inserted == [(4,)]


def test_a_limit_ends_the_first_round_of_an_update() -> None:
    text = """
    input relation S(x: int)
    input relation A(y: int)
    output relation P(x: int, y: int, z: int)
    P(x, y, z) :- S(x), A(y), A(z), A(_).
    """
    db = tidelog.open(text=text, facts={"A": [(i,) for i in range(500)]}, max_rows=1000)
    with pytest.raises(EngineError, match="the running rule was `P"), db.transaction() as tx:
        tx.insert("S", [(1,)])
    assert (len(db["S"]), len(db["P"])) == (0, 0)
    with db.transaction() as tx:
        tx.delete("A", [(i,) for i in range(1, 500)])
        tx.insert("S", [(1,)])
    assert list(db["P"]) == [(1, 0, 0)]


@pytest.mark.parametrize("strategy", [ELASTIC, DRED, DIFFERENTIAL], ids=lambda s: s.name)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_grouping_keeps_all_steps_in_order(flavour: str, strategy: Strategy) -> None:
    for seed in range(5):
        for step in Generator(seed, flavour).steps():
            for stratum in flatten(step.program).strata:
                if stratum.grouping is not None:
                    continue
                rules = RuleChanges(stratum.rules[:1], stratum.rules[1:2], stratum.rules[2:])
                for script in (strategy.bootstrap(stratum), *strategy.update(stratum, rules)):
                    assert tuple(flat for part in in_rounds(script) for flat in steps(part)) == script


def steps(part: Step | Rounds) -> list[Step]:
    """The steps of a part of a script."""
    if not isinstance(part, Rounds):
        return [part]
    assert isinstance(part.steps[-1], EndRound)
    assert {step for step in part.steps if isinstance(step, EndRound)} == {part.end}
    assert all(d.driver is not None for d in part.derivations)
    again = part.repetition
    repeated = [] if again is None else [Repeat(part.end.relations, again.steps)]
    assert sum(isinstance(step, Derive) for step in part.steps) == len(part.rules)
    return [*part.once, *repeated]
