"""A unit that a local engine keeps: what it reads is asserted, what it derives is found, with its changes.

The engine's program is the unit's rules and, without rules, the relations that they read. A commit gives it
the changes of all these, by relation, as Arrow tables in the layout of frames. Wherever it works (in a task,
or in the driver), a keeper is brought to its next state in one way, so that doing it again from the same
state and the same changes gives the same relations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tidelog.engine.limits import Limits
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.matrix import Difference
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage.record import Corrupt, Record
from tidelog.engine.local.storage.saved_state import Saved, restored
from tidelog.engine.scheduler import Run, StratumStats
from tidelog.engine.spark.frames.layout import arrow_schema, decode, encode
from tidelog.engine.spark.partitions.routes import Pattern
from tidelog.plan.flat import FlatProgram, Stored, Stratum
from tidelog.program.typed import Function, PythonFunction

__all__ = ["Signed", "TooLarge", "Worker", "program_of", "read_by", "signed_rows"]

# what came and what went of relations: Arrow tables
Changed: TypeAlias = "Mapping[str, Signed]"


class Signed(NamedTuple):
    """Rows that came and rows that went: Arrow tables in the layout of frames."""

    inserted: Any
    deleted: Any


class TooLarge(Exception):
    """A unit has more rows than its keeper may have."""


def read_by(stratum: Stratum) -> frozenset[str]:
    """The relations that a unit reads from below."""
    return stratum.reads - stratum.relations


def program_of(
    stratum: Stratum, relations: Mapping[str, Stored], functions: Mapping[str, Function | PythonFunction]
) -> FlatProgram:
    """The program of a unit's keeper: the relations that it reads, without rules, and the unit, the last."""
    below = sorted(read_by(stratum))
    return FlatProgram(
        {name: relations[name] for name in (*below, *sorted(stratum.relations))},
        {rule.id: rule for rule in stratum.rules},
        functions=functions,
        strata=(*(Stratum(frozenset([name]), (), recursive=False) for name in below), stratum),
    )


def signed_rows(program: FlatProgram, relation: str, inserted: Any = None, deleted: Any = None) -> Signed:
    """Rows of a relation, none where none are given."""
    nothing = arrow_schema(program.relations[relation].types).empty_table()
    return Signed(nothing if inserted is None else inserted, nothing if deleted is None else deleted)


class Worker:
    """`limit` is how many rows all its relations may have together, if there is one.

    A *steady* one updates whatever that costs: what it does not touch keeps its rank.
    """

    def __init__(self, strategy: str, limit: int | None = None, *, steady: bool = False) -> None:
        self._limit = limit
        self._begin(LocalEngine(), strategy, steady)

    def _begin(self, engine: LocalEngine, strategy: str, steady: bool) -> None:
        self._engine = engine
        self._run = Run(engine, strategy, switch=None) if steady else Run(engine, strategy)
        self._program = FlatProgram()
        self._next = FlatProgram()

    def advance(
        self, program: FlatProgram, changes: Changed, limits: Limits, check: Callable[[], None]
    ) -> StratumStats:
        """Carry a commit out; `commit` or `rollback` ends it. The last unit of the program is the one."""

        def checked() -> None:
            check()
            if self._limit is not None and self.rows > self._limit:
                raise TooLarge

        self._engine.prepare(program)
        for name, (inserted, deleted) in changes.items():
            types = program.relations[name].types
            if inserted.num_rows or deleted.num_rows:
                self._engine.assert_rows(name, *(self._codes(types, rows) for rows in (inserted, deleted)))
        checked()
        stats = self._run.commit(self._program, program, limits, checked)
        self._next = program
        own = [stratum for stratum in stats.strata if stratum.name == program.strata[-1].name]
        return own[-1] if own else StratumStats(program.strata[-1].name, "update", "nothing reached it")

    @property
    def instances(self) -> int:
        """How many instances the commit at work has found so far."""
        return self._run.instances

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self._engine.tables.values())

    def changes(self, relation: str) -> Signed:
        """What entered and left a relation in the commit at work."""
        types = self._next.relations[relation].types
        found = (x.codes() if isinstance(x, Difference) else x for x in self._engine.changes(relation))
        inserted, deleted = (decode(self._engine.codec, types, codes.T) for codes in found)
        return Signed(inserted, deleted)

    def apart(self, relation: str, patterns: Sequence[Pattern]) -> Signed:
        """What came that is not asserted, and of what is asserted that which patterns mean."""
        types, table = self._next.relations[relation].types, self._engine.tables[relation]
        inserted = self._engine.change(relation).inserted
        is_given = table.given[inserted] != 0
        given, meant = table.data[inserted[is_given]], np.zeros(int(is_given.sum()), bool)
        for pattern in patterns:
            of = np.ones(len(given), bool)
            for column, constant in pattern:
                of &= given[:, column] == self._engine.codec.encode(types[column], constant.value)
            meant |= of
        rows = table.data[inserted[~is_given]], given[meant]
        return Signed(*(decode(self._engine.codec, types, codes.T) for codes in rows))

    def moved(self, relation: str) -> Any:
        """The tuples that the commit at work has given another rank: they lost all that supported them."""
        change = self._engine.change(relation)
        return decode(self._engine.codec, self._next.relations[relation].types, change.moved().T)

    def _codes(self, types: Any, rows: Any) -> Codes:
        return np.ascontiguousarray(encode(self._engine.codec, types, rows).T)

    def commit(self) -> None:
        self._engine.commit()
        self._engine.forget(self._next)
        self._program = self._next

    def rollback(self) -> None:
        self._engine.rollback()
        self._engine.forget(self._program)

    # -- between commits

    def state(self) -> Record:
        """What it is, to be written; its program is not part of it."""
        used = self._engine.unused_values()
        if used:
            self._engine.forget_values(used)
        return Saved(self._engine, self._run.costs).record()

    @classmethod
    def of(cls, state: Record, program: FlatProgram, strategy: str, *, steady: bool = False) -> Worker:
        """The keeper that `state` was asked of; `program` is the one that it had."""
        made = cls(strategy)
        found = restored(state, program)
        if found is None:
            raise Corrupt("a state of another program")
        made._begin(found.engine, strategy, steady)
        made._run.costs.update(found.costs)
        made._next = program
        made._engine.prepare(program)
        made.commit()
        return made
