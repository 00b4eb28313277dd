"""Measures Tidelog from Arrow tables to a readable change set, with all state that updates need."""

from __future__ import annotations

import time

from bench.data import Dataset, Tables
from bench.programs import Program
from bench.result import Batch, best
from tidelog.bench.database import Database
from tidelog.bench.isolate import peak_memory

__all__ = ["bootstrap", "run_tidelog", "warm_up"]

FEW = 20


def run_tidelog(program: Program, dataset: Dataset, repeat: int) -> Batch:
    tables = dataset.make()
    warm_up(program, tables)
    before = peak_memory()
    last: list[tuple[Database, int]] = []

    def once() -> tuple[float, int]:
        last.clear()  # hold only one state in memory at a time
        db, seconds, instances = bootstrap(program, tables)
        last.append((db, instances))
        return seconds, db.size(program.result)

    seconds, size = best(once, repeat)
    db, instances = last[0]
    return Batch(
        program.name,
        dataset.name,
        "tidelog",
        seconds,
        size,
        peak_memory() - before,
        db.tuples(),
        instances,
        db.nbytes,
    )


def bootstrap(program: Program, tables: Tables) -> tuple[Database, float, int]:
    """A database with these facts, the time to load them, and the number of instances found."""
    db = Database(program.text)
    start = time.perf_counter()
    done = db.commit(tables)
    return db, time.perf_counter() - start, done.instances


def warm_up(program: Program, tables: Tables) -> None:
    """Compile or load every kernel: insert and delete some facts, add and remove a rule."""
    some = {name: table.slice(0, 10 * FEW) for name, table in tables.items()}
    few = {name: table.slice(0, FEW) for name, table in tables.items()}
    db = Database(program.text)
    db.commit(some)
    db.commit(None, few)
    db.commit(few)
    if program.extra is not None:
        db.commit(add=program.extra)
        db.commit(remove=program.extra)
