"""Tidelog's interface for measurements: commits of Arrow tables, with their change sets and costs.

Only this module depends on how the engine is driven.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.engine.limits import Limits
from tidelog.engine.local.codes.arrow import decode_table, encode_table
from tidelog.engine.local.commits import LocalCommits
from tidelog.engine.scheduler import SWITCH
from tidelog.maintain.strategy import STRATEGIES
from tidelog.plan.flatten import flatten
from tidelog.program.draft import Draft

__all__ = ["Commit", "Database"]


@dataclass(frozen=True, slots=True)
class Commit:
    """The result of a commit; `strategy` names the strategies of the touched strata with rules."""

    inserted: int
    deleted: int
    instances: int
    rounds: int
    strategy: str


class Database:
    """`switch` is the share of a bootstrap's time after which an update falls back, if not the default.

    If it is infinite, everything is updated. Costs are measured by `clock`. With `plain`, all relations are
    stored as rows, even dense ones.
    """

    def __init__(
        self,
        text: str,
        strategy: str = "elastic",
        switch: float | None = None,
        *,
        plain: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._draft = Draft()
        self._draft.load(text)
        self._program = self._draft.finish()
        self._commits = LocalCommits(STRATEGIES[strategy], SWITCH if switch is None else switch)
        self._commits.scheduler.clock = clock
        self._engine = self._commits.engine
        if plain:
            self._engine.follow_scripts()

    def commit(
        self,
        inserts: Mapping[str, Any] | None = None,
        deletes: Mapping[str, Any] | None = None,
        *,
        add: str | None = None,
        remove: str | None = None,
    ) -> Commit:
        """Change facts and rules; return when the change set is readable."""
        if add is not None:
            self._draft.add_rule(add)
        if remove is not None:
            self._draft.remove_rule(remove)
        if add is not None or remove is not None:
            self._program = self._draft.finish()
        flat = self._commits.program
        if add is not None or remove is not None or not flat.relations:
            flat = flatten(self._program)
        self._commits.begin(flat)
        for name in {**(inserts or {}), **(deletes or {})}:
            self._commits.stage(name, self._codes(name, inserts), self._codes(name, deletes))
        stats = self._commits.run(Limits())
        changes = [self._commits.changes(name) for name in self._program.relations]
        self._commits.publish()
        derived = {rule.head for rule in flat.rules.values()}
        return Commit(
            sum(len(inserted) for inserted, _ in changes),
            sum(len(deleted) for _, deleted in changes),
            stats.instances,
            stats.rounds,
            ",".join(sorted({u.strategy for u in stats.strata if u.name.split(",")[0] in derived})),
        )

    def _codes(self, name: str, tables: Mapping[str, Any] | None) -> Any:
        relation = self._program.relations[name]
        given = (tables or {}).get(name)
        if given is None:
            return np.empty((0, len(relation.columns)), np.int64)
        return np.ascontiguousarray(encode_table(self._engine.codec, relation, given).T)

    def memory(self, relation: str) -> int:
        """The bytes that the arrays of a relation take."""
        return self._engine.tables[relation].nbytes

    def size(self, relation: str) -> int:
        return self._engine.size(relation)

    def tuples(self) -> int:
        """The number of tuples, including hidden relations."""
        return sum(self._engine.size(name) for name in self._commits.program.relations)

    def table(self, relation: str) -> Any:
        codes = np.ascontiguousarray(self._engine.rows(relation).T)
        return decode_table(self._engine.codec, self._program.relations[relation], codes)

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(self._program.relations)

    @property
    def nbytes(self) -> int:
        """The size of all state, without the dictionary of interned values."""
        return sum(table.nbytes for table in self._engine.tables.values())
