"""The files of a state, which tasks write and read by the store's own client.

Rows are Parquet files; a partition of a stratum is a record (see `storage.record`). Every attempt of a task
writes under a name of its own, and the answer that Spark accepts names the right file, with its size and
digest. A file is compared with these before anything in it is used. Tasks report problems, so that Spark does
not retry what can only fail again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame

from tidelog.engine.local.storage.record import Corrupt, read_record, write_record
from tidelog.engine.spark.frames.checkpoints import Checkpoints
from tidelog.engine.spark.frames.layout import PROBLEM
from tidelog.engine.spark.partitions.divided import Divided, Settings, worker_of
from tidelog.engine.spark.partitions.scratch import Scratch
from tidelog.errors import TidelogError
from tidelog.store.files import Files, Output
from tidelog.store.states import StatePart, StateParts, Unusable, part_name
from tidelog.tables.casting import cast_table

__all__ = [
    "Copied",
    "Written",
    "copied",
    "read_rows",
    "reading",
    "rows_in",
    "written",
    "written_partitions",
    "written_rows",
]

_NOTE: Final = "note string"
_ROWS: Final = 500_000  # of a relation in each file, about


class Written(NamedTuple):
    """A file that a task has written: the `label` says for what, `number` for which partition."""

    label: str
    number: int
    rows: int
    part: StatePart


class Copied(NamedTuple):
    """The state of a partition in the scratch folder of a session."""

    label: str
    number: int
    file: str


# -- writing


def written_rows(frame: DataFrame, size: int, label: str, files: Files, state: str) -> DataFrame:
    """A frame that, when it is evaluated, writes the rows of another one to files, and has notes of them."""
    several = size // _ROWS + 1
    return frame.coalesce(several).mapInArrow(_WriteRows(files, state, label).run, _NOTE)


def written_partitions(
    divided: Divided, label: str, settings: Settings, checkpoints: Checkpoints, files: Files, state: str
) -> DataFrame:
    """The same for the state of a stratum in tasks."""
    task = _WritePartition(divided, label, settings, checkpoints.scratch, files, state)
    count = len(divided.files)
    return checkpoints.spark.range(0, count, 1, count).mapInArrow(task.run, _NOTE)


@dataclass(frozen=True, slots=True)
class _WriteRows:
    files: Files
    state: str
    label: str

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return iter(())
        table = pa.Table.from_batches(found)
        return _noted(partial(self._write, table))

    def _write(self, table: Any) -> dict[str, Any]:
        def write(out: Output) -> None:
            parquet.write_table(table, pa.PythonFile(out, "w"), compression="zstd")

        return _put(self.files, self.state, write, self.label, 0, table.num_rows)


@dataclass(frozen=True, slots=True)
class _WritePartition:
    divided: Divided
    label: str
    settings: Settings
    scratch: Scratch
    files: Files
    state: str

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        for number in _numbers(batches):
            yield from _noted(partial(self._write, number))

    def _write(self, number: int) -> dict[str, Any]:
        worker = worker_of(self.divided, self.divided.files[number], self.settings, self.scratch)
        record = worker.state()

        def write(out: Output) -> None:
            write_record(out, record, compressed=True)

        return _put(self.files, self.state, write, self.label, number, worker.rows)


def _put(
    files: Files, state: str, write: Callable[[Output], object], label: str, number: int, rows: int
) -> dict[str, Any]:
    name = part_name(state)
    size, digest = files.put(name, write)
    return {"label": label, "number": number, "rows": rows, "file": name, "size": size, "digest": digest}


def written(notes: Iterable[Mapping[str, Any]]) -> list[Written]:
    return [
        Written(n["label"], n["number"], n["rows"], StatePart(n["file"], n["size"], n["digest"]))
        for n in notes
    ]


# -- reading


def rows_in(name: str, parts: StateParts, schema: Any) -> Any:
    """The rows in a file. Raises Unusable."""
    content = parts.content(name)
    try:
        return cast_table(parquet.read_table(pa.BufferReader(content)), schema)
    except (KeyError, ValueError, OSError, pa.ArrowException) as error:
        raise Unusable(f"the saved state {parts.files.where(name)} is corrupt: {error}") from None


def read_rows(names: Sequence[str], parts: StateParts, schema: Any, checkpoints: Checkpoints) -> DataFrame:
    """The rows in some files, with a column of problems."""
    task = _ReadRows(parts.some(names), tuple(names), schema.append(pa.field(PROBLEM, pa.string())))
    columns = checkpoints.sessions.made(task.schema.empty_table()).schema
    return checkpoints.spark.range(0, len(names), 1, len(names)).mapInArrow(task.run, columns)


@dataclass(frozen=True, slots=True)
class _ReadRows:
    parts: StateParts
    names: tuple[str, ...]
    schema: Any

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        for number in _numbers(batches):
            try:
                rows = rows_in(self.names[number], self.parts, self.schema.remove(len(self.schema) - 1))
                problem = pa.nulls(rows.num_rows, pa.string())
            except Unusable as error:
                rows = pa.table([pa.nulls(1, f.type) for f in self.schema][:-1], names=self.schema.names[:-1])
                problem = pa.array([str(error)])
            yield from rows.append_column(PROBLEM, problem).cast(self.schema).to_batches()


def reading(
    label: str, names: Sequence[str], scratch: Scratch, parts: StateParts, checkpoints: Checkpoints
) -> DataFrame:
    """A frame that, when it is evaluated, copies partitions to the scratch folder, and has notes of them."""
    task = _Copy(label, tuple(names), scratch, parts.some(names))
    return checkpoints.spark.range(0, len(names), 1, len(names)).mapInArrow(task.run, _NOTE)


@dataclass(frozen=True, slots=True)
class _Copy:
    label: str
    names: tuple[str, ...]
    scratch: Scratch
    parts: StateParts

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        for number in _numbers(batches):
            yield from _noted(partial(self._copy, number))

    def _copy(self, number: int) -> dict[str, Any]:
        name = self.names[number]
        content = self.parts.content(name)
        try:
            record = read_record(content)
        except Corrupt as problem:
            raise Unusable(f"the saved state {self.parts.files.where(name)} is corrupt: {problem}") from None
        return {"label": self.label, "number": number, "file": self.scratch.write(record)}


def copied(notes: Iterable[Mapping[str, Any]]) -> list[Copied]:
    return [Copied(note["label"], note["number"], note["file"]) for note in notes]


# -- notes


def _numbers(batches: Iterable[Any]) -> Iterator[int]:
    return (number for batch in batches for number in batch.column(0).to_pylist())


def _noted(do: Callable[[], dict[str, Any]]) -> Iterator[Any]:
    """The note of what was done, or of the problem."""
    try:
        note = do()
    except (OSError, Unusable, TidelogError) as error:
        note = {"problem": str(error)}
    yield pa.record_batch([pa.array([json.dumps(note)])], names=["note"])
