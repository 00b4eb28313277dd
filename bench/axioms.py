"""What it costs to delete facts with some axioms among them, by strategy and beside differential dataflow.

    python -m bench.axioms [--repeat N] [--draws N]

The data is one university and its ontology, for RDFS over numbers. Each draw has 1 % of the facts, drawn at
random, and three axioms (subclasses, subproperties, domains and ranges). It is deleted from a fresh state
that has seen an update of one fact, then inserted, and then another draw is deleted. Times are
milliseconds: for each draw the best of all repeats, then the mean over all draws.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from bench.batch import warm_up
from bench.data import Dataset, Tables, numbered, universities
from bench.differential import ENGINE, can_run, running
from bench.programs import PROGRAMS, TERMS
from tidelog.bench.database import Database
from tidelog.rdf.terms import TYPE

__all__ = ["Cost", "measure"]

PROGRAM: Final = PROGRAMS["RDFS, numbers"]
STRATEGIES: Final = ("elastic", "differential", "dred")
AXIOMS: Final = 3
SHARE: Final = 0.01

# deletes, then inserts; returns the wall and processor time of each, and the size of the result
Commit: TypeAlias = Callable[[Tables | None, Tables | None], tuple["Cost", int]]


class Cost(NamedTuple):
    """Wall and processor time in milliseconds."""

    wall: float
    cpu: float


def measure(dataset: Dataset, draws: int, repeat: int) -> dict[str, list[Cost]]:
    """For each engine the costs of a first deletion, of its insertion, and of a second deletion."""
    tables = dataset.make()
    warm_up(PROGRAM, tables)
    parts = list(_draws(tables["T"], draws))
    engines = [*STRATEGIES, ENGINE] if can_run(PROGRAM) else list(STRATEGIES)
    found = {engine: _Found([], []) for engine in engines}
    for first, second in parts:
        for engine, (costs, sizes) in found.items():
            runs, seen = zip(*(_run(engine, tables, first, second) for _ in range(repeat)), strict=True)
            costs.append([Cost(*map(min, zip(*same, strict=True))) for same in zip(*runs, strict=True)])
            sizes.append(seen[0])
    if len({tuple(sizes) for _, sizes in found.values()}) != 1:
        raise ValueError(f"sizes differ: { ({engine: sizes for engine, (_, sizes) in found.items()}) }")
    return {
        engine: [Cost(*np.mean(same, axis=0).tolist()) for same in zip(*costs, strict=True)]
        for engine, (costs, _) in found.items()
    }


class _Found(NamedTuple):
    costs: list[list[Cost]]
    sizes: list[tuple[int, ...]]


def _draws(triples: Any, draws: int) -> Iterator[tuple[Tables, Tables]]:
    properties = triples["p"].to_numpy()
    schema = [number for number, term in enumerate(TERMS) if term != TYPE]
    axioms = np.flatnonzero(np.isin(properties, schema))
    others = np.flatnonzero(~np.isin(properties, schema))
    rng = np.random.default_rng(5)
    for _ in range(draws):
        chosen = rng.choice(axioms, 2 * AXIOMS, replace=False)
        rest = rng.choice(others, 2 * round(SHARE * len(properties)), replace=False)
        rows = np.vstack([chosen.reshape(2, -1).T, rest.reshape(2, -1).T])
        yield {"T": triples.take(rows[:, 0])}, {"T": triples.take(rows[:, 1])}


def _run(engine: str, tables: Tables, first: Tables, second: Tables) -> tuple[list[Cost], tuple[int, ...]]:
    fact = {"T": tables["T"].slice(tables["T"].num_rows - 1)}
    with _loaded(engine, tables) as commit:
        commit(fact, None)
        commit(None, fact)
        done = [commit(first, None), commit(None, first), commit(second, None)]
    return [cost for cost, _ in done], tuple(size for _, size in done)


@contextmanager
def _loaded(engine: str, tables: Tables) -> Iterator[Commit]:
    if engine != ENGINE:
        db = Database(PROGRAM.text, engine)
        db.commit(tables)
        yield partial(_commit, db)
        return
    with running(PROGRAM, 1) as peer:
        peer.commit(tables)

        def commit(deletes: Tables | None, inserts: Tables | None) -> tuple[Cost, int]:
            run = peer.commit(inserts, deletes)
            return Cost(1000 * run.seconds, 1000 * run.cpu), run.size

        yield commit


def _commit(db: Database, deletes: Tables | None, inserts: Tables | None) -> tuple[Cost, int]:
    start, used = time.perf_counter(), time.process_time()
    db.commit(inserts, deletes)
    cost = Cost(1000 * (time.perf_counter() - start), 1000 * (time.process_time() - used))
    return cost, db.size(PROGRAM.result)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.axioms", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="repeats; the best time counts (3)")
    parser.add_argument("--draws", type=int, default=8, help="different facts and axioms (8)")
    options = parser.parse_args(arguments)
    found = measure(numbered(universities("1 university", 1)), options.draws, options.repeat)
    changes = ("first deleted", "inserted", "then deleted")
    print(f"{'ms (CPU)':<22}" + "".join(f"{change:>18}" for change in changes))
    for engine, costs in found.items():
        cells = "".join(f"{f'{cost.wall:.2f} ({cost.cpu:.2f})':>18}" for cost in costs)
        print(f"{engine:<22}{cells}")


if __name__ == "__main__":
    main()
