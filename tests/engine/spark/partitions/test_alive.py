"""Workers stay in memory between tasks, and are found only by tasks that begin with their state."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tidelog.engine.limits import Limits
from tidelog.engine.spark.frames.layout import arrow_schema
from tidelog.engine.spark.partitions import divided
from tidelog.engine.spark.partitions.alive import Alive
from tidelog.engine.spark.partitions.divided import Divided, Settings
from tidelog.engine.spark.partitions.packing import log, packed
from tidelog.engine.spark.partitions.scratch import Scratch
from tidelog.engine.spark.partitions.worker import Signed, Worker, program_of, signed_rows
from tidelog.maintain.strategy import ELASTIC
from tidelog.plan.flat import FlatProgram
from tidelog.plan.flatten import flatten
from tidelog.program.draft import load

Rows = set[tuple[int, int]]


def program() -> FlatProgram:
    """What a task has of a closure."""
    flat = flatten(
        load("""
            input relation Edge(src: int, dst: int)
            output relation Reach(src: int, dst: int)
            Reach(x, y) :- Edge(x, y).
            Reach(x, z) :- Reach(x, y), Edge(y, z).
        """)
    )
    return program_of(flat.strata[-1], flat.relations, flat.functions)


PROGRAM = program()


def advance(worker: Worker, edges: Rows) -> dict[str, Signed]:
    schema = arrow_schema(PROGRAM.relations["Edge"].types)
    columns = [pa.array(column) for column in zip(*sorted(edges), strict=True)]
    changed = {"Edge": signed_rows(PROGRAM, "Edge", pa.table(columns, schema=schema))}
    worker.advance(PROGRAM, changed, Limits(), lambda: None)
    worker.commit()
    return changed


def loaded() -> Worker:
    worker = Worker(ELASTIC)
    advance(worker, {(1, 2)})
    return worker


def reach(worker: Worker) -> Rows:
    table = worker._engine.tables["Reach"]
    return {(int(x), int(y)) for x, y in table.codes(table.alive())}


def test_a_worker_is_found_by_its_files_or_by_more_and_only_once() -> None:
    alive, worker = Alive(10**9, lambda _: True), Worker(ELASTIC)
    alive.keep("elastic", ["base", "1"], worker)
    assert alive.take("elastic", ["base"]) is None
    assert alive.take("elastic", ["base", "2"]) is None
    assert alive.take("differential", ["base", "1"]) is None
    assert alive.take("elastic", ["base", "1", "2"]) == (worker, 2)
    assert alive.take("elastic", ["base", "1"]) is None


def test_workers_whose_files_are_gone_are_dropped() -> None:
    there = {"a", "b"}
    alive = Alive(10**9, there.__contains__)
    alive.keep("elastic", ["a"], Worker(ELASTIC))
    there.remove("a")
    alive.keep("elastic", ["b"], Worker(ELASTIC))
    assert len(alive) == 1
    assert alive.take("elastic", ["a"]) is None


def test_the_longest_unused_are_dropped_if_there_is_no_room() -> None:
    workers = {name: loaded() for name in "abc"}
    alive = Alive(2 * workers["a"].nbytes, lambda _: True)
    for name, worker in workers.items():
        alive.keep("elastic", [name], worker)
    assert [alive.take("elastic", [name]) is not None for name in "abc"] == [False, True, True]
    none = Alive(0, lambda _: True)
    none.keep("elastic", ["a"], workers["a"])
    assert len(none) == 0


def test_a_worker_of_before_replays_what_it_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the state that one read from the files has; that one is read if no other is left."""
    memory = Alive(10**9, lambda file: Path(file).exists())
    monkeypatch.setattr(divided, "alive", memory)
    scratch, settings = Scratch(str(tmp_path)), Settings(ELASTIC, Limits())
    files: list[str] = []
    state = Divided((), {}, 1)

    def commit(edges: Rows) -> Worker:
        nonlocal state
        worker = divided.worker_of(state, files, settings, scratch)
        changed = advance(worker, edges)
        logs = log({name: packed(signed) for name, signed in changed.items()})
        files.append(scratch.write(logs if files else worker.state()))
        state = Divided((*state.programs, PROGRAM), {}, 1)
        return worker

    first = commit({(1, 2)})
    divided.keep(first, state, files, settings, scratch)
    assert commit({(2, 3)}) is first
    before = Worker.of(scratch.read(files[0]), PROGRAM, ELASTIC)
    divided.keep(before, state, files[:1], settings, scratch)
    found = divided.worker_of(state, files, settings, scratch)
    assert found is before
    assert reach(found) == reach(first) == {(1, 2), (1, 3), (2, 3)}
    assert len(memory) == 0
    again = divided.worker_of(state, files, settings, scratch)
    assert again is not found
    assert reach(again) == reach(found)
