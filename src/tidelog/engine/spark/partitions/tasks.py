"""Strata on local engines in tasks: one engine for each partition.

The changes of what is partitioned (a recursion's seeds, and the asserted facts of its relations) travel in
one frame. A row has the number of its relation, whether it was inserted or deleted, the columns of every
relation side by side, and the value that the recursion passes through, by which rows are partitioned. The
changes of everything else that the rules read are sent along with the task. A task brings its worker from the
last state to the next. It answers with the changes of the stratum, and a note that names the file that it
left for the next commit.

Where there are routes (see `routes`), tasks also answer with the tuples to send, and with those whose rank
changed; `exchange` delivers them.

The file has the whole state only now and then (a *base*). In between it has the input of the commit (a
*log*), which the next commit replays. Replaying takes no longer than the commit took; writing every state
would. A new base is written when replaying would take about as long as reading one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.engine.local.storage.record import Record
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints, union
from tidelog.engine.spark.frames.layout import arrow_schema, columns, spark_type, stored, whole
from tidelog.engine.spark.partitions.divided import Divided, Settings, worker_of
from tidelog.engine.spark.partitions.packing import packed, unpacked
from tidelog.engine.spark.partitions.rerouting import sent, through
from tidelog.engine.spark.partitions.routes import Routes
from tidelog.engine.spark.partitions.scratch import Scratch
from tidelog.engine.spark.partitions.worker import Changed, Signed, Worker, signed_rows
from tidelog.engine.statistics import StratumStats, at_the_same_time, rules_data, rules_from
from tidelog.errors import EngineError, TidelogError
from tidelog.plan.flat import FlatProgram

__all__ = [
    "ASSERTED",
    "DELETED",
    "HERE",
    "INSERTED",
    "MOVED",
    "PART",
    "SIGN",
    "Answers",
    "Changes",
    "Failed",
    "Given",
    "Late",
    "answers",
    "collected",
]

HERE, PART, SIGN = "here", "part", "sign"
_WHICH, _NOTE = "which", "note"
INSERTED, DELETED, MOVED, ASSERTED = 1, -1, 0, 2  # signs; MOVED is a new rank, ASSERTED an inserted fact
_SIGNS: Final = (INSERTED, DELETED, MOVED, ASSERTED)
_BATCH: Final = 200_000  # rows
_LOGS: Final = 32
_SHARE: Final = 0.25  # of the rows in all states: rows received and instances found since the last base


class Late(Exception):
    """The tasks exceeded their work limit."""


class Failed(EngineError):
    """A task reported a problem."""


@dataclass(frozen=True, slots=True)
class Given:
    """The rows inserted into and deleted from a relation that a stratum is computed from."""

    inserted: Checkpoint | None
    deleted: Checkpoint | None

    @property
    def size(self) -> int:
        return sum(checkpoint.size for checkpoint in (self.inserted, self.deleted) if checkpoint is not None)


class Changes(NamedTuple):
    """How many tuples of a relation were inserted, deleted, moved to another rank, and asserted.

    The last are only reported when a stratum with routes is bootstrapped. Asserted facts are known then, so
    they are not part of the answer, except those that all partitions have copies of.
    """

    inserted: int
    deleted: int
    moved: int
    asserted: int


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of the tasks of a step: the state that they left, the changes, and statistics.

    The changes are those of the stratum's relations and of the tuples to send, all in one frame.
    """

    divided: Divided
    stats: StratumStats
    sizes: Mapping[str, Changes]
    _task: _Task
    _made: Checkpoint
    _checkpoints: Checkpoints

    def part(
        self, relation: str, signs: Sequence[int], size: int, also: str = "true", more: Sequence[str] = ()
    ) -> Checkpoint:
        """The tuples of a relation with these signs, with further columns.

        `also` is a further condition, on columns of the relation with its prefix.
        """
        names = columns(len(self._task.program.relations[relation].types))
        own = [f"{self.prefix(relation)}{name} as {name}" for name in names]
        return self._made.part(f"{self._are(relation, *signs)} and ({also})", size, [*own, *more])

    def count(self, asked: Sequence[tuple[str, str]]) -> list[Changes]:
        """The numbers of changes of relations, of tuples that satisfy a condition."""
        if not asked:
            return []
        questions = [
            f"count_if({self._are(relation, sign)} and ({also}))"
            for relation, also in asked
            for sign in _SIGNS
        ]
        found = list(self._checkpoints.collect(self._made.frame.selectExpr(*questions))[0])
        many = len(_SIGNS)
        return [Changes(*found[i : i + many]) for i in range(0, len(found), many)]

    def prefix(self, relation: str) -> str:
        """The prefix of a relation's columns in conditions."""
        return f"m{self._task.made.index(relation)}"

    def _are(self, relation: str, *signs: int) -> str:
        of = ", ".join(map(str, signs))
        return f"{_WHICH} = {self._task.made.index(relation)} and {SIGN} in ({of})"


def answers(
    before: Divided,
    program: FlatProgram,
    given: Mapping[str, Given],
    settings: Settings,
    checkpoints: Checkpoints,
) -> Answers:
    """Bring a stratum to its next state.

    Raises Failed if a task reports a problem, or Late; nothing has changed then.
    """
    by = before.through
    divided = sorted(n for n in given if by is None or n in by)
    broadcast = {n: _shipped(program, n, given[n], checkpoints) for n in given if n not in divided}
    moved = before.moved + sum(g.size for g in given.values())
    is_base = not before.files or len(before.programs) >= _LOGS or moved > _SHARE * before.rows
    task = _Task(
        before,
        program,
        broadcast,
        divided,
        _made(program, before.routes),
        is_base,
        settings,
        checkpoints.scratch,
    )
    rows = _rows(given, task, checkpoints)
    made, told = checkpoints.told(rows.mapInArrow(task.run, task.answer_ddl), _NOTE)
    notes = [json.loads(note) for note in told]
    problem = next((note["problem"] for note in notes if note.get("problem")), None)
    if problem is not None:
        raise Failed(problem)
    if any(note.get("late") for note in notes):
        raise Late
    notes.sort(key=lambda note: note["partition"])
    files = tuple(
        (note["file"],) if is_base else (*old, note["file"])
        for note, old in zip(notes, before.files or [()] * len(notes), strict=True)
    )
    programs = (program,) if is_base else (*before.programs, program)
    unsettled = before.unsettled or any(note["unsettled"] for note in notes)
    stats = _stats(program, notes)
    moved = 0 if is_base else moved + stats.instances
    rows_now = sum(note["rows"] for note in notes)
    after = Divided(
        programs, by, before.partitions, before.routes, files, moved, before.work, unsettled, rows_now
    )
    sizes = {
        name: Changes(*(sum(note["sizes"][number][i] for note in notes) for i in range(len(_SIGNS))))
        for number, name in enumerate(task.made)
    }
    return Answers(after, stats, sizes, task, made, checkpoints)


def _made(program: FlatProgram, routes: Routes | None) -> list[str]:
    """The relations whose changes are the answer: all of the stratum, except received tuples."""
    stratum = program.strata[-1]
    names = stratum.relations
    return sorted(names if routes is None else names - through(routes).keys())


def _stats(program: FlatProgram, notes: Sequence[Mapping[str, Any]]) -> StratumStats:
    """The statistics of all tasks: the most rounds, all instances, the most frequent strategy and reason.

    The seconds of a rule are those of the task in which it took the most time.
    """
    made = StratumStats(program.strata[-1].name, "", "")
    how = [(note["strategy"], note["why"]) for note in notes]
    made.strategy, made.why = max(how, key=how.count)
    made.rounds = max(note["rounds"] for note in notes)
    made.instances = sum(note["instances"] for note in notes)
    made.hot = next((note["hot"] for note in notes if note["hot"]), "")
    made.steps, made.written = 1, sum(note["bytes"] for note in notes)
    made.take(at_the_same_time([rules_from(note["rules"]) for note in notes]))
    return made


# -- the input of tasks


def _rows(given: Mapping[str, Given], task: _Task, checkpoints: Checkpoints) -> DataFrame:
    """The changes of divided relations, such that every partition has a task, even without rows."""
    through, parts = task.before.through, task.before.partitions
    tagged = [
        _tagged(checkpoint.frame, number, sign, None if through is None else through[name], task)
        for number, name in enumerate(task.divided)
        for checkpoint, sign in ((given[name].inserted, 1), (given[name].deleted, -1))
        if checkpoint is not None and checkpoint.size
    ]
    if not tagged:
        return _marked(checkpoints.spark.range(0, parts, 1, parts), task).drop(PART)
    if not checkpoints.sessions.are_two:  # adaptive execution may be on, which starts no tasks without rows
        tagged.append(_marked(checkpoints.spark.range(1, numPartitions=1), task))
    rows = union(tagged)
    rows = rows.repartition(parts, PART) if through is not None else rows.repartition(1)
    return rows.drop(PART)


def _marked(numbers: DataFrame, task: _Task) -> DataFrame:
    """Rows that belong to no relation."""
    empty = [F.lit(None).cast(type_).alias(name) for name, type_ in task.wide]
    part = F.lit(0).cast("bigint").alias(PART)
    return numbers.select(F.lit(-1).alias(_WHICH), F.lit(0).alias(SIGN), part, *empty)


def _tagged(frame: DataFrame, number: int, sign: int, key: int | None, task: _Task) -> DataFrame:
    """Rows of one relation, with nulls in the columns of the others; a column may give their destination."""
    part = F.lit(0).cast("bigint") if key is None else F.xxhash64(f"c{key}")
    if PART in frame.columns:
        part = F.col(PART)
    own = {f"r{number}{c}": c for c in columns(len(task.types(number)))}
    wide = [
        F.col(own[name]).alias(name) if name in own else F.lit(None).cast(type_).alias(name)
        for name, type_ in task.wide
    ]
    return frame.select(F.lit(number).alias(_WHICH), F.lit(sign).alias(SIGN), part.alias(PART), *wide)


def _shipped(program: FlatProgram, name: str, given: Given, checkpoints: Checkpoints) -> tuple[bytes, bytes]:
    """Changes as they are sent along with a task."""
    names = columns(len(program.relations[name].types))
    return packed(
        signed_rows(
            program, name, *(collected(c, names, checkpoints) for c in (given.inserted, given.deleted))
        )
    )


def collected(checkpoint: Checkpoint | None, names: Sequence[str], checkpoints: Checkpoints) -> Any:
    """The rows of a checkpoint, in the driver; None if there are none."""
    if checkpoint is None or not checkpoint.size:
        return None
    return checkpoints.arrow(checkpoint.frame.select(*names))


# -- in tasks


@dataclass(frozen=True, slots=True)
class _Task:
    """What runs in every task; it is sent to executors, so it has no references to Spark.

    `divided` are the relations whose changes are the task's rows, `made` those whose changes are the answer.
    """

    before: Divided
    program: FlatProgram
    broadcast: Mapping[str, tuple[bytes, bytes]]
    divided: Sequence[str]
    made: Sequence[str]
    is_base: bool
    settings: Settings
    scratch: Scratch

    def types(self, number: int) -> Any:
        return self.program.relations[self.divided[number]].types

    @property
    def wide(self) -> list[tuple[str, str]]:
        """The columns of the divided relations, side by side."""
        return _side_by_side("r", [self.types(number) for number in range(len(self.divided))])

    @property
    def _told(self) -> frozenset[str]:
        """The relations whose rank changes are reported, because other partitions have their tuples."""
        routes = self.before.routes
        if routes is None:
            return frozenset()
        return frozenset((*routes.copied, *(name for name, _ in routes.arranged))).union(
            name for name in self.made if name.endswith(sent(""))
        )

    @property
    def answer_ddl(self) -> str:
        wide = _side_by_side("m", [self.program.relations[name].types for name in self.made])
        fields = ", ".join(f"{name} {type_}" for name, type_ in wide)
        return f"{_WHICH} int, {SIGN} int, {HERE} int, {fields}, {_NOTE} string"

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        try:
            yield from self._answers(number, self._own(batches))
        except TidelogError as error:  # reported, not raised: a retry would not help
            note = json.dumps({"partition": number, "problem": str(error)})
            yield from self._batches(-1, 0, number, {}, 1, note)
        except Late:
            note = json.dumps({"partition": number, "late": True})
            yield from self._batches(-1, 0, number, {}, 1, note)

    def _own(self, batches: Iterable[Any]) -> dict[str, Signed]:
        """The changes of the divided relations."""
        names = [_WHICH, SIGN, *(name for name, _ in self.wide)]
        table = whole(batches, names)
        if table is None:
            return {}
        which, sign = (table.column(name).to_numpy() for name in (_WHICH, SIGN))
        changed = {}
        for number, name in enumerate(self.divided):
            own = columns(len(self.types(number)))
            inserted, deleted = (
                table.filter(pa.array((which == number) & (sign == s)))
                .select([f"r{number}{c}" for c in own])
                .rename_columns(own)
                for s in (1, -1)
            )
            changed[name] = Signed(inserted, deleted)
        return changed

    def _answers(self, number: int, own: Changed) -> Iterator[Any]:
        files = self.before.files[number] if self.before.files else ()
        worker = self._worker(files)
        given = {name: unpacked(rows) for name, rows in self.broadcast.items()} | dict(own)
        stats = worker.advance(self.program, given, self.settings.limits, self._within_limit(worker))
        sizes = []
        for place, name in enumerate(self.made):
            changed = self._changes(worker, name)
            sizes.append([changed[sign].num_rows if sign in changed else 0 for sign in _SIGNS])
            for sign, rows in changed.items():
                columns_ = {f"m{place}{c}": rows.column(c) for c in rows.column_names}
                yield from self._batches(place, sign, number, columns_, rows.num_rows, None)
        worker.commit()
        record = worker.state() if self.is_base else self._log(own)
        note = {
            "partition": number,
            "file": self.scratch.write(record),
            "bytes": sum(array.nbytes for array in record.arrays),
            "rows": worker.rows,
            "sizes": sizes,
            "strategy": stats.strategy,
            "why": stats.why,
            "rounds": stats.rounds,
            "instances": stats.instances,
            "unsettled": worker.is_unsettled,
            "hot": worker.hot_key(self.before.through or {}) if self.is_base else "",
            "rules": rules_data(stats.rules),
        }
        yield from self._batches(-1, 0, number, {}, 1, json.dumps(note))

    def _changes(self, worker: Worker, name: str) -> dict[int, Any]:
        """The changes of a relation, by sign."""
        routes = self.before.routes
        is_new = not self.before.files
        if routes is not None and not routes.in_phases and name in routes.owners and is_new:
            inserted, asserted = worker.apart(name, routes.copied.get(name, ()))
            return {INSERTED: inserted, ASSERTED: asserted}
        inserted, deleted = worker.changes(name)
        return {
            INSERTED: inserted,
            DELETED: deleted,
            **({MOVED: worker.moved(name)} if name in self._told else {}),
        }

    def _within_limit(self, worker: Worker) -> Callable[[], None]:
        """The check that the worker calls periodically."""
        most = self.settings.most
        if most is None:
            return _nothing

        def check() -> None:
            if worker.instances > most:
                raise Late

        return check

    def _log(self, own: Changed) -> Record:
        record = Record()
        changed = {**self.broadcast, **{name: packed(rows) for name, rows in own.items()}}
        record.values = {
            name: [record.put(np.frombuffer(rows, np.uint8)) for rows in packed]
            for name, packed in changed.items()
        }
        return record

    def _worker(self, files: Sequence[str]) -> Worker:
        """The worker in the state of the last commit."""
        return worker_of(self.before, files, self.settings, self.scratch)

    def _batches(
        self, which: int, sign: int, here: int, made: Mapping[str, Any], size: int, note: str | None
    ) -> Iterator[Any]:
        """Tuples of one relation, or a note, in the layout of answers."""
        if not size:
            return iter(())
        kinds = {
            f"m{i}{f.name}": f.type
            for i, name in enumerate(self.made)
            for f in arrow_schema(self.program.relations[name].types)
        }
        filled = {name: made.get(name, pa.nulls(size, kind)) for name, kind in kinds.items()}
        numbers = [pa.array(np.full(size, n, np.int32)) for n in (which, sign, here)]
        notes = pa.nulls(size, pa.string()) if note is None else pa.array([note], pa.string())
        table = pa.table([*numbers, *filled.values(), notes], names=[_WHICH, SIGN, HERE, *filled, _NOTE])
        batches: Iterator[Any] = iter(table.to_batches(max_chunksize=_BATCH))
        return batches


def _side_by_side(letter: str, kinds: Sequence[Any]) -> list[tuple[str, str]]:
    """The columns of several relations, with Spark's names for their types."""
    return [
        (f"{letter}{number}{c.name}", spark_type(c.type))
        for number, types in enumerate(kinds)
        for c in stored(types).columns
    ]


def _nothing() -> None:
    """No check: Spark ends tasks."""
