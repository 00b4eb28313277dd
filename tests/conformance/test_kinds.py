"""Golden cases with multisets, streams and delays: in sessions of every strategy, and by the replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.case import Case, cases, show_outputs
from conformance.sessions import ReplayReasoner, SessionReasoner, WeightedReasoner
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.declared import RelationKind
from tidelog.reference.replay import Contents

ALL = cases(Path(__file__).parent / "kinds")


def reasoner(name: str) -> Callable[[], WeightedReasoner]:
    return ReplayReasoner if name == "replay" else lambda: SessionReasoner(strategy=name)


@pytest.mark.parametrize("name", ["replay", *STRATEGIES])
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_case_of_kinds_gives_what_it_expects_after_each_commit(name: str, case: Case) -> None:
    check(case, reasoner(name)())


def check(case: Case, under_test: WeightedReasoner) -> None:
    number = 0
    before: Contents = {}
    for commit in case.commits():
        contents, changes = under_test.commit(commit.program, commit.facts)
        shown = {name: list(rows.elements()) for name, rows in contents.items()}
        assert show_outputs(commit.program, shown) == case.expected(number), number
        for name, relation in commit.program.relations.items() if changes is not None else ():
            is_stream = relation.kind is RelationKind.STREAM
            expected = Counter(contents[name])
            expected.subtract(Counter() if is_stream else before.get(name, Counter()))
            assert changes is not None
            assert changes[name] == {row: weight for row, weight in expected.items() if weight}, name
        before = contents
        number += 1
    assert number == len(list((case.folder / "expected").iterdir()))
