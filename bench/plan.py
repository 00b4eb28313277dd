"""The measurements: programs and their data, in small and full sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.data import (
    Dataset,
    borrows,
    both_ways,
    code,
    edits,
    facts,
    graph,
    graph_file,
    numbered,
    numbers,
    one_way,
    ontology,
    rdf,
    roads,
    universities,
)
from bench.programs import PROGRAMS, Program

__all__ = ["Given", "Task", "batches", "updates"]


@dataclass(frozen=True, slots=True)
class Task:
    program: Program
    dataset: Dataset

    @property
    def name(self) -> str:
        return f"{self.program.name}/{self.dataset.name}"


@dataclass(frozen=True, slots=True)
class Given:
    """Files given by the user."""

    graphs: Sequence[Path] = ()
    triples: Sequence[Path] = ()
    edits: Path | None = None
    facts: Sequence[tuple[str, Path]] = ()  # the name of a program, and a folder with its facts


def batches(given: Given, *, quick: bool) -> list[Task]:
    tasks = [
        *_tasks("closure", _graphs(quick)),
        *_tasks("closure", [_mesh(quick)]),
        *_tasks("closure, read", [graph_file(path) for path in given.graphs[:1]]),
        *_tasks("nonlinear", [graph("grid", "grid", 20, 20) if quick else graph("grid", "grid", 40, 40)]),
        *_tasks("same generation", [graph("tree", "tree", 800 if quick else 3000, 3)]),
        *_tasks("triangles", [_hubs(quick), *_one_way(quick)]),
        *_tasks("points-to", [code("software", "points_to", 1000 if quick else 10_000)]),
        *_tasks("CSPA", [code("software", "aliases", 300 if quick else 2000)]),
        *_tasks("CSDA", [code("software", "dataflow", 500 if quick else 5000)]),
        *_tasks("RDFS", [_universities(quick)]),
        *_tasks("RDFS, numbers", [numbered(_universities(quick))]),
        *_tasks("completion", [_ontology(quick)]),
        *_tasks("borrows", [_function(quick)]),
        *_tasks("shortest paths", [_roads(quick)]),
        *_tasks("counting", [numbers("numbers", 1000 if quick else 50_000)]),
        *_tasks("closure", [graph_file(path) for path in given.graphs]),
        *_folders(given),
    ]
    if given.triples:
        tasks += _triples(given)
    if given.edits is not None:
        tasks += _tasks("CRDT", [edits(given.edits)])
    return tasks


def updates(given: Given, *, quick: bool) -> list[Task]:
    tasks = [
        *_tasks("closure", [_power_law(quick)]),
        *_tasks("closure, read", [_power_law(quick)]),
        *_tasks("RDFS", [_universities(quick)]),
        *_tasks("RDFS, numbers", [numbered(_universities(quick))]),
        *_tasks("completion", [_ontology(quick)]),
        *_tasks("borrows", [_function(quick)]),
        *_tasks("shortest paths", [_roads(quick)]),
        *_tasks("closure", [graph_file(path) for path in given.graphs]),
        *_tasks("closure, read", [graph_file(path) for path in given.graphs]),
        *_folders(given),
    ]
    if given.triples:
        tasks += _triples(given)
    return tasks


def _triples(given: Given) -> list[Task]:
    graph = rdf(given.triples)
    return [*_tasks("RDFS", [graph]), *_tasks("RDFS, numbers", [numbered(graph)])]


def _folders(given: Given) -> list[Task]:
    return [Task(PROGRAMS[program], facts(folder)) for program, folder in given.facts]


def _tasks(program: str, datasets: Sequence[Dataset]) -> list[Task]:
    return [Task(PROGRAMS[program], dataset) for dataset in datasets]


def _graphs(quick: bool) -> list[Dataset]:
    return [
        _power_law(quick),
        graph("uniform", "gnp", 1000 if quick else 3000, 2.0),
        graph("grid", "grid", 30, 30) if quick else graph("grid", "grid", 60, 60),
        graph("tree", "tree", 20_000 if quick else 200_000, 2),
        graph("chain", "chain", 500 if quick else 1500),
    ]


def _mesh(quick: bool) -> Dataset:
    """An acyclic graph whose closure has 7 % of all pairs."""
    return graph("mesh2k", "mesh", 98, 23) if quick else graph("mesh45k", "mesh", 442, 102)


def _power_law(quick: bool) -> Dataset:
    if quick:
        return graph("rmat2k", "rmat", 2000, 4000)
    return graph("rmat16k", "rmat", 16_000, 24_000)


def _hubs(quick: bool) -> Dataset:
    """A power law in both directions: a few nodes have most of the edges."""
    if quick:
        return both_ways("rmat10k", "rmat", 10_000, 30_000)
    return both_ways("rmat60k", "rmat", 60_000, 250_000)


def _one_way(quick: bool) -> list[Dataset]:
    if quick:
        return [one_way("rmat10k, one way", "rmat", 10_000, 30_000)]
    return [
        one_way("rmat60k, one way", "rmat", 60_000, 263_385),
        one_way("uniform, one way", "gnp", 30_000, 10.0),
    ]


def _roads(quick: bool) -> Dataset:
    return roads("300 places", 300, 3.0) if quick else roads("1,000 places", 1000, 3.0)


def _universities(quick: bool) -> Dataset:
    return universities("1 small university", 1, (4, 5)) if quick else universities("10 universities", 10)


def _ontology(quick: bool) -> Dataset:
    return ontology("ontology", 1000 if quick else 16_000)


def _function(quick: bool) -> Dataset:
    return borrows("one function", 8 if quick else 120)
