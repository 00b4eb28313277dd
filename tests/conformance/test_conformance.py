"""Every golden case on every reasoner, against one expectation."""

from __future__ import annotations

import pytest

from conformance.case import Case, Commit, cases, show_outputs
from conformance.reasoners import REASONERS, Reasoner
from tidelog.data.zset import ZSet
from tidelog.errors import EngineError
from tidelog.program.typed import Nested, Without

ALL = cases()


def _gap(reasoner: str, case: Case) -> str | None:
    """Why a reasoner cannot run a case, if it cannot."""
    if not reasoner.startswith("circuit"):
        return None
    rules = [rule for commit in case.commits() for rule in commit.program.rules.values()]
    if any(rule.group is not None for rule in rules):
        return "the circuit interprets programs without aggregates"
    if any(isinstance(x, Nested | Without) for rule in rules for body in rule.bodies for x in body):
        return "the circuit interprets programs without nested bodies"
    return None


def _parameters() -> list[object]:
    made: list[object] = []
    for case in ALL:
        for name in REASONERS:
            gap = _gap(name, case)
            marks = [pytest.mark.xfail(raises=EngineError, strict=True, reason=gap)] if gap else []
            made.append(pytest.param(name, case, id=f"{case.name}-{name}", marks=marks))
    return made


@pytest.mark.parametrize(("name", "case"), _parameters())
def test_a_case_gives_what_it_expects_after_each_commit(name: str, case: Case) -> None:
    reasoner = REASONERS[name]()
    number = 0
    for commit in case.commits():
        if commit.fails is not None:
            _check_refusal(reasoner, commit)
            continue
        before = dict(reasoner.contents)
        changes = reasoner.commit(commit.program, commit.facts)
        assert show_outputs(commit.program, reasoner.contents) == case.expected(number)
        after = reasoner.contents
        differences = {n: ZSet.of(after.get(n, ())) - ZSet.of(before.get(n, ())) for n in {**before, **after}}
        assert changes == {n: d for n, d in differences.items() if d}
        number += 1
    assert number == len(list((case.folder / "expected").iterdir()))


def _check_refusal(reasoner: Reasoner, commit: Commit) -> None:
    before = dict(reasoner.contents)
    assert commit.fails is not None
    with pytest.raises(EngineError) as error:
        reasoner.commit(commit.program, commit.facts)
    assert commit.fails in str(error.value)
    assert dict(reasoner.contents) == before
