"""Differential dataflow: programs written by hand in Rust, which keep their results up to date.

Their source is in `differential-dataflow/`. The executable reads changes and commits from its standard input,
and prints the time and the size of the result after each commit. Reading is not included in the time.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final

from bench.batch import bootstrap
from bench.data import Dataset, Tables
from bench.executables import THREADS, ending, peak_of
from bench.programs import Program
from bench.result import Batch, Run, Update, best
from bench.updates import share_changes, single_facts
from tidelog.bench.isolate import Failed

__all__ = ["ENGINE", "Peer", "can_run", "measure_peer_updates", "run_differential", "running"]

ENGINE: Final = "differential-dataflow"
_PROGRAMS: Final[Mapping[str, str]] = {
    "closure": "closure",
    "same generation": "same-generation",
    "RDFS, numbers": "rdfs",
    "shortest paths": "shortest-paths",
}


def can_run(program: Program) -> bool:
    """Whether the executable is on the path and knows the program."""
    return program.name in _PROGRAMS and shutil.which(ENGINE) is not None


@dataclass(frozen=True, slots=True)
class Peer:
    """A running dataflow."""

    process: subprocess.Popen[str]
    stdin: IO[str]
    stdout: IO[str]

    def commit(self, inserts: Tables | None = None, deletes: Tables | None = None) -> Run:
        for sign, tables in (("-", deletes), ("+", inserts)):
            for name, table in (tables or {}).items():
                self.stdin.writelines(_lines(sign + name, table))
        self.stdin.write("commit\n")
        self.stdin.flush()
        answer = self.stdout.readline().split("\t")
        if len(answer) != 3:
            raise Failed(f"exited with code {self.process.wait()}")
        seconds, cpu, size = answer
        return Run(float(seconds), float(cpu), int(size))


def _lines(start: str, table: Any) -> Iterable[str]:
    columns = [column.to_pylist() for column in table.columns]
    return ("\t".join([start, *map(str, row)]) + "\n" for row in zip(*columns, strict=True))


@contextmanager
def running(program: Program, workers: int) -> Iterator[Peer]:
    """Start the dataflow of a program, without facts."""
    if program.name not in _PROGRAMS:
        raise Failed("not written")
    command = [ENGINE, _PROGRAMS[program.name], str(workers)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if process.stdin is None or process.stdout is None:
        raise Failed("no pipes")
    with process, ending(process):
        yield Peer(process, process.stdin, process.stdout)


def run_differential(program: Program, dataset: Dataset, repeat: int) -> Batch:
    """First loads, from rows in memory until all results are known, with all state that updates need."""
    tables = dataset.make()
    peaks: list[int] = []

    def once() -> Run:
        with running(program, THREADS) as peer:
            done = peer.commit(tables)
            peaks.append(peak_of(peer.process.pid))
            return done

    run = best(once, repeat)
    return Batch(program.name, dataset.name, ENGINE, run.seconds, run.cpu, run.size, max(peaks))


def measure_peer_updates(program: Program, dataset: Dataset, repeat: int, singles: int) -> list[Update]:
    """The changes that `measure_updates` makes, by one worker: several are slower for small changes."""
    tables = dataset.make()
    case = _Case(program, dataset.name, tables, repeat, [])
    return [*case.shares(), *case.singles(singles)]


@dataclass(slots=True)
class _Case:
    program: Program
    data: str
    tables: Tables
    repeat: int
    loads: list[float]

    @contextmanager
    def loaded(self) -> Iterator[Peer]:
        """A dataflow with all facts, after a first update."""
        with running(self.program, 1) as peer:
            self.loads.append(peer.commit(self.tables).seconds)
            fact = {name: table.slice(table.num_rows - 1) for name, table in self.tables.items()}
            peer.commit(None, fact)
            peer.commit(fact)
            yield peer

    def shares(self) -> Iterator[Update]:
        for share, part, rest in share_changes(self.tables):
            gone, inserted = [], []
            for _ in range(self.repeat):
                with self.loaded() as peer:
                    gone.append(peer.commit(None, part))
                    inserted.append(peer.commit(part))
            facts = sum(map(len, part.values()))
            yield self._update(f"delete {share:.1%}", facts, gone, min, rest)
            yield self._update(f"insert {share:.1%}", facts, inserted, min, self.tables)

    def singles(self, count: int) -> Iterator[Update]:
        with self.loaded() as peer:
            runs = [(peer.commit(None, fact), peer.commit(fact)) for fact in single_facts(self.tables, count)]
        gone, inserted = zip(*runs, strict=True)
        yield self._update("delete one", 1, gone, statistics.median, None)
        yield self._update("insert one", 1, inserted, statistics.median, self.tables)

    def _update(
        self,
        change: str,
        facts: int,
        runs: Iterable[Run],
        choose: Callable[[list[float]], float],
        after: Tables | None,
    ) -> Update:
        """`after` are the facts after the last run, if its size is compared with that of a computation."""
        times, sizes = zip(*((run.seconds, run.size) for run in runs), strict=True)
        equal = None if after is None else sizes[-1] == self._size(after)
        return Update(
            self.program.name,
            self.data,
            change,
            facts,
            choose(list(times)),
            max(times),
            min(self.loads),
            changed=0,
            instances=0,
            bootstrap_instances=0,
            strategy="",
            equal=equal,
            engine=ENGINE,
        )

    def _size(self, tables: Tables) -> int:
        return bootstrap(self.program, tables).db.size(self.program.result)
