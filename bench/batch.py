"""Measures Tidelog from Arrow tables to a readable change set, with all state that updates need."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

from bench.data import Dataset, Tables
from bench.programs import Program
from bench.result import Batch, Run, best
from tidelog.bench.database import Database
from tidelog.bench.isolate import peak_memory, reset_peak_memory

__all__ = ["Loaded", "bootstrap", "run_tidelog", "warm_up"]

FEW = 20


@dataclass(frozen=True, slots=True)
class Loaded:
    """A database with its facts, the wall and processor time to load them, and the instances found."""

    db: Database
    seconds: float
    cpu: float
    instances: int


def run_tidelog(program: Program, dataset: Dataset, repeat: int) -> Batch:
    tables = dataset.make()
    warm_up(program, tables)
    before = reset_peak_memory()
    last: list[Loaded] = []

    def once() -> Run:
        last.clear()  # hold only one state in memory at a time
        gc.collect()  # engines refer to themselves
        last.append(bootstrap(program, tables))
        return Run(last[0].seconds, last[0].cpu, last[0].db.size(program.result))

    run = best(once, repeat)
    db = last[0].db
    return Batch(
        program.name,
        dataset.name,
        "tidelog",
        run.seconds,
        run.cpu,
        run.size,
        peak_memory() - before,
        db.tuples(),
        last[0].instances,
        db.nbytes,
    )


def bootstrap(program: Program, tables: Tables) -> Loaded:
    db = Database(program.text)
    start, used = time.perf_counter(), time.process_time()
    done = db.commit(tables)
    return Loaded(db, time.perf_counter() - start, time.process_time() - used, done.instances)


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
