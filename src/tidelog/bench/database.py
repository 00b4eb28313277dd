"""Tidelog as the measurements see it: Arrow tables in, a commit, its change set and its cost out.

This is the only module that knows how Tidelog is driven.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.engine.local.codes.arrow import decode_table, encode_table
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.scheduler import Limits, Run
from tidelog.plan.flat import FlatProgram
from tidelog.plan.flatten import flatten
from tidelog.program.draft import Draft

__all__ = ["Commit", "Database"]


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit did; `strategy` names what each touched unit with rules went through."""

    came: int
    went: int
    instances: int
    rounds: int
    strategy: str


class Database:
    """`switch` is the share of a bootstrap's time at which an update is given up, if not the usual one.

    A `plain` one keeps all relations as rows, however dense they are.
    """

    def __init__(
        self, text: str, strategy: str = "elastic", switch: float | None = None, *, plain: bool = False
    ) -> None:
        self._draft = Draft()
        self._draft.load(text)
        self._program = self._draft.finish()
        self._engine = LocalEngine()
        if plain:
            self._engine.refrain()
        self._run = Run(self._engine, strategy) if switch is None else Run(self._engine, strategy, switch)
        self._flat = FlatProgram()

    def commit(
        self,
        inserts: Mapping[str, Any] | None = None,
        deletes: Mapping[str, Any] | None = None,
        *,
        add: str | None = None,
        remove: str | None = None,
    ) -> Commit:
        """Change facts and rules; returns when the change set can be read."""
        if add is not None:
            self._draft.add_rule(add)
        if remove is not None:
            self._draft.remove_rule(remove)
        if add is not None or remove is not None:
            self._program = self._draft.finish()
        flat = self._flat
        if add is not None or remove is not None or not flat.relations:
            flat = flatten(self._program)
        self._engine.prepare(flat)
        for name in {**(inserts or {}), **(deletes or {})}:
            came, went = self._codes(name, inserts), self._codes(name, deletes)
            self._engine.assert_rows(name, came, went)
        stats = self._run.commit(self._flat, flat, Limits())
        changes = [self._engine.changes(name) for name in self._program.relations]
        self._engine.commit()
        self._engine.forget(flat)
        self._flat = flat
        derived = {rule.head for rule in flat.rules.values()}
        return Commit(
            sum(len(came) for came, _ in changes),
            sum(len(went) for _, went in changes),
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

    def size(self, relation: str) -> int:
        return self._engine.size(relation)

    def tuples(self) -> int:
        """How many tuples there are, hidden relations included."""
        return sum(self._engine.size(name) for name in self._flat.relations)

    def table(self, relation: str) -> Any:
        codes = np.ascontiguousarray(self._engine.rows(relation).T)
        return decode_table(self._engine.codec, self._program.relations[relation], codes)

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(self._program.relations)

    @property
    def nbytes(self) -> int:
        """The memory of all state, without the dictionary of interned values."""
        return sum(table.nbytes for table in self._engine.tables.values())
