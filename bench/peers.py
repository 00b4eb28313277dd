"""Other engines on the same data: DuckDB's recursive SQL, and the executables that are on the path.

DuckDB reads the same Arrow tables and stores its result as a table.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import duckdb

from bench.data import Dataset, Tables
from bench.differential import ENGINE, run_differential
from bench.executables import EXECUTABLES, THREADS
from bench.programs import Program
from bench.result import Batch, Run, best
from tidelog.bench.isolate import Failed, peak_memory, reset_peak_memory

__all__ = ["PEERS"]


def run_duckdb(program: Program, dataset: Dataset, repeat: int) -> Batch:
    if program.sql is None:
        raise Failed("not expressible in recursive SQL")
    tables = dataset.make()
    before = reset_peak_memory()
    run = best(lambda: _query(program.sql or "", tables), repeat)
    grown = peak_memory() - before
    return Batch(program.name, dataset.name, "duckdb", run.seconds, run.cpu, run.size, grown)


def _query(sql: str, tables: Tables) -> Run:
    with duckdb.connect(config={"threads": THREADS}) as connection:
        connection.execute("SET enable_progress_bar = false")
        for name, table in tables.items():
            connection.register(name, table)
        start, used = time.perf_counter(), time.process_time()
        connection.execute(f"CREATE TEMP TABLE result AS {sql}")
        seconds, cpu = time.perf_counter() - start, time.process_time() - used
        row = connection.execute("SELECT count(*) FROM result").fetchone()
        return Run(seconds, cpu, row[0] if row else 0)


PEERS: dict[str, Callable[[Program, Dataset, int], Batch]] = {
    "duckdb": run_duckdb,
    **EXECUTABLES,
    ENGINE: run_differential,
}
