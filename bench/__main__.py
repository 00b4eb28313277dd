"""The command line: run measurements, print the results, and write them to files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.batch import run_tidelog
from bench.differential import ENGINE as PEER
from bench.differential import can_run, measure_peer_updates
from bench.executables import is_installed
from bench.peers import PEERS
from bench.plan import Given, Task, batches, updates
from bench.programs import PROGRAMS
from bench.report import batch_table, to_json, update_table, winner_table
from bench.result import Batch, Missing, Update
from bench.switch import choice_table, measure_choices
from bench.updates import measure_updates
from tidelog.bench.isolate import Failed, isolated

T = TypeVar("T")
ENGINES = {"tidelog": run_tidelog, **PEERS}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    given = Given(options.graph, options.rdf, options.crdt, _folders(options.facts))
    missing: list[Missing] = []
    done: list[Batch] = []
    changed: list[Update] = []
    if options.part in ("all", "batch"):
        done = _batches(_chosen(batches(given, quick=options.quick), options.only), options, missing)
        print(batch_table(done, missing), flush=True)
        print("\n" + winner_table(done), flush=True)
    if options.part == "switch":
        tasks = _chosen(updates(given, quick=options.quick), options.only)
        work = [partial(measure_choices, task.program, task.dataset, options.repeat) for task in tasks]
        found = [
            _measured(t, "switch", w, options.timeout, missing) for t, w in zip(tasks, work, strict=True)
        ]
        print(choice_table([choice for choices in found for choice in choices or ()]))
    if options.part in ("all", "updates"):
        before = len(missing)
        tasks = [t for t in updates(given, quick=options.quick) if t.dataset.name not in options.no_updates]
        changed = _updates(_chosen(tasks, options.only), options, missing)
        print("\n" + update_table(changed))
        for m in missing[before:]:
            print(f"{m.program}/{m.data}: {m.why}")
    if options.json is not None:
        options.json.write_text(to_json(done, changed, missing))
    if options.plot is not None:
        from bench.plot import plot  # slow to load, and only needed here

        plot(done, changed, options.plot)
    return int(any(u.equal is False for u in changed))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: about two minutes")
    parser.add_argument("--only", default="", help="measure only what has this text in program/data")
    parser.add_argument("--part", choices=("all", "batch", "updates", "switch"), default="all")
    parser.add_argument("--graph", type=Path, action="append", default=[], help="a CSV file: src,dst")
    parser.add_argument("--rdf", type=Path, nargs="+", default=[], help="N-Triples files, read as one graph")
    parser.add_argument("--crdt", type=Path, help="a folder with insert.txt.gz and remove.txt.gz")
    parser.add_argument(
        "--facts",
        nargs=2,
        action="append",
        default=[],
        metavar=("PROGRAM", "FOLDER"),
        help="a folder with the facts of a program, as numbers",
    )
    parser.add_argument(
        "--no-updates", nargs="+", default=[], metavar="DATA", help="no updates for these data sets"
    )
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--repeat", type=int, default=3, help="repeats; the best time counts (3)")
    parser.add_argument("--singles", type=int, default=100, help="number of single facts (100)")
    parser.add_argument(
        "--timeout", type=float, default=300.0, help="time limit of one measurement in seconds (300)"
    )
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--plot", type=Path, help="plot the ratios to this file")
    options = parser.parse_args(arguments)
    for program, folder in options.facts:
        if program not in PROGRAMS:
            parser.error(f"--facts: unknown program {program!r}; known are {', '.join(map(repr, PROGRAMS))}")
        if not Path(folder).is_dir():
            parser.error(f"--facts: no folder {folder}")
    return options


def _folders(given: Sequence[tuple[str, str]]) -> list[tuple[str, Path]]:
    return [(program, Path(folder)) for program, folder in given]


def _chosen(tasks: list[Task], only: str) -> list[Task]:
    return [task for task in tasks if only.lower() in task.name.lower()]


def _batches(tasks: list[Task], options: argparse.Namespace, missing: list[Missing]) -> list[Batch]:
    done = []
    engines = [engine for engine in options.engines if is_installed(engine)]
    for engine in options.engines:
        if engine not in engines:
            print(f"{engine} is not installed; skipping it", file=sys.stderr)
    for task in tasks:
        for engine in engines:
            work = partial(ENGINES[engine], task.program, task.dataset, options.repeat)
            found = _measured(task, engine, work, options.timeout, missing)
            done += [found] if found is not None else []
    return done


def _updates(tasks: list[Task], options: argparse.Namespace, missing: list[Missing]) -> list[Update]:
    changed: list[Update] = []
    for task in tasks:
        work = partial(measure_updates, task.program, task.dataset, options.repeat, options.singles)
        changed += _measured(task, "updates", work, options.timeout, missing) or []
        if PEER in options.engines and can_run(task.program):
            work = partial(measure_peer_updates, task.program, task.dataset, options.repeat, options.singles)
            changed += _measured(task, f"updates, {PEER}", work, options.timeout, missing) or []
    return changed


def _measured(
    task: Task, engine: str, work: Callable[[], T], timeout: float, missing: list[Missing]
) -> T | None:
    print(f"{task.name}: {engine} …", file=sys.stderr, flush=True)
    try:
        return isolated(work, timeout)
    except Failed as failure:
        missing.append(Missing(task.program.name, task.dataset.name, engine, str(failure)))
        return None


if __name__ == "__main__":
    sys.exit(main())
