"""Measures updates, compared with a bootstrap of the same data in the same process.

Every repeat starts from a bootstrap: a fact that was deleted and inserted again supports less than one that
was always present, so deleting it again would be cheaper. One fact is deleted and inserted before anything is
timed, since the first update builds the indexes for all later ones. After a deletion, the contents of all
relations are compared with those of a database that was given only the remaining facts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.batch import bootstrap, warm_up
from bench.data import Dataset, Tables
from bench.programs import Program
from bench.result import Update
from tidelog.bench.database import Commit, Database

__all__ = ["measure_updates", "share_changes", "single_facts"]

SHARES = (0.001, 0.01, 0.1)


def measure_updates(program: Program, dataset: Dataset, repeat: int, singles: int) -> list[Update]:
    tables = dataset.make()
    warm_up(program, tables)
    runs = [_bootstrap_cost(program, tables) for _ in range(repeat)]
    seconds, instances = min(runs)
    case = _Case(program, dataset.name, tables, seconds, instances, repeat)
    return [*case.shares(), *case.singles(singles), *case.rule()]


@dataclass(slots=True)
class _Case:
    program: Program
    data: str
    tables: Tables
    bootstrap: float
    instances: int
    repeat: int

    def shares(self) -> Iterator[Update]:
        for share, part, rest in share_changes(self.tables):
            gone, inserted = [], []
            equal = None
            for _ in range(self.repeat):
                db = self._settled()
                gone.append(_timed(partial(db.commit, None, part)))
                if equal is None:
                    equal = self._equals(db, rest)
                inserted.append(_timed(partial(db.commit, part)))
            facts = sum(map(len, part.values()))
            yield self._update(f"delete {share:.1%}", facts, gone, equal)
            yield self._update(f"insert {share:.1%}", facts, inserted, self._equals(db, self.tables))

    def singles(self, count: int) -> Iterator[Update]:
        """Single facts from all relations, each deleted and inserted again."""
        db = self._settled()
        gone, inserted = [], []
        for fact in single_facts(self.tables, count):
            gone.append(_timed(partial(db.commit, None, fact)))
            inserted.append(_timed(partial(db.commit, fact)))
        yield self._update("delete one", 1, gone, None, middle=True)
        yield self._update("insert one", 1, inserted, self._equals(db, self.tables), middle=True)

    def rule(self) -> Iterator[Update]:
        extra = self.program.extra
        if extra is None:
            return
        inserted, gone = [], []
        for _ in range(self.repeat):
            db = self._settled()
            inserted.append(_timed(partial(db.commit, add=extra)))
            gone.append(_timed(partial(db.commit, remove=extra)))
        yield self._update("add a rule", 0, inserted, None)
        yield self._update("remove a rule", 0, gone, self._equals(db, self.tables))

    def _settled(self) -> Database:
        """A database with all facts, after a first update."""
        db = bootstrap(self.program, self.tables).db
        fact = {name: table.slice(table.num_rows - 1) for name, table in self.tables.items()}
        db.commit(None, fact)
        db.commit(fact)
        return db

    def _update(
        self,
        change: str,
        facts: int,
        runs: list[tuple[float, Commit]],
        equal: bool | None,
        *,
        middle: bool = False,
    ) -> Update:
        """The best of all runs; with `middle`, the median."""
        times = [seconds for seconds, _ in runs]
        seconds = statistics.median(times) if middle else min(times)
        _, commit = min(runs, key=lambda run: abs(run[0] - seconds))
        return Update(
            self.program.name,
            self.data,
            change,
            facts,
            seconds,
            max(times),
            self.bootstrap,
            commit.inserted + commit.deleted,
            commit.instances,
            self.instances,
            commit.strategy,
            equal,
        )

    def _equals(self, db: Database, tables: Tables) -> bool:
        """Whether the contents equal those of a new database with these facts."""
        fresh = bootstrap(self.program, tables).db
        return all(
            db.size(name) == fresh.size(name) and _sorted(db.table(name)).equals(_sorted(fresh.table(name)))
            for name in db.relations
        )


def share_changes(tables: Tables) -> Iterator[tuple[float, Tables, Tables]]:
    """Shares of the facts, drawn at random, with the facts that are left."""
    rng = np.random.default_rng(1)
    for share in SHARES:
        some = {name: _sample(table, share, rng) for name, table in tables.items()}
        some = {name: rows for name, rows in some.items() if len(rows)}
        part = {name: tables[name].take(rows) for name, rows in some.items()}
        yield share, part, {**tables, **{name: _without(tables[name], rows) for name, rows in some.items()}}


def single_facts(tables: Tables, count: int) -> Iterator[Tables]:
    """Single facts, drawn at random from all relations."""
    rng = np.random.default_rng(2)
    sizes = np.array([t.num_rows for t in tables.values()])
    names = list(tables)
    for number in rng.choice(sizes.sum(), min(count, int(sizes.sum())), replace=False):
        which = int(np.searchsorted(sizes.cumsum(), number, side="right"))
        row = int(number - sizes[:which].sum())
        yield {names[which]: tables[names[which]].slice(row, 1)}


def _bootstrap_cost(program: Program, tables: Tables) -> tuple[float, int]:
    """The time and the instances of a bootstrap whose database is dropped at once."""
    loaded = bootstrap(program, tables)
    return loaded.seconds, loaded.instances


def _timed(work: Callable[[], Commit]) -> tuple[float, Commit]:
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done


def _sample(table: Any, share: float, rng: np.random.Generator) -> Any:
    count = round(table.num_rows * share)
    return np.sort(rng.choice(table.num_rows, count, replace=False))


def _without(table: Any, rows: Any) -> Any:
    kept = np.ones(table.num_rows, bool)
    kept[rows] = False
    return table.filter(kept)


def _sorted(table: Any) -> Any:
    return table.sort_by([(name, "ascending") for name in table.column_names])
