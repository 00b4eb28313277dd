"""Other engines on the same data: DuckDB's recursive SQL, and Soufflé if it is on the path.

DuckDB reads the same Arrow tables and stores its result as a table. Soufflé reads facts from files, which is
measured, and prints the number of tuples. Compiling its program is not measured.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from bench.data import Dataset, Tables
from bench.programs import Program
from bench.result import Batch, best
from bench.souffle import translate, write_facts
from tidelog.bench.isolate import Failed, peak_memory

__all__ = ["PEERS", "THREADS"]

THREADS = 2


def run_duckdb(program: Program, dataset: Dataset, repeat: int) -> Batch:
    if program.sql is None:
        raise Failed("not expressible in recursive SQL")
    tables = dataset.make()
    before = peak_memory()
    seconds, size = best(lambda: _query(program.sql or "", tables), repeat)
    return Batch(program.name, dataset.name, "duckdb", seconds, size, peak_memory() - before)


def _query(sql: str, tables: Tables) -> tuple[float, int]:
    with duckdb.connect(config={"threads": THREADS}) as connection:
        connection.execute("SET enable_progress_bar = false")
        for name, table in tables.items():
            connection.register(name, table)
        start = time.perf_counter()
        connection.execute(f"CREATE TEMP TABLE result AS {sql}")
        seconds = time.perf_counter() - start
        row = connection.execute("SELECT count(*) FROM result").fetchone()
        return seconds, row[0] if row else 0


def run_interpreted(program: Program, dataset: Dataset, repeat: int) -> Batch:
    return _souffle(program, dataset, repeat, "souffle", lambda source: ["souffle", str(source)])


def run_compiled(program: Program, dataset: Dataset, repeat: int) -> Batch:
    return _souffle(program, dataset, repeat, "souffle compiled", _compile)


def _compile(source: Path) -> list[str]:
    binary = source.with_suffix("")
    subprocess.run(["souffle", f"-j{THREADS}", "-o", binary, source], check=True, capture_output=True)
    return [str(binary)]


def _souffle(
    program: Program, dataset: Dataset, repeat: int, engine: str, prepare: Callable[[Path], list[str]]
) -> Batch:
    if not program.is_plain:
        raise Failed("its rules are written differently there")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_facts(dataset.make(), home)
        source = home / "program.dl"
        source.write_text(translate(program.text, program.result))
        command = [*prepare(source), f"-j{THREADS}", "-F", folder, "-D", folder]
        peaks: list[int] = []
        seconds, size = best(lambda: _execute(command, program.result, peaks), repeat)
    return Batch(program.name, dataset.name, engine, seconds, size, max(peaks))


def _execute(command: list[str], result: str, peaks: list[int]) -> tuple[float, int]:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    peaks.append(_watch(process))
    output, _ = process.communicate()
    seconds = time.perf_counter() - start
    if process.returncode:
        raise Failed(f"exited with code {process.returncode}")
    sizes = dict(line.split("\t") for line in output.splitlines() if "\t" in line)
    return seconds, int(sizes[result])


def _watch(process: subprocess.Popen[str]) -> int:
    """Wait for a process to exit; return its peak memory."""
    status = Path(f"/proc/{process.pid}/status")
    peak = 0
    while process.poll() is None:
        try:
            lines = status.read_text().splitlines()
        except OSError:
            lines = []
        peak = max([peak, *(int(x.split()[1]) * 1024 for x in lines if x.startswith("VmHWM:"))])
        time.sleep(0.002)
    return peak


PEERS = {"duckdb": run_duckdb, "souffle": run_interpreted, "souffle compiled": run_compiled}
