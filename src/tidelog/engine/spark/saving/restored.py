"""Restores the state of a session in DataFrames from its files.

The state is restored under the program that it was saved with, divided as it was; the next commit brings it
to the present one. What cannot be used is left out and bootstrapped when it is needed (`LocalStrata.lost`):

- A stratum in tasks goes on with the number of partitions that it was saved with, unless the session now uses
  many times more or fewer.
- A placement can give a recursion hidden relations of its own (see `plan.seeds`). If another placement does
  not, counts and ranks of that stratum count instances of other rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tidelog.data.types import Type
from tidelog.engine.local.storage.record import Corrupt, expect, read_record
from tidelog.engine.local.storage.saved_state import Costs, cost_from, described_types
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.frames.checkpoints import Checkpoint
from tidelog.engine.spark.frames.layout import arrow_schema, columns
from tidelog.engine.spark.frames.relation_state import COUNT, RelationState, empty_state
from tidelog.engine.spark.joins.instances import RANK
from tidelog.engine.spark.partitions.divided import Divided
from tidelog.engine.spark.partitions.routes import Beside, Reading, Routes, named
from tidelog.engine.spark.partitions.strata import Here
from tidelog.engine.spark.partitions.worker import Worker, program_of
from tidelog.engine.spark.saving.parts import copied, read_rows, reading, rows_in
from tidelog.engine.spark.saving.saved import print_of, seeded
from tidelog.plan.flat import FlatProgram, Stratum
from tidelog.plan.flatten import flatten
from tidelog.plan.seeds import SEEDS, with_seeds
from tidelog.program.model import Program
from tidelog.store.states import StateParts, Unusable

__all__ = ["RestoredFrames", "restore"]

_ELSEWHERE: Final = "its state is of another placement"
_MOST: Final = 4  # times more or fewer partitions than the session uses now


@dataclass(frozen=True, slots=True)
class RestoredFrames:
    """What was restored: the program that it belongs to, and the costs of its strata.

    `is_other` says that the program differs from the one that the engine now makes of the same rules.
    """

    program: FlatProgram
    is_other: bool
    costs: Costs


def restore(
    engine: SparkEngine, program: Program, values: Mapping[str, Any], parts: StateParts
) -> RestoredFrames:
    """Restore an engine without relations. Raises Unusable, Corrupt or EngineError; it is of no use then."""
    try:
        return _Restoring(engine, program, values, parts).done()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Corrupt(f"{type(error).__name__}: {error}") from None


class _Restoring:
    def __init__(
        self, engine: SparkEngine, program: Program, values: Mapping[str, Any], parts: StateParts
    ) -> None:
        self._engine = engine
        self._values = values
        self._parts = parts
        self._checkpoints = engine.checkpoints
        now = engine.flat(program)
        self.is_other = sorted(seeded(now)) != values["seeded"]
        then = now
        if self.is_other:
            apart = {name.removesuffix(SEEDS) for name in values["seeded"]}
            then = with_seeds(flatten(program), lambda stratum: not apart.isdisjoint(stratum.relations))
        self.program = then
        rules = {stratum.relations: stratum.rules for stratum in now.strata}
        self._changed = {s.relations for s in then.strata if rules.get(s.relations, s.rules) != s.rules}

    def done(self) -> RestoredFrames:
        self._expect_fit()
        self._engine.restore(self.program, self._relations())
        self._take_divided()
        self._take_here()
        whole, values = self._engine.whole, self._values
        whole.lost |= {s.name: _ELSEWHERE for s in self.program.strata if s.relations in self._changed}
        whole.outgrown = {frozenset(names) for names in values["outgrown"]}
        whole.deep = {frozenset(names) for names in values["deep"]}
        whole.late = {frozenset(names): int(rows) for names, rows in values["late"]}
        costs = {frozenset(map(str, names)): cost_from(cost) for names, cost in values["costs"]}
        return RestoredFrames(self.program, self.is_other, costs)

    def _expect_fit(self) -> None:
        """Raise Unusable if the state belongs to another program, strategy or version of Spark."""
        values, whole = self._values, self._engine.whole
        version = self._checkpoints.spark.version
        if values["spark"] != version:
            raise Unusable(f"the saved state was written by Spark {values['spark']}; this is {version}")
        if values["strategy"] != whole.strategy.name:
            raise Unusable(
                f"the saved state is of the strategy `{values['strategy']}`; this is `{whole.strategy.name}`"
            )
        types = described_types({name: stored.types for name, stored in self.program.relations.items()})
        if values["types"] != types or values["rules"] != print_of(self.program):
            raise Unusable("the saved state belongs to another program")
        expect(values["relations"].keys() == self.program.relations.keys(), "missing or extra relations")

    # -- relations

    def _relations(self) -> dict[str, RelationState]:
        """All relations, read in one job."""
        saved = self._values["relations"]
        types = {name: self.program.relations[name].types for name in saved}
        wanted = {}
        for name, one in saved.items():
            ranked = one["is_ranked"] and not one["is_given"]
            wanted[name, "files"] = _Rows(types[name], one["files"], one["rows"], ranked)
            wanted[name, "given"] = _Rows(types[name], one["given"], one["given_rows"], False)
            if one["is_given"]:
                del wanted[name, "given"]
        found = self._read(wanted)
        return {name: self._state(name, types[name], one, found) for name, one in saved.items()}

    def _state(
        self,
        name: str,
        types: tuple[Type, ...],
        saved: Mapping[str, Any],
        found: Mapping[tuple[str, str], Checkpoint],
    ) -> RelationState:
        facts, given = found[name, "files"], found.get((name, "given"), found[name, "files"])
        is_ranked, highest = bool(saved["is_ranked"]), int(saved["highest"])
        if not facts.size:
            facts = empty_state(types, self._checkpoints).facts
        elif not is_ranked or saved["is_given"]:
            placed = [*columns(len(types)), f"0L as {RANK}", f"1L as {COUNT}"]
            facts = facts.with_columns(facts.frame.selectExpr(*placed))
        if any(name in relations for relations in self._changed):
            is_ranked = False
        return RelationState(types, facts, given, highest, is_ranked, bool(saved["is_given"]))

    def _read(self, wanted: Mapping[tuple[str, str], _Rows]) -> dict[tuple[str, str], Checkpoint]:
        found, frames = {}, {}
        for key, rows in wanted.items():
            if not rows.size:
                found[key] = self._checkpoints.nothing(rows.types)
            elif rows.size <= self._checkpoints.small:
                tables = [rows_in(name, self._parts, rows.schema) for name in rows.files]
                found[key] = self._checkpoints.rows(pa.concat_tables(tables).select(rows.names))
            else:
                frame = read_rows(rows.files, self._parts, rows.schema, self._checkpoints)
                by = self._engine.divided_by(self.program, key[0]) or columns(len(rows.types))
                frames[key] = frame.repartition(self._checkpoints.partitions, *by)
        found |= self._checkpoints.read(frames)
        for key, rows in wanted.items():
            expect(found[key].size == rows.size, f"{found[key].size:,} rows instead of {rows.size:,}")
        return found

    # -- strata on local engines

    def _take_divided(self) -> None:
        """Copy the state of partitions to the scratch folder, in one job."""
        usable = []
        for saved in self._values["divided"]:
            stratum = self._stratum(saved["relations"])
            why = self._why_not(stratum, saved)
            if why:
                self._engine.whole.lost[stratum.name] = why
            else:
                usable.append((stratum, saved))
        frames = [
            reading(str(number), saved["files"], self._checkpoints.scratch, self._parts, self._checkpoints)
            for number, (_, saved) in enumerate(usable)
        ]
        files: dict[str, dict[int, str]] = {}
        for one in copied(self._checkpoints.notes(frames)):
            files.setdefault(one.label, {})[one.number] = one.file
        for number, (stratum, saved) in enumerate(usable):
            made = files.get(str(number), {})
            names = tuple((made[part],) for part in range(saved["partitions"]))
            self._engine.whole.divided[stratum.relations] = self._divided(stratum, saved, names)

    def _why_not(self, stratum: Stratum, saved: Mapping[str, Any]) -> str:
        """Why the state of a stratum in tasks cannot be used; "" if it can."""
        before, now = saved["partitions"], self._checkpoints.partitions
        expect(before == len(saved["files"]) and before > 0, "missing partitions")
        if stratum.relations in self._changed:
            return _ELSEWHERE
        if saved["through"] is not None and not before <= _MOST * now <= _MOST * _MOST * before:
            return f"its state has {before:,} partitions, and Spark now uses {now:,}"
        return ""

    def _divided(
        self, stratum: Stratum, saved: Mapping[str, Any], files: tuple[tuple[str, ...], ...]
    ) -> Divided:
        routes = None if saved["routes"] is None else _routes(saved["routes"], stratum)
        task = self._engine.whole.task(stratum, self.program.relations, self.program.functions, routes)
        expect(task.through == saved["through"], "divided by other columns")
        return Divided(
            (task.program,),
            task.through,
            int(saved["partitions"]),
            routes,
            files,
            0,
            int(saved["work"]),
            bool(saved["unsettled"]),
            int(saved["rows"]),
        )

    def _take_here(self) -> None:
        whole = self._engine.whole
        for names, file in self._values["here"]:
            stratum = self._stratum(names)
            if stratum.relations in self._changed:
                continue
            program = program_of(stratum, self.program.relations, self.program.functions)
            worker = Worker.of(read_record(self._parts.content(file)), program, whole.strategy)
            whole.here[stratum.relations] = Here(worker, program)

    def _stratum(self, names: Iterable[str]) -> Stratum:
        relations = frozenset(names)
        found = next((s for s in self.program.strata if s.relations == relations), None)
        if found is None:
            raise Corrupt("unknown stratum")
        return found


@dataclass(frozen=True, slots=True)
class _Rows:
    """Saved rows of a relation; if they are `ranked`, with ranks and counts."""

    types: tuple[Type, ...]
    files: Sequence[str]
    size: int
    ranked: bool

    @property
    def names(self) -> list[str]:
        return [*columns(len(self.types)), *([RANK, COUNT] if self.ranked else [])]

    @property
    def schema(self) -> Any:
        fields = list(arrow_schema(self.types))
        if self.ranked:
            fields += [pa.field(RANK, pa.int64()), pa.field(COUNT, pa.int64())]
        return pa.schema([f.with_nullable(True) for f in fields])


def _routes(saved: Mapping[str, Any], stratum: Stratum) -> Routes:
    """Routes that were described. Raises Corrupt if they are not those of this stratum."""
    known = {repr(pattern): pattern for patterns in named(stratum).values() for pattern in patterns}
    known["()"] = ()
    expect({rule.id for rule in stratum.rules} >= set(saved["sending"]), "unknown rule")
    return Routes(
        {str(name): int(column) for name, column in saved["owners"].items()},
        {str(name): tuple(known[text] for text in texts) for name, texts in saved["copied"].items()},
        frozenset(saved["sending"]),
        frozenset(Reading(r, int(i), n, int(c), known[text]) for r, i, n, c, text in saved["readings"]),
        frozenset(Beside(r, int(i), n, int(c)) for r, i, n, c in saved["beside"]),
        bool(saved["in_phases"]),
        frozenset(saved["broadcast"]),
    )
