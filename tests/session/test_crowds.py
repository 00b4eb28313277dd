"""Readers, keyed writers, queries, previews and subscriptions at once: all see whole commits."""

from __future__ import annotations

import pytest

import tidelog
from session.crowd import PROGRAM, Crowd
from sizes import size
from tidelog.engine.local.codes import garbage as collecting
from tidelog.engine.local.dense import matrix as bits
from tidelog.session.backends.local import readers as reading

INTERVALS = [1e-6, 1e-4, 5e-3]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes, matrices and collections of values at sizes that tests reach."""
    monkeypatch.setattr(reading, "_LARGE", 8)
    monkeypatch.setattr(collecting, "SMALLEST", 50)
    monkeypatch.setattr(bits, "_ENOUGH_ROWS", 100)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("seed", range(size(1, 40)))
def test_a_crowd_sees_whole_commits(seed: int, interval: float) -> None:
    crowd = Crowd(tidelog.open(text=PROGRAM), seed)
    crowd.run(max(4, size(8, 200)), interval)
    assert len(crowd.seen) > 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("strategy", ["dred", "differential", "recompute"])
def test_a_crowd_sees_whole_commits_under_every_strategy(strategy: str) -> None:
    Crowd(tidelog.open(text=PROGRAM, strategy=strategy), 7).run(size(4, 100), 1e-5)


def test_a_crowd_sees_whole_commits_of_tables_as_they_are() -> None:
    Crowd(tidelog.open(text=PROGRAM), 3).run(size(6, 200), 1e-5)
