"""Laws of commits on the local engine, over random histories.

Each law is stated by a test's name. A history in which a commit is refused (a division by zero) says nothing
about a law that would have to commit something else on the way, and ends there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from random import Random

import pytest

from conformance.reasoners import Changes, DenseReasoner, LocalReasoner
from engine.local.recount import check_state
from engine.local.snapshot import check_unchanged, contents, take_state, visible_state
from oracle.generator import Generator, Step
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.limits import Limits
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.plan.flatten import flatten
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program

Facts = Mapping[str, ZSet[Row]]
HISTORIES = [
    (flavour, seed) for flavour in ("negated", "full", "typed", "deep") for seed in range(size(2, 40))
]
over_histories = pytest.mark.parametrize(("flavour", "seed"), HISTORIES)


class Interrupted(Exception):
    """Thrown into the middle of a commit."""


def _new(seed: int) -> LocalReasoner:
    """A reasoner under the strategy of a seed."""
    strategy = "elastic" if seed < 6 else "dred" if seed < 8 else "differential"
    return LocalReasoner(lambda engine: Scheduler(engine, STRATEGIES[strategy]))


def _history(flavour: str, seed: int) -> Iterator[tuple[LocalReasoner, Step]]:
    """A reasoner before each step of a history; it takes the step when the test is done with it."""
    reasoner = _new(seed)
    for step in Generator(seed, flavour).steps():
        yield reasoner, step
        try:
            reasoner.commit(step.program, step.facts)
        except EngineError:
            return


def _total(parts: list[Changes]) -> Changes:
    """The sum of changes."""
    summed: Changes = {}
    for changes in parts:
        for name, change in changes.items():
            summed[name] = summed.get(name, ZSet()) + change
    return {name: change for name, change in summed.items() if change}


def _single(facts: Facts) -> list[Facts]:
    """A change of facts as changes of one fact each."""
    return [{name: ZSet({row: weight})} for name, change in facts.items() for row, weight in change.items()]


def _effective(reasoner: LocalReasoner, facts: Facts) -> Facts:
    """What of a change of facts is one: neither asserted already nor absent already."""
    made: dict[str, ZSet[Row]] = {}
    for name, change in facts.items():
        given = reasoner.given.get(name, frozenset())
        made[name] = ZSet((row, weight) for row, weight in change.items() if (row in given) != (weight > 0))
    return made


def _copy(reasoner: LocalReasoner, program: Program) -> LocalReasoner:
    """Another reasoner with the same facts, from nothing."""
    copy = LocalReasoner(lambda engine: Scheduler(engine, reasoner.commits.scheduler.strategy))
    copy.commit(program, {name: ZSet.of(rows) for name, rows in reasoner.given.items()})
    return copy


# -- commits add up


@over_histories
def test_one_commit_equals_the_same_changes_in_many_commits(flavour: str, seed: int) -> None:
    random = Random(seed)
    split = _new(seed)
    with suppress(EngineError):
        for reasoner, step in _history(flavour, seed):
            parts = _single(step.facts)
            random.shuffle(parts)
            one = _would_change(reasoner, step)
            many = [split.commit(step.program, {}), *(split.commit(step.program, part) for part in parts)]
            assert _total(many) == one
            check_state(split)


def _would_change(reasoner: LocalReasoner, step: Step) -> Changes:
    """What a step would change, without taking it."""
    types = {r.name: r.types for r in step.program.relations.values()}
    with reasoner.commits.attempt(flatten(step.program)):
        reasoner.stage(types, step.facts)
        reasoner.commits.run(Limits())
        return reasoner.changes(types)


@over_histories
def test_insert_then_delete_is_identity(flavour: str, seed: int) -> None:
    with suppress(EngineError):
        program: Program | None = None
        for reasoner, step in _history(flavour, seed):
            if program is not None:
                before = contents(reasoner)
                change = _effective(reasoner, step.facts)
                there = reasoner.commit(program, change)
                back = reasoner.commit(program, {name: -z for name, z in change.items()})
                assert _total([there, back]) == {}
                assert contents(reasoner) == before
                check_state(reasoner)
            program = step.program


@over_histories
def test_the_order_of_independent_commits_does_not_matter(flavour: str, seed: int) -> None:
    with suppress(EngineError):
        program: Program | None = None
        for reasoner, step in _history(flavour, seed):
            if program is not None:
                parts = _single(step.facts)[:8]
                one, other = _copy(reasoner, program), _copy(reasoner, program)
                forth = [one.commit(program, part) for part in parts]
                back = [other.commit(program, part) for part in reversed(parts)]
                assert contents(one) == contents(other)
                assert _total(forth) == _total(back)
            program = step.program


@over_histories
def test_update_equals_bootstrap(flavour: str, seed: int) -> None:
    program: Program | None = None
    for reasoner, step in _history(flavour, seed):
        if program is not None:
            assert contents(_copy(reasoner, program)) == contents(reasoner)
        program = step.program


@over_histories
def test_a_commit_with_nothing_changes_nothing(flavour: str, seed: int) -> None:
    program: Program | None = None
    for reasoner, step in _history(flavour, seed):
        if program is not None:
            before = take_state(reasoner)
            assert reasoner.commit(program, {}) == {}
            check_unchanged(reasoner, before)
            assert reasoner.stats.strata == []
        program = step.program


# -- rollback


@over_histories
def test_rollback_at_the_end_restores_everything(flavour: str, seed: int) -> None:
    for reasoner, step in _history(flavour, seed):
        before = take_state(reasoner)
        with suppress(EngineError):
            _would_change(reasoner, step)
        check_unchanged(reasoner, before)
        check_state(reasoner)


@over_histories
def test_a_commit_that_fails_anywhere_changes_nothing(
    flavour: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    for reasoner, step in _history(flavour, seed):
        for operator in ("derive", "end_round", "regroup", "finish", "enter", "depart", "arrive"):
            before = take_state(reasoner)
            with monkeypatch.context() as patch:
                _interrupt(patch, reasoner, operator, random.randint(1, 12))
                with suppress(Interrupted, EngineError):
                    _would_change(reasoner, step)
            check_unchanged(reasoner, before)
        check_state(reasoner)


def _interrupt(patch: pytest.MonkeyPatch, reasoner: LocalReasoner, operator: str, after: int) -> None:
    """Let an operator of the engine work so many times, and then throw."""
    owner = reasoner.engine.traces if operator in ("depart", "arrive") else reasoner.engine
    original = getattr(owner, operator)
    calls = iter(range(after))

    def failing(*args: object) -> object:
        if next(calls, None) is None:
            raise Interrupted
        return original(*args)

    patch.setattr(owner, operator, failing)


@over_histories
def test_a_commit_past_its_limits_changes_nothing(flavour: str, seed: int) -> None:
    for reasoner, step in _history(flavour, seed):
        for limits in (
            Limits(max_iterations=1),
            Limits(max_iterations=3),
            Limits(max_rows=4),
            Limits(timeout=0.0),
        ):
            before = take_state(reasoner)
            try:
                reasoner.commit(step.program, step.facts, limits)
            except EngineError:
                check_unchanged(reasoner, before)
                check_state(reasoner)


# -- compaction


@over_histories
def test_compaction_changes_nothing_visible(flavour: str, seed: int) -> None:
    compacted = _new(seed)
    for reasoner, step in _history(flavour, seed):
        before = visible_state(compacted)
        for table in compacted.engine.tables.values():
            table.compact()
        assert visible_state(compacted) == before
        check_state(compacted)
        try:
            changes = compacted.commit(step.program, step.facts)
        except EngineError:
            return
        assert changes == _would_change(reasoner, step)


def test_a_table_that_shrank_is_compacted_and_grows_again() -> None:
    reasoner = LocalReasoner()
    program = load("input relation E(a: int, b: int)\nrelation P(a: int)\nP(x) :- E(x, y), E(y, _).")
    rows: list[Row] = [(i, (7 * i) % 3000) for i in range(3000)]
    reasoner.commit(program, {"E": ZSet.of(rows)})
    reasoner.commit(program, {"E": -ZSet.of(rows[100:])})
    assert reasoner.engine.tables["E"].rows == 100
    check_state(reasoner)
    reasoner.commit(program, {"E": ZSet.of(rows)})
    assert contents(reasoner) == contents(_copy(reasoner, program))


def test_an_asserted_row_that_is_not_the_best_of_its_key_outlives_compaction() -> None:
    program = load(
        """
        input relation E(a: int, d: int)
        relation D(a: int, d: int)
        D(x, d) :- E(x, c), var d = c.group_by(x).min().
        D(x, d) :- D(y, c), E(x, y), var d = (c + 1).group_by(x).min().
        """
    )
    reasoner = LocalReasoner()
    best: Row = (1, 0)
    other: Row = (1, 5)
    reasoner.commit(program, {"E": ZSet.of([best]), "D": ZSet.of([other])})
    reasoner.engine.tables["D"].compact()
    changes = reasoner.commit(program, {"E": -ZSet.of([best])})
    assert changes["D"] == ZSet({best: -1, other: 1})


def test_asserted_rows_of_a_bit_matrix_outlive_compaction() -> None:
    program = load(
        """
        input relation E(a: int, b: int)
        relation P(a: int, b: int)
        P(x, y) :- E(x, y).
        P(x, z) :- P(x, y), E(y, z).
        """
    )
    edges: list[Row] = [(i, (i + 1) % 40) for i in range(40)]
    asserted: list[Row] = [(i, j) for i in range(40) for j in range(40) if (i + j) % 4]
    reasoner = DenseReasoner()
    reasoner.commit(program, {"E": ZSet.of(edges), "P": ZSet.of(asserted)})
    assert "P" in reasoner.engine.dense.bits
    reasoner.commit(program, {"E": -ZSet.of(edges)})
    assert reasoner.contents == {"P": frozenset(asserted)}


# -- programs that change


def test_rules_go_together_with_the_functions_they_use() -> None:
    declared = "input relation E(a: int)\nrelation P(a: int)\n"
    reasoner = LocalReasoner()
    row: Row = (1,)
    before = load(declared + "function next(x: int): int { x + 1 }\nP(next(x)) :- E(x).")
    reasoner.commit(before, {"E": ZSet.of([row])})
    assert reasoner.commit(load(declared), {}) == {"P": ZSet({(2,): -1})}


def test_a_relation_cannot_get_other_columns_in_one_commit() -> None:
    reasoner = LocalReasoner()
    row: Row = (1,)
    reasoner.commit(load("input relation E(a: int)"), {"E": ZSet.of([row])})
    for columns in ("a: string", "a: int, b: int"):
        before = take_state(reasoner)
        with pytest.raises(EngineError, match="columns of `E` cannot change"):
            reasoner.commit(load(f"input relation E({columns})"), {})
        check_unchanged(reasoner, before)
    reasoner.commit(load(""), {})
    text: Row = ("a",)
    reasoner.commit(load("input relation E(a: string)"), {"E": ZSet.of([text])})
    assert reasoner.contents == {"E": {text}}


def test_a_rule_of_a_refused_commit_leaves_no_trace() -> None:
    """The same text means something else once a relation has other columns."""
    reasoner = LocalReasoner()
    program = load("input relation E(a: int)\nE(1).")
    reasoner.commit(program, {})
    draft = Draft(program)
    draft.load("relation P(a: int)\nP(x) :- E(x).\nP(1 / (x - x)) :- E(x).")
    with pytest.raises(EngineError):
        reasoner.commit(draft.finish(), {})
    other = Draft(program)
    other.load("relation P(a: option<int>)\nP(x) :- E(x).")
    reasoner.commit(other.finish(), {})
    assert reasoner.contents["P"] == {(1,)}
