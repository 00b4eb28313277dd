"""Random programs and histories with multisets, streams and delays, against a replay of the whole history."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import pytest

import tidelog
from oracle.kinds.programs import DECLARATIONS, INPUTS, KINDS, rule
from tidelog.data.values import Row
from tidelog.errors import TidelogError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.draft import Draft
from tidelog.reference.replay import Change, Contents, Replay
from tidelog.session import Changes, Session, Transaction

Also: TypeAlias = Callable[[Session, Replay, Replay, Changes], None]

HISTORIES = int(os.environ.get("TIDELOG_HISTORIES", "40"))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(HISTORIES // 4))
def test_a_session_is_what_a_replay_of_its_history_gives(strategy: str, seed: int) -> None:
    check(Random(seed * 10 + sorted(STRATEGIES).index(strategy)), strategy)


def check(random: Random, strategy: str, also: Also = lambda *_: None, **options: Any) -> None:
    """`also` is called with the session, the replay, the replay before the commit, and the changes."""
    db, replay = tidelog.open(text=DECLARATIONS, strategy=strategy, **options), Replay()
    replay.commit(db.program)
    rules: list[str] = []
    for _ in range(8):
        before = {name: Counter(rows) for name, rows in replay.contents.items()}
        tx = db.transaction()
        expected = _Step(random, db, replay, tx, rules)
        if random.random() < 0.2:
            compare_changes(tx.preview(), before, expected.after())
        if expected.after() is None:
            with pytest.raises(TidelogError):
                tx.commit()
            continue
        if random.random() < 0.15:
            tx.rollback()
            compare(db, before)
            continue
        rules = expected.rules
        changes = tx.commit()
        earlier = replay.copy()
        after = expected.commit()
        compare(db, after)
        compare_changes(changes, before, after)
        also(db, replay, earlier, changes)


class _Step:
    """A random transaction, and what it should do."""

    def __init__(
        self, random: Random, db: Session, replay: Replay, tx: Transaction, rules: list[str]
    ) -> None:
        self._replay = replay
        self.rules = list(rules)
        draft = Draft(replay.program)
        if random.random() < 0.7:
            for _ in range(random.choice([1, 2, 4])):
                if self.rules and random.random() < 0.35:
                    gone = self.rules.pop(random.randrange(len(self.rules)))
                    draft.remove_rule(gone)
                    tx.remove_rule(gone)
                else:
                    new = rule(random)
                    if draft.add_rule(new).id not in {
                        Draft(replay.program).add_rule(r).id for r in self.rules
                    }:
                        self.rules.append(new)
                    tx.add_rule(new)
        self._program = draft.finish()
        self._changes: list[Change] = []
        for _ in range(random.choice([0, 1, 3, 6])):
            name = random.choice(INPUTS if random.random() < 0.9 else tuple(KINDS))
            row = (random.randrange(3), random.randrange(3))
            if random.random() < 0.6:
                tx.insert(name, [row])
                self._changes.append(("insert", name, row))
            else:
                tx.delete(name, [row])
                self._changes.append(("delete", name, row))

    def after(self) -> Contents:
        return self._replay.copy().commit(self._program, self._changes)

    def commit(self) -> Contents:
        return self._replay.commit(self._program, self._changes)


def compare(db: Session, expected: Contents) -> None:
    for name, kind in KINDS.items():
        rows = [tuple(row) for row in db[name]]
        found = Counter(rows) if kind == "relation" else Counter({r[:-1]: r[-1] for r in rows})
        assert found == expected.get(name, Counter()), name


def compare_changes(changes: Changes, before: Contents, after: Contents) -> None:
    for name, kind in KINDS.items():
        old: Counter[Row] = Counter() if kind == "stream" else before.get(name, Counter())
        weights = Counter(after.get(name, Counter()))
        weights.subtract(old)
        assert dict(changes[name]) == {row: weight for row, weight in weights.items() if weight}, name
        assert (name in changes) == bool(dict(changes[name]))
