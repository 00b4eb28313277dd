"""A worker: a local engine that maintains one stratum.

Its program has the rules of the stratum, and the relations that they read as asserted facts. A commit passes
it the changes of all these, by relation, as Arrow tables in the layout of frames. A worker works in the same
way in a task and in the driver: repeating a commit from the same state with the same changes gives the same
relations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from tidelog.data.values import to_text
from tidelog.engine.limits import Limits
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.commits import LocalCommits
from tidelog.engine.local.storage.record import Corrupt, Record
from tidelog.engine.local.storage.snapshot import Unread
from tidelog.engine.scheduler import SWITCH
from tidelog.engine.spark.frames.layout import arrow_schema, decode, encode
from tidelog.engine.spark.partitions.routes import Pattern
from tidelog.engine.statistics import StratumStats
from tidelog.maintain.strategy import Strategy
from tidelog.plan.flat import FlatProgram, Stored, Stratum
from tidelog.program.declared import Function, PythonFunction

__all__ = ["Signed", "Worker", "program_of", "read_by", "signed_rows"]

# inserted and deleted rows by relation
Changed: TypeAlias = "Mapping[str, Signed]"


class Signed(NamedTuple):
    """Inserted and deleted rows: Arrow tables in the layout of frames."""

    inserted: Any
    deleted: Any


_VALUE: Final = 100  # bytes of an interned value
_CROWD: Final = 100_000  # rows of a partition from which hot keys matter
_HOT: Final = 0.25  # of the rows of a relation in a partition


class _TooLarge(Exception):
    """The row limit is exceeded. Raised and caught here; the engine lets it propagate."""


def read_by(stratum: Stratum) -> frozenset[str]:
    """The relations that a stratum reads from below."""
    return stratum.reads - stratum.relations


def program_of(
    stratum: Stratum, relations: Mapping[str, Stored], functions: Mapping[str, Function | PythonFunction]
) -> FlatProgram:
    """The program of a stratum's worker: the relations that it reads, without rules, then the stratum."""
    below = sorted(read_by(stratum))
    totals = stratum.totals
    more = () if totals is None else sorted(totals.temporary)
    return FlatProgram(
        {name: relations[name] for name in (*below, *sorted(stratum.relations), *more)},
        {rule.id: rule for rule in stratum.rules},
        {} if totals is None else {grouping.results: grouping for grouping in totals.groupings},
        functions=functions,
        strata=(*(Stratum(frozenset([name]), (), recursive=False) for name in below), stratum),
    )


def signed_rows(program: FlatProgram, relation: str, inserted: Any = None, deleted: Any = None) -> Signed:
    """The changes of a relation; by default no rows."""
    nothing = arrow_schema(program.relations[relation].types).empty_table()
    return Signed(nothing if inserted is None else inserted, nothing if deleted is None else deleted)


class Worker:
    """A *steady* worker never falls back to a bootstrap: tuples that updates do not touch keep their rank."""

    def __init__(self, strategy: Strategy, *, steady: bool = False) -> None:
        self._have(LocalCommits(strategy, switch=None if steady else SWITCH))

    def _have(self, commits: LocalCommits) -> None:
        self._commits, self._engine = commits, commits.engine
        self._next = commits.program

    def advance(
        self, program: FlatProgram, changes: Changed, limits: Limits, check: Callable[[], None]
    ) -> StratumStats:
        """Run a commit; `commit` or `rollback` ends it. The program's last stratum is the worker's own."""
        self._commits.begin(program)
        for name, (inserted, deleted) in changes.items():
            types = program.relations[name].types
            if inserted.num_rows or deleted.num_rows:
                self._commits.stage(name, *(self._codes(types, rows) for rows in (inserted, deleted)))
        check()
        stats = self._commits.run(replace(limits, max_threads=1), check)  # Spark has a task for each core
        self._next = program
        own = [stratum for stratum in stats.strata if stratum.name == program.strata[-1].name]
        return own[-1] if own else StratumStats(program.strata[-1].name, "update", "no change reached it")

    def advance_within(
        self, most: int, program: FlatProgram, changes: Changed, limits: Limits, check: Callable[[], None]
    ) -> StratumStats | None:
        """The same; None if all relations together exceed `most` rows. Then only `rollback` is allowed."""

        def checked() -> None:
            check()
            if self.rows > most:
                raise _TooLarge

        try:
            return self.advance(program, changes, limits, checked)
        except _TooLarge:
            return None

    @property
    def instances(self) -> int:
        """How many instances the current commit has found so far."""
        return self._commits.scheduler.instances

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self._engine.tables.values())

    @property
    def nbytes(self) -> int:
        """About how many bytes the state takes."""
        values = sum(len(dictionary) for dictionary in self._engine.codec.dictionaries.values())
        return _VALUE * values + sum(table.nbytes for table in self._engine.tables.values())

    def changes(self, relation: str) -> Signed:
        """The rows that the current commit inserted into and deleted from a relation."""
        types = self._next.relations[relation].types
        found = (x.codes() if isinstance(x, Unread) else x for x in self._engine.changes(relation))
        inserted, deleted = (decode(self._engine.codec, types, codes.T) for codes in found)
        return Signed(inserted, deleted)

    def apart(self, relation: str, patterns: Sequence[Pattern]) -> Signed:
        """The inserted tuples that are not asserted, and the asserted ones that match a pattern."""
        types, table = self._next.relations[relation].types, self._engine.tables[relation]
        inserted = self._engine.change(relation).inserted
        is_given = table.given[inserted] != 0
        given, meant = table.codes(inserted[is_given]), np.zeros(int(is_given.sum()), bool)
        for pattern in patterns:
            of = np.ones(len(given), bool)
            for column, constant in pattern:
                of &= given[:, column] == self._engine.codec.encode(types[column], constant.value)
            meant |= of
        rows = table.codes(inserted[~is_given]), given[meant]
        return Signed(*(decode(self._engine.codec, types, codes.T) for codes in rows))

    def moved(self, relation: str) -> Any:
        """The tuples whose rank changed in the current commit, because they lost all their support."""
        change = self._engine.change(relation)
        return decode(self._engine.codec, self._next.relations[relation].types, change.moved().T)

    @property
    def is_unsettled(self) -> bool:
        """Whether tuples were left without a rank: they rest on superseded values."""
        return any(table.unsettled for table in self._engine.tables.values())

    def hot_key(self, through: Mapping[str, int]) -> str:
        """A key with a large part of the rows of a relation, which is divided by this column; "" if none.

        All rows with a key are in one partition, whose task can take long for them.
        """
        for name, column in sorted(through.items()):
            table = self._engine.tables.get(name)
            if table is None or table.live < _CROWD or name in self._engine.dense.bits:
                continue
            values, counts = np.unique(table.column(column, table.alive()), return_counts=True)
            most = int(counts.argmax())
            if counts[most] > _HOT * table.live:
                stored = self._next.relations[name]
                type_ = stored.types[column]
                shown = stored.columns[column] if column < len(stored.columns) else f"column {column}"
                value = to_text(type_, self._engine.codec.decode(type_, int(values[most])))
                relation = stored.title or name
                return f"{counts[most]:,} rows of {relation} have {shown} = {value}, all in one task"
        return ""

    def _codes(self, types: Any, rows: Any) -> Codes:
        return np.ascontiguousarray(encode(self._engine.codec, types, rows).T)

    def commit(self) -> None:
        self._commits.publish()

    def rollback(self) -> None:
        self._commits.roll_back()
        self._next = self._commits.program

    # -- between commits

    def state(self) -> Record:
        """The state to write, without the program."""
        used = self._engine.unused_values()
        if used:
            self._engine.forget_values(used)
        return self._commits.save().record()

    @classmethod
    def of(cls, state: Record, program: FlatProgram, strategy: Strategy, *, steady: bool = False) -> Worker:
        """The worker with this saved `state`; `program` is the one that it had."""
        commits = LocalCommits.resume(program, state, strategy, None if steady else SWITCH)
        if commits is None:
            raise Corrupt("the state belongs to another program")
        made = cls(strategy, steady=steady)
        made._have(commits)
        return made
