"""Named inputs: Arrow tables by relation, created on demand in the process that needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench import borrows as loans
from bench import files, software
from bench import ontology as ontologies
from bench.programs import TERMS
from tidelog import rdf as triples
from tidelog.bench import graphs
from tidelog.bench.isolate import Failed

__all__ = [
    "Dataset",
    "Tables",
    "borrows",
    "both_ways",
    "code",
    "edits",
    "facts",
    "graph",
    "graph_file",
    "numbered",
    "numbers",
    "one_way",
    "ontology",
    "rdf",
    "roads",
    "table",
    "universities",
]

Tables: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dataset:
    """`make` must be picklable, since measurements run in separate processes."""

    name: str
    make: Callable[[], Tables]


def table(relation: str, rows: npt.NDArray[np.int64]) -> Any:
    """Rows of numbers as the Arrow table of a relation."""
    names = _COLUMNS[relation]
    return pa.table({name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(names)})


_COLUMNS: Mapping[str, Sequence[str]] = {
    "T": ("s", "p", "o"),
    "Edge": ("src", "dst"),
    "Road": ("src", "dst", "km"),
    "Last": ("n",),
    "Assign": ("to", "from"),
    "Dereference": ("pointer", "value"),
    "NullEdge": ("a", "b"),
    "Arc": ("a", "b"),
    "New": ("variable", "object"),
    "Load": ("to", "base", "field"),
    "Store": ("base", "field", "from"),
    "Insert": ("c", "n", "pc", "pn"),
    "Remove": ("c", "n"),
    "P": ("x", "y"),
    "Q": ("x", "r", "z"),
    "U": ("w", "r", "z"),
    "C": ("y", "w", "z"),
    "S": ("r", "q"),
    "R": ("y", "u", "e"),
    "Flow": ("from", "to"),
    "Define": ("variable", "point"),
    "Use": ("variable", "point"),
    "Drop": ("variable", "point"),
    "UseReads": ("variable", "origin"),
    "DropReads": ("variable", "origin"),
    "Child": ("path", "parent"),
    "Root": ("path", "variable"),
    "Assigned": ("path", "point"),
    "Moved": ("path", "point"),
    "Issued": ("origin", "loan", "point"),
    "Killed": ("loan", "point"),
    "Invalidated": ("loan", "point"),
    "Universal": ("origin",),
    "Known": ("a", "b"),
    "Outlives": ("a", "b", "point"),
}


# -- generated


def graph(name: str, shape: str, *args: float) -> Dataset:
    return Dataset(name, partial(_graph, shape, args))


def _graph(shape: str, args: tuple[float, ...]) -> Tables:
    return {"Edge": table("Edge", getattr(graphs, shape)(*args))}


def both_ways(name: str, shape: str, *args: float) -> Dataset:
    """A graph with each edge in both directions."""
    return Dataset(name, partial(_both_ways, shape, args))


def _both_ways(shape: str, args: tuple[float, ...]) -> Tables:
    edges = getattr(graphs, shape)(*args)
    return {"Edge": table("Edge", np.unique(np.vstack([edges, edges[:, ::-1]]), axis=0))}


def one_way(name: str, shape: str, *args: float) -> Dataset:
    """A graph with one direction of each edge, from the smaller to the larger node."""
    return Dataset(name, partial(_one_way, shape, args))


def _one_way(shape: str, args: tuple[float, ...]) -> Tables:
    edges = np.sort(getattr(graphs, shape)(*args), axis=1)
    return {"Edge": table("Edge", np.unique(edges, axis=0))}


def roads(name: str, nodes: int, degree: float) -> Dataset:
    """A random graph with lengths."""
    return Dataset(name, partial(_roads, nodes, degree))


def _roads(nodes: int, degree: float) -> Tables:
    edges = graphs.gnp(nodes, degree)
    lengths = np.random.default_rng(0).integers(1, 100, len(edges))
    return _tables({"Road": np.column_stack([edges, lengths])})


def numbers(name: str, last: int) -> Dataset:
    return Dataset(name, partial(_numbers, last))


def _numbers(last: int) -> Tables:
    return _tables({"Last": np.array([[last]])})


def universities(name: str, count: int, departments: tuple[int, int] = (15, 25)) -> Dataset:
    return Dataset(name, partial(_universities, count, departments))


def _universities(count: int, departments: tuple[int, int]) -> Tables:
    ontology = triples.university_ontology()
    return {"T": triples.union([ontology, triples.universities(count, departments=departments)])}


def code(name: str, kind: str, functions: int) -> Dataset:
    """Facts about generated software."""
    return Dataset(name, partial(_software, kind, functions))


def _software(kind: str, functions: int) -> Tables:
    return _tables(getattr(software, kind)(functions))


def ontology(name: str, concepts: int) -> Dataset:
    return Dataset(name, partial(_ontology, concepts))


def _ontology(concepts: int) -> Tables:
    return _tables(ontologies.ontology(concepts))


def borrows(name: str, sections: int) -> Dataset:
    """Facts about one function, for a borrow checker."""
    return Dataset(name, partial(_borrows, sections))


def _borrows(sections: int) -> Tables:
    return _tables(loans.borrows(sections))


def numbered(triples: Dataset) -> Dataset:
    """Triples whose terms were interned beforehand: numbers, those of `TERMS` first."""
    return Dataset(triples.name, partial(_numbered, triples.make))


def _numbered(make: Callable[[], Tables]) -> Tables:
    columns = make()["T"].columns
    size = len(columns[0])
    terms = pa.chunked_array([pa.array(TERMS, columns[0].type), *(c for col in columns for c in col.chunks)])
    codes = terms.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)[len(TERMS) :]
    return {"T": table("T", codes.reshape(len(columns), size).T)}


# -- from files


def facts(folder: Path) -> Dataset:
    return Dataset(folder.name, partial(_facts, folder))


def _facts(folder: Path) -> Tables:
    found = files.read_facts(folder)
    if unknown := sorted(found.keys() - _COLUMNS.keys()):
        raise Failed(f"unknown relations in {folder}: {', '.join(unknown)}")
    return _tables(found)


def graph_file(path: Path) -> Dataset:
    return Dataset(path.stem, partial(_graph_file, path))


def _graph_file(path: Path) -> Tables:
    return {"Edge": table("Edge", files.read_graph(path))}


def rdf(paths: Sequence[Path]) -> Dataset:
    return Dataset(paths[0].name.split(".")[0], partial(_rdf, tuple(paths)))


def _rdf(paths: tuple[Path, ...]) -> Tables:
    return {"T": triples.read(*paths)}


def edits(folder: Path) -> Dataset:
    return Dataset(folder.name, partial(_edits, folder))


def _edits(folder: Path) -> Tables:
    return _tables(files.read_edits(folder))


def _tables(facts: Mapping[str, npt.NDArray[np.int64]]) -> Tables:
    return {name: table(name, rows) for name, rows in facts.items()}
