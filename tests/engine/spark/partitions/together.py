"""Partitions of one recursion in this process, with the engines that tasks have, which exchange sets of rows.

What `exchange` does with frames is done here with sets, so that hundreds of histories take seconds.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from tidelog.data.values import Row
from tidelog.engine.limits import Limits
from tidelog.engine.spark.frames.layout import arrow_schema
from tidelog.engine.spark.partitions.rerouting import (
    arranged,
    copies,
    leaves_by_insertion,
    received,
    sent,
    shares,
    with_routes,
    with_shares,
    without_new_rules,
)
from tidelog.engine.spark.partitions.routes import Pattern, Routes
from tidelog.engine.spark.partitions.worker import Signed, Worker, program_of
from tidelog.maintain.strategy import ELASTIC
from tidelog.plan.flat import FlatProgram, Stratum

Rows = set[Row]
Changes = dict[str, tuple[Rows, Rows]]  # inserted and deleted rows by relation
Found = dict[str, tuple[Rows, Rows, Rows]]  # inserted, deleted and moved rows by relation


def home(value: object, parts: int) -> int:
    return zlib.crc32(repr(value).encode()) % parts


@dataclass
class Together:
    """`content` is what the recursion has; `unsettled` says that the next deletion is a bootstrap."""

    stratum: Stratum
    program: FlatProgram
    routes: Routes
    parts: int
    workers: list[Worker] = field(default_factory=list)
    content: dict[str, Rows] = field(default_factory=dict)
    unsettled: bool = False
    steps: int = 0
    bootstraps: int = 0
    done: FlatProgram | None = None  # the program of the last commit

    def __post_init__(self) -> None:
        self.adopt(self.stratum, self.program)

    def adopt(self, stratum: Stratum, program: FlatProgram) -> None:
        """Run these rules from the next commit on."""
        self.stratum, self.program = stratum, program
        own, relations = with_shares(*with_routes(stratum, program.relations, self.routes))
        self.own = own
        self.task = program_of(own, relations, program.functions)
        self.copies = copies(stratum, program.relations, self.routes)
        self.copies += shares(stratum, self.routes.owners)
        self.inserts_delete = leaves_by_insertion(own) if self.routes.in_phases else frozenset()

    # -- commits

    def commit(self, changes: Mapping[str, tuple[Rows, Rows]], whole: Mapping[str, Rows]) -> Changes:
        """Bring the recursion to its new state; `whole` is what lower relations have after the commit."""
        before = {name: set(self.content.get(name, ())) for name in self.stratum.relations}
        given = self.given(changes, whole)
        leaving, entering = self._split(given) if self.routes.in_phases else ({}, given)
        deletes = bool(leaving or (self.done is not None and self.done.rules.keys() - self.task.rules.keys()))
        if self.done is None or (deletes and self.unsettled):
            self.bootstraps += 1
            self.workers = [Worker(ELASTIC, steady=True) for _ in range(self.parts)]
            self.content, self.unsettled, self.done = {}, False, None
            self._run(False, {}, self.given({}, whole))
        else:
            self._run(deletes and self.routes.in_phases, leaving, entering)
        self.done = self.task
        after = {name: self.content.get(name, set()) for name in self.stratum.relations}
        return {name: (after[name] - before[name], before[name] - after[name]) for name in before}

    def _run(self, deletes: bool, leaving: Changes, entering: Changes) -> None:
        waiting: list[list[Found]] = []
        if deletes:
            assert self.done is not None
            old = without_new_rules(self.task, self.done)
            waiting += self._retract(self.step(self._addressed(leaving), old))
        first = self._addressed(entering)
        if not self.routes.in_phases:
            waiting += self._retract(self.step(first))
        else:
            for part, more in enumerate(self._sent(waiting)):
                first[part] |= more
            waiting = [self.step(first)]
        while any(given := self._sent(waiting)):
            waiting = [self.step(given)]
            if not self.routes.in_phases:
                waiting = self._retract(waiting[0])

    def _retract(self, found: list[Found]) -> list[list[Found]]:
        waiting = [found]
        while any(given := self._lost(found)):
            found = self.step(given)
            waiting.append(found)
        return waiting

    def step(self, given: list[Changes], program: FlatProgram | None = None) -> list[Found]:
        self.steps += 1
        made = []
        for part, worker in enumerate(self.workers):
            changed = {
                name: Signed(*(self._table(name, r) for r in rows)) for name, rows in given[part].items()
            }
            worker.advance(program or self.task, changed, Limits(), lambda: None)
            found = {name: self._found(worker, name) for name in sorted(self.own.relations)}
            worker.commit()
            made.append(found)
            for name, (inserted, deleted, _) in found.items():
                if name in self.stratum.relations:
                    mine = self._mine(name, part)
                    state = self.content.setdefault(name, set())
                    state -= {row for row in deleted if mine(row)}
                    state |= {row for row in inserted if mine(row)}
        return made

    def _found(self, worker: Worker, name: str) -> tuple[Rows, Rows, Rows]:
        inserted, deleted = worker.changes(name)
        return rows_of(inserted), rows_of(deleted), rows_of(worker.moved(name))

    def _table(self, name: str, rows: Rows) -> Any:
        schema = arrow_schema(self.task.relations[name].types)
        return pa.table([pa.array([r[i] for r in rows], f.type) for i, f in enumerate(schema)], schema=schema)

    # -- what is given

    def given(self, changes: Mapping[str, tuple[Rows, Rows]], whole: Mapping[str, Rows]) -> Changes:
        """The changes of what the recursion reads, under the names that partitions have for it."""
        made: Changes = {}
        reads = {name for rule in self.own.rules for name in rule.reads} | self.stratum.relations
        for name in reads & whole.keys():
            made[name] = self._change(name, name, changes, whole)
        for copy in self.copies:
            inserted, deleted = (
                {tuple(row[c] for c in copy.columns) for row in rows}
                for rows in self._change(copy.name, copy.relation, changes, whole)
            )
            made[copy.name] = inserted, deleted
        return {name: change for name, change in made.items() if any(change)}

    def _change(
        self, name: str, source: str, changes: Mapping[str, tuple[Rows, Rows]], whole: Mapping[str, Rows]
    ) -> tuple[Rows, Rows]:
        """The change of a relation; all of it if partitions do not have it yet."""
        if self.done is None or name not in self.done.relations:
            return whole.get(source, set()), set()
        return changes.get(source, (set(), set()))

    def _split(self, given: Changes) -> tuple[Changes, Changes]:
        leaving: Changes = {}
        entering: Changes = {}
        for name, (inserted, deleted) in given.items():
            turned = name in self.inserts_delete
            if inserted:
                (leaving if turned else entering)[name] = inserted, set[Row]()
            if deleted:
                (entering if turned else leaving)[name] = set[Row](), deleted
        return leaving, entering

    def _addressed(self, given: Changes) -> list[Changes]:
        columns = {c.name: c.by for c in self.copies if c.by is not None} | dict(self.routes.owners)
        made: list[Changes] = [{} for _ in range(self.parts)]
        for name, change in given.items():
            for part in range(self.parts):
                there = [
                    {
                        r
                        for r in rows
                        if name not in columns
                        or home(r[columns[name]], self.parts) == part
                        or _matches(r, self.routes.copied.get(name, ()))
                    }
                    for rows in change
                ]
                if any(there):
                    made[part][name] = there[0], there[1]
        return made

    # -- what is sent

    def _mine(self, name: str, part: int) -> Callable[[Row], bool]:
        if name not in self.routes.copied:
            return lambda row: True
        return lambda row: home(row[self.routes.owners[name]], self.parts) == part

    def _ways(self) -> Iterator[tuple[str, str, Callable[[Row, int], list[int]]]]:
        """From which relation to which other one rows travel, and to which partitions."""
        for name in sorted(self.routes.owners):
            if sent(name) in self.task.relations:
                yield sent(name), received(name), partial(self._home, self.routes.owners[name])
            if name in self.routes.copied:
                yield name, received(name), partial(self._others, name)
        for (name, column), patterns in self.routes.arranged.items():
            yield name, arranged(name, column), partial(self._arranged, name, column, patterns)

    def _home(self, column: int, row: Row, part: int) -> list[int]:
        return [home(row[column], self.parts)]

    def _arranged(
        self, name: str, column: int, patterns: tuple[Pattern, ...], row: Row, part: int
    ) -> list[int]:
        if self._mine(name, part)(row) and _matches(row, patterns):
            return self._home(column, row, part)
        return []

    def _others(self, name: str, row: Row, part: int) -> list[int]:
        copied = self._mine(name, part)(row) and _matches(row, self.routes.copied[name])
        return [p for p in range(self.parts) if p != part] if copied else []

    def _routed(self, found: list[list[Row]], to: Callable[[Row, int], list[int]]) -> list[Rows]:
        made: list[Rows] = [set() for _ in range(self.parts)]
        for part, rows in enumerate(found):
            for row in rows:
                for there in to(row, part):
                    made[there].add((part, *row))
        return made

    def _lost(self, found: list[Found]) -> list[Changes]:
        """The rows to retract from their recipients."""
        made: list[Changes] = [{} for _ in range(self.parts)]
        for source, target, to in self._ways():
            for part, rows in enumerate(self._routed([[*f[source][1], *f[source][2]] for f in found], to)):
                _add(made[part], target, set(), rows)
        return made

    def _sent(self, waiting: list[list[Found]]) -> list[Changes]:
        """The rows to send, and in phases those that better ones replace."""
        made: list[Changes] = [{} for _ in range(self.parts)]
        for source, target, to in self._ways():
            inserted, deleted = [], []
            for part in range(self.parts):
                last: dict[Row, int] = {}
                for found in waiting:
                    for rows, sign in zip(found[part][source], (1, -1, 0), strict=True):
                        last |= dict.fromkeys(rows, sign)
                if len(waiting) == 1 and self.routes.in_phases:  # while values improve
                    inserted.append([r for r in last if last[r] == 1])
                    deleted.append([r for r in last if last[r] == -1])
                    self.unsettled |= any(sign == 0 for sign in last.values())
                else:
                    inserted.append([r for r in last if last[r] >= 0])
                    deleted.append([])
            there = zip(self._routed(inserted, to), self._routed(deleted, to), strict=True)
            for part, (more, fewer) in enumerate(there):
                _add(made[part], target, more, fewer)
        self.unsettled |= any(worker.is_unsettled for worker in self.workers)
        return made


def _add(changes: Changes, name: str, inserted: Rows, deleted: Rows) -> None:
    if inserted or deleted:
        before = changes.get(name, (set(), set()))
        changes[name] = before[0] | inserted, before[1] | deleted


def _matches(row: Row, patterns: tuple[Pattern, ...]) -> bool:
    return any(all(row[i] == constant.value for i, constant in pattern) for pattern in patterns)


def rows_of(table: Any) -> Rows:
    columns = [column.to_pylist() for column in table.columns]
    return set(zip(*columns, strict=True))
