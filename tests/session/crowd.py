"""Writers, readers, queries and subscribers on threads, each compared with a model of every commit.

The model of a commit is known before it is made: whoever has a transaction open is the only writer. So what a
thread sees at commit n is compared with the model of n, and what a query finds, which does not say of which
commit it is, with those of the commits that it can have been of.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

from session.threads import in_threads, switching
from tally import tally
from tidelog import DataError, Session
from tidelog.session.changes import Changes, RelationChanges
from tidelog.session.session import Snapshot
from tidelog.session.transaction import Transaction

__all__ = ["PROGRAM", "Crowd"]

PROGRAM: Final = """
input relation Price(item: string, cents: int) primary key (item)
input relation Link(src: int, dst: int)
input relation Hidden(item: string)
output relation Cheap(item: string)
output relation Reach(src: int, dst: int)
output relation Back(src: int, dst: int)
output relation Items(cents: int, count: int)
Cheap(i) :- Price(i, c), c < 50, not Hidden(i).
Reach(x, y) :- Link(x, y).
Reach(x, z) :- Reach(x, y), Link(y, z).
Back(y, x) :- Link(x, y), Reach(y, x).
Items(c, n) :- Price(i, c), var n = i.group_by(c).count().
"""
_NODES: Final = 14
_BULK: Final = 1500  # rows from which on a table may be compacted
_HELD: Final = 4

Rows: TypeAlias = frozenset[tuple[Any, ...]]


@dataclass(frozen=True)
class Model:
    """What a commit holds, found by the simplest means."""

    prices: dict[str, int] = field(default_factory=dict)
    links: frozenset[tuple[int, int]] = frozenset()
    hidden: frozenset[str] = frozenset()

    @cached_property
    def relations(self) -> dict[str, Rows]:
        counts: dict[int, int] = {}
        reach = self._reach()
        for cents in self.prices.values():
            counts[cents] = counts.get(cents, 0) + 1
        return {
            "Price": frozenset(self.prices.items()),
            "Link": frozenset(self.links),
            "Hidden": frozenset((item,) for item in self.hidden),
            "Cheap": frozenset((i,) for i, c in self.prices.items() if c < 50 and i not in self.hidden),
            "Reach": reach,
            "Back": frozenset((y, x) for x, y in self.links if (y, x) in reach),
            "Items": frozenset(counts.items()),
        }

    def _reach(self) -> Rows:
        found: set[tuple[int, int]] = set()
        for start in {x for x, _ in self.links}:
            left = [start]
            while left:
                here = left.pop()
                for x, y in self.links:
                    if x == here and (start, y) not in found:
                        found.add((start, y))
                        left.append(y)
        return frozenset(found)


@dataclass
class Crowd:
    """A session of `PROGRAM`, and what is known of its commits.

    A transaction has up to `edits` edits, of up to `bulk` rows. In frames, keys are looked at when a
    transaction is carried out, so `tries_conflicts` is for sessions that begin and stay in this process.
    Whoever reads or asks does so until the writers have ended, or `rounds` times.
    """

    db: Session
    seed: int
    bulk: int = _BULK
    edits: int = 4
    tries_conflicts: bool = True
    rounds: int = 1_000_000
    models: dict[int, Model] = field(default_factory=dict)
    heard: dict[str, list[int]] = field(default_factory=dict)
    failures: list[BaseException] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)
    seen: set[int] = field(default_factory=set)
    missed: dict[str, set[int]] = field(default_factory=dict)
    ended: list[int] = field(default_factory=list)

    def run(self, commits: int, interval: float, writers: int = 2, readers: int = 2) -> None:
        """Have all of them at work until each writer has ended so many transactions."""
        self.models[self.db.commit] = Model()
        for name in ("Price", "Cheap", "Reach", "Items"):
            self._follow(name)
        works = [self._writer(commits, n, writers) for n in range(writers)]
        works += [self._reader(n) for n in range(readers)]
        with switching(interval):
            in_threads(*works, self._asker())
        if self.failures:
            raise self.failures[0]
        tally("transactions of crowds", commits * writers)
        self._expect_all_heard()
        self._look_at(self.db.snapshot(), random.Random(self.seed))

    # -- writers

    def _writer(self, commits: int, number: int, writers: int) -> Callable[[], None]:
        chance = random.Random(f"{self.seed} writer {number}")

        def write() -> None:
            for i in range(commits):
                if not self.done.is_set():
                    self._transact(chance, f"{number}-{i}")
            self.ended.append(number)
            if len(self.ended) == writers:
                self.done.set()

        return self._noted(write)

    def _transact(self, chance: random.Random, name: str) -> None:
        db = self.db
        with db.transaction() as tx:
            before = self.models[db.commit]
            after = self._edit(tx, before, chance, name)
            if chance.random() < 0.3:
                expect_changes(tx.preview(), before, after)
            if chance.random() < 0.1:
                tx.rollback()
                return
            self.models[db.commit + 1] = after
        expect_changes(tx.changes, before, after)

    def _edit(self, tx: Transaction, before: Model, chance: random.Random, name: str) -> Model:
        prices, links, hidden = dict(before.prices), set(before.links), set(before.hidden)
        for step in range(chance.randint(1, self.edits)):
            match chance.randrange(7):
                case 0 | 1:
                    size = self.bulk if chance.random() < 0.1 else chance.randint(1, 30)
                    rows = {f"{name}.{step}.{i}": chance.randrange(100) for i in range(size)}
                    tx.insert("Price", list(rows.items()))
                    prices |= rows
                case 2:
                    chosen = chance.sample(sorted(prices), min(len(prices), 20))
                    rows = {item: chance.randrange(100) for item in chosen}
                    tx.upsert("Price", list(rows.items()))
                    prices |= rows
                case 3:
                    share = chance.choice([0.1, 0.9])
                    chosen = [item for item in sorted(prices) if chance.random() < share]
                    tx.delete_keys("Price", chosen)
                    prices = {i: c for i, c in prices.items() if i not in set(chosen)}
                case 4 if prices and self.tries_conflicts:
                    item, cents = chance.choice(sorted(prices.items()))
                    try:
                        tx.insert("Price", [(item, cents + 1)])
                    except DataError:
                        continue
                    raise AssertionError("two rows of one key were taken")
                case 5:
                    hidden ^= set(chance.sample(sorted(prices), min(len(prices), 5)))
                    tx.clear("Hidden")
                    tx.insert("Hidden", [(item,) for item in hidden])
                case _:
                    gone = {link for link in links if chance.random() < 0.3}
                    size = _NODES if chance.random() < 0.3 else 4
                    come = {(chance.randrange(_NODES), chance.randrange(_NODES)) for _ in range(size)}
                    tx.delete("Link", list(gone))
                    tx.insert("Link", list(come))
                    links = (links - gone) | come
        return Model(prices, frozenset(links), frozenset(hidden))

    # -- readers

    def _while_writing(self) -> Iterator[int]:
        for number in range(self.rounds):
            if self.done.is_set():
                return
            yield number

    def _reader(self, number: int) -> Callable[[], None]:
        chance = random.Random(f"{self.seed} reader {number}")

        def read() -> None:
            held = [self.db.snapshot()]
            for _ in self._while_writing():
                snapshot = self.db.snapshot()
                held = [*held[-_HELD:], snapshot]
                self._look_at(snapshot, chance)
                self._look_at(chance.choice(held), chance)

        return self._noted(read)

    def _look_at(self, snapshot: Snapshot, chance: random.Random) -> None:
        known = self.models[snapshot.commit].relations
        self.seen.add(snapshot.commit)
        assert set(snapshot) == set(known)
        name = chance.choice(sorted(known))
        view, rows = snapshot[name], known[name]
        match chance.randrange(8):
            case 0:
                assert {n: len(snapshot[n]) for n in known} == {n: len(r) for n, r in known.items()}
            case 1:
                assert set(view) == rows
            case 2:
                assert {tuple(row.values()) for row in view.to_arrow().to_pylist()} == rows
            case 3:
                asserted = rows if name in ("Price", "Link", "Hidden") else frozenset()
                assert set(view.given) == asserted
                assert set(view.derived) == rows - asserted
            case 4:
                assert set(view.between(view.columns[0])) == rows
            case 5:
                reached = {row for row in known["Reach"] if row[1] == 3}
                assert set(snapshot["Reach"].where(dst=3)) == reached
                assert all(row in snapshot["Reach"] for row in reached)
            case 6:
                low = {row for row in known["Price"] if 20 <= row[1] <= 30}
                assert set(snapshot["Price"].between("cents", 20, 30)) == low
            case _:
                for item, cents in chance.sample(sorted(known["Price"]), min(len(known["Price"]), 3)):
                    assert list(snapshot["Price"].where(item=item)) == [(item, cents)]

    def _asker(self) -> Callable[[], None]:
        def ask() -> None:
            for number in self._while_writing():
                first = self.db.commit
                text = f'Cheap(i), Price(i, c), var t = i ++ "+{number}"'
                found = frozenset(self.db.query(text))
                last = self.db.commit
                models = [self.models[n] for n in range(first, last + 1)]
                assert any(found == answers(model, number) for model in models)

        return self._noted(ask)

    # -- subscribers

    def _follow(self, name: str) -> None:
        self.heard[name], self.missed[name] = [], set()

        def hear(changes: RelationChanges, commit: int) -> None:
            try:
                before, after = (self.models[n].relations[name] for n in (commit - 1, commit))
                assert set(changes.inserted) == after - before
                assert set(changes.deleted) == before - after
                self.heard[name].append(commit)
                if commit % 5 == 0:
                    subscriptions[0].cancel()
                    subscriptions[0] = self.db.subscribe(name, hear)
                    self.missed[name].update(range(commit + 1, subscriptions[0].since + 1))
            except BaseException as failure:
                self.failures.append(failure)

        subscriptions = [self.db.subscribe(name, hear)]

    def _expect_all_heard(self) -> None:
        for name, commits in self.heard.items():
            states = [self.models[n].relations[name] for n in range(self.db.commit + 1)]
            changed = [n for n in range(1, len(states)) if states[n - 1] != states[n]]
            assert commits == [n for n in changed if n not in self.missed[name]]

    def _noted(self, work: Callable[[], None]) -> Callable[[], None]:
        """The work; if it fails, the others stop."""

        def noted() -> None:
            try:
                work()
            except BaseException as failure:
                self.failures.append(failure)
                self.done.set()
                raise

        return noted


def answers(model: Model, number: int) -> Rows:
    cheap = model.relations["Cheap"]
    return frozenset((i, c, f"{i}+{number}") for i, c in model.prices.items() if (i,) in cheap)


def expect_changes(changes: Changes, before: Model, after: Model) -> None:
    for name, rows in after.relations.items():
        assert set(changes[name].inserted) == rows - before.relations[name]
        assert set(changes[name].deleted) == before.relations[name] - rows
