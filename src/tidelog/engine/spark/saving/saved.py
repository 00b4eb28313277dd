"""The state of a session in DataFrames, to be written: relations with ranks and counts, and what tasks keep.

- A relation is its rows in files, with ranks and counts if these are known. They say in which order tuples
  were derived, which does not depend on how the rows are divided.
- A stratum in tasks is one file for each partition, with the whole state of its engine. Together with the
  columns by which it is divided and its routes, any later session with the same program continues from it.
- A stratum in the driver is one file.

Tasks write all files, in one job. The description names them; it has only plain values.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

from tidelog.engine.local.storage.record import Record, write_record
from tidelog.engine.local.storage.saved_state import Costs, described_types
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.frames.relation_state import COUNT, RelationState
from tidelog.engine.spark.joins.instances import RANK
from tidelog.engine.spark.partitions.divided import Divided, Settings
from tidelog.engine.spark.partitions.routes import Routes
from tidelog.engine.spark.partitions.strata import Here
from tidelog.engine.spark.saving.parts import Written, written, written_partitions, written_rows
from tidelog.errors import EngineError
from tidelog.maintain.strategy import ELASTIC
from tidelog.plan.flat import FlatProgram, Kind
from tidelog.store.files import Files
from tidelog.store.states import StatePart, part_name

__all__ = ["SavedFrames", "print_of", "seeded"]

_FACTS, _GIVEN, _DIVIDED = "facts", "given", "divided"


@dataclass(slots=True)
class SavedFrames:
    """The state of an engine at its last commit, without its rules; `write_parts` comes before `record`."""

    engine: SparkEngine
    program: FlatProgram
    costs: Costs
    working: Callable[[], AbstractContextManager[None]]
    place: str = "DataFrames"
    _written: dict[str, list[Written]] = field(default_factory=dict)
    _here: dict[frozenset[str], str] = field(default_factory=dict)

    def write_parts(self, files: Files, state: str) -> Sequence[StatePart]:
        """Write the files of a state. Raises OSError."""
        try:
            with self.working():
                notes = self._notes(files, state)
        except EngineError as error:
            raise OSError(5, str(error)) from None
        found = defaultdict(list)
        for one in written(notes):
            found[one.label].append(one)
        self._written = dict(found)
        parts = [one.part for ones in self._written.values() for one in ones]
        for part in parts:
            _expect_here(files, part)
        for relations, here in self.engine.whole.here.items():
            parts.append(_put_here(files, state, here))
            self._here[relations] = parts[-1].file
        return parts

    def _notes(self, files: Files, state: str) -> list[dict[str, Any]]:
        """Write in tasks, in one job."""
        engine, work = self.engine, []
        for name, relation in engine.states.items():
            columns = _columns(relation)
            for kind, checkpoint, wanted in (
                (_FACTS, relation.facts, columns),
                (_GIVEN, relation.given, relation.names),
            ):
                if checkpoint.size and not (kind == _GIVEN and relation.is_given):
                    frame = checkpoint.frame.select(*wanted)
                    work.append(written_rows(frame, checkpoint.size, _label(kind, name), files, state))
        for relations, divided in engine.whole.divided.items():
            label = _label(_DIVIDED, *sorted(relations))
            strategy = engine.whole.strategy if divided.routes is None else ELASTIC
            settings = Settings(strategy, engine.whole.limits)
            work.append(written_partitions(divided, label, settings, engine.checkpoints, files, state))
        return engine.checkpoints.notes(work)

    def record(self) -> Record:
        engine, whole = self.engine, self.engine.whole
        values = {
            "spark": engine.checkpoints.spark.version,
            "strategy": whole.strategy.name,
            "rules": print_of(self.program),
            "seeded": sorted(seeded(self.program)),
            "types": described_types({n: s.types for n, s in self.program.relations.items()}),
            "relations": {name: self._relation(name, state) for name, state in engine.states.items()},
            "divided": [self._divided(names, divided) for names, divided in whole.divided.items()],
            "here": [[sorted(names), self._here[names]] for names in whole.here],
            "outgrown": [sorted(names) for names in whole.outgrown],
            "deep": [sorted(names) for names in whole.deep],
            "late": [[sorted(names), rows] for names, rows in whole.late.items()],
            "costs": [[sorted(names), asdict(cost)] for names, cost in self.costs.items()],
        }
        return Record(values)

    def _relation(self, name: str, state: RelationState) -> dict[str, Any]:
        return {
            "highest": state.highest,
            "is_ranked": state.is_ranked,
            "is_given": state.is_given,
            "rows": state.facts.size,
            "files": self._files(_FACTS, name),
            "given_rows": state.given.size,
            "given": self._files(_GIVEN, name),
        }

    def _divided(self, relations: frozenset[str], divided: Divided) -> dict[str, Any]:
        return {
            "relations": sorted(relations),
            "through": None if divided.through is None else dict(divided.through),
            "partitions": divided.partitions,
            "routes": None if divided.routes is None else _described(divided.routes),
            "work": divided.work,
            "unsettled": divided.unsettled,
            "rows": divided.rows,
            "files": self._files(_DIVIDED, *sorted(relations)),
        }

    def _files(self, *label: str) -> list[str]:
        found = self._written.get(_label(*label), [])
        return [one.part.file for one in sorted(found, key=lambda one: one.number)]


def _label(*names: str) -> str:
    return json.dumps(names)


def _columns(state: RelationState) -> list[str]:
    """The columns that are saved: ranks and counts only if they are known and not the same in all rows."""
    return [*state.names, RANK, COUNT] if state.is_ranked and not state.is_given else state.names


def _expect_here(files: Files, part: StatePart) -> None:
    """Raise OSError if a file that a task has written is not in a local store as the driver sees it."""
    if files.folder is not None:
        found = (files.folder / part.file).stat().st_size
        if found != part.size:
            raise OSError(5, f"{files.where(part.file)} has {found:,} bytes instead of {part.size:,}")


def _put_here(files: Files, state: str, here: Here) -> StatePart:
    """Write the state of a stratum in the driver."""
    name, record = part_name(state), here.worker.state()
    size, digest = files.put(name, lambda out: write_record(out, record, compressed=True))
    return StatePart(name, size, digest)


def _described(routes: Routes) -> dict[str, Any]:
    """Routes in values of JSON; patterns are those of rules, so their texts identify them."""
    return {
        "owners": dict(routes.owners),
        "copied": {name: [repr(pattern) for pattern in found] for name, found in routes.copied.items()},
        "sending": sorted(routes.sending),
        "readings": sorted([*reading[:4], repr(reading.pattern)] for reading in routes.readings),
        "beside": sorted(list(beside) for beside in routes.beside),
        "in_phases": routes.in_phases,
        "broadcast": sorted(routes.broadcast),
    }


def seeded(program: FlatProgram) -> frozenset[str]:
    """The relations of seeds in a program."""
    return frozenset(name for name, stored in program.relations.items() if stored.kind is Kind.SEEDS)


def print_of(program: FlatProgram) -> str:
    """A fingerprint of the rules of a program: whose instances the counts of its tuples count."""
    return _digest(sorted(f"{rule.id}\0{rule.head}" for rule in program.rules.values()))


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
