"""What cannot change the meaning of a program does not change what a session holds, under any strategy.

Cases are those of the random oracle, by seed, and no reference is asked. In the nightly size each runs under
every strategy, otherwise the seeds take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from oracle.language.case import AddRule, Case, Ending, RemoveRule, RuleText, Step
from oracle.language.checking import act, open_local, shown
from oracle.language.histories import programs
from oracle.laws import LAWS, Law
from sizes import size
from tally import tally
from tidelog.errors import EngineError, ProgramError, TidelogError
from tidelog.maintain.strategy import STRATEGIES

SEEDS = size(3, 300)
ALL = size(0, 1) == 1  # whether each case runs under every strategy
KEPT: list[int] = []

Contents = Mapping[str, list[str]]
Seen = tuple[str, Contents]


def _runs(first: int) -> Iterable[tuple[int, str]]:
    for seed in (*KEPT, *range(first, first + SEEDS)):
        for strategy in STRATEGIES if ALL else (list(STRATEGIES)[seed % len(STRATEGIES)],):
            yield seed, strategy
            tally("programs of metamorphic laws")


def take(session: Any, step: Step) -> str:
    """Take a step; how it ended."""
    tx = session.transaction()
    refused = [i for i, action in enumerate(step.actions) if not _tries(tx, action)]
    if not step.ending.commit:
        tx.rollback()
        return "rolled back"
    try:
        tx.commit()
    except ProgramError:
        return "refused"
    except EngineError:
        return "failed"
    return f"committed without {refused}" if refused else "committed"


def _tries(tx: Any, action: Any) -> bool:
    try:
        act(tx, action)
    except TidelogError:
        return False
    return True


def contents(session: Any, names: Mapping[str, str]) -> Contents:
    """The rows of relations, by the names that the original case gives them."""
    return {name: shown(session[other]) for name, other in names.items() if other in session}


def observed(case: Case, strategy: str, names: Mapping[str, str]) -> list[Seen]:
    """What a case shows: how each step ended, and what everything holds then."""
    try:
        session = open_local(case, strategy)
    except EngineError:
        return [("not opened", {})]
    seen: list[Seen] = [("opened", contents(session, names))]
    for step in case.steps:
        seen.append((take(session, step), contents(session, names)))
    return seen


def assert_law(law: Law, seed: int, strategy: str) -> None:
    case = programs(seed)
    other, names = law(case, Random(seed))
    expected = observed(case, strategy, {name: name for name in names})
    found = observed(other, strategy, names)
    for number, (before, after) in enumerate(zip(expected, found, strict=True)):
        assert after == before, f"seed {seed}, {strategy}, step {number}\n{case.text}\n\n{other.text}"


@pytest.mark.parametrize("name", LAWS)
def test_a_change_without_meaning_changes_no_results(name: str) -> None:
    for seed, strategy in _runs(0):
        assert_law(LAWS[name], seed, strategy)


def split(step: Step) -> list[Step]:
    return [Step((action,), Ending()) for action in step.actions]


def test_a_commit_in_parts_gives_what_it_gives_as_a_whole() -> None:
    for seed, strategy in _runs(100_000):
        case = programs(seed)
        names = {name: name for name in open_names(case)}
        try:
            whole, parts = open_local(case, strategy), open_local(case, strategy)
        except EngineError:
            continue
        for number, step in enumerate(case.steps):
            committed = replace(step, ending=Ending())
            ends = {take(whole, committed), *(take(parts, part) for part in split(step))}
            if ends != {"committed"}:
                break  # a part may fail where the whole does not, and then the histories differ
            assert contents(whole, names) == contents(parts, names), f"seed {seed}, {strategy}, step {number}"


def open_names(case: Case) -> list[str]:
    return list(LAWS["another order"](case, Random(0))[1])


def test_a_rule_that_is_removed_and_added_again_leaves_everything_as_it_was() -> None:
    for seed, strategy in _runs(200_000):
        case = programs(seed)
        names = {name: name for name in open_names(case)}
        try:
            session = open_local(case, strategy)
        except EngineError:
            continue
        random = Random(seed)
        for number, step in enumerate(case.steps):
            take(session, step)
            before = contents(session, names)
            for rule in random.sample(case.rules, min(1, len(case.rules))):
                assert_undone(session, rule, names, before, f"{seed}, {strategy}, {number}")


def assert_undone(
    session: Any, rule: RuleText, names: Mapping[str, str], before: Contents, where: str
) -> None:
    """Remove a rule and add it, or add it and remove it; nothing is to be left of that."""
    there = any(r.text == rule.text for r in session.rules)
    first, second = (RemoveRule, AddRule) if there else (AddRule, RemoveRule)
    if take(session, Step((first(rule),))) != "committed":
        return
    assert take(session, Step((second(rule),))) == "committed", where
    assert contents(session, names) == before, where
