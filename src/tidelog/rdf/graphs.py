"""Graphs: sets of triples as Arrow tables with the columns `s`, `p` and `o`, with terms in N-Triples syntax.

The label of a blank node is local to its file. When several files become one graph, a label that an earlier
file uses is renamed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.formats.files import read_triples, write_facts
from tidelog.formats.triples import TERMS
from tidelog.rdf.terms import is_blank

__all__ = ["distinct", "graph", "is_writable", "read", "read_quads", "triples", "union", "write"]


def read(*files: str | os.PathLike[str], base: str | None = None) -> Any:
    """Read files as one graph; raises DataError with file and line.

    Files are N-Triples, Turtle, RDF/XML, JSON-LD, N-Quads or TriG, by their extensions, optionally with
    `.gz`. `base` is the base IRI for relative IRIs. Named graphs become a part of the graph, with a warning.
    """
    return union(read_triples(file, base) for file in files)


def read_quads(file: str | os.PathLike[str], base: str | None = None) -> Any:
    """Read a file with its named graphs: the fourth column, `g`, is empty for the default graph."""
    return read_triples(file, base, named=True)


def write(table: Any, file: str | os.PathLike[str]) -> None:
    """Write a graph as N-Triples (`.nt`, `.nt.gz`), replacing the file atomically; raises DataError."""
    write_facts(table, file)


def graph(rows: Iterable[tuple[str, str, str]]) -> Any:
    """The graph of Python triples."""
    return distinct(pa.Table.from_arrays(_columns(rows), schema=TERMS))


def _columns(rows: Iterable[tuple[str, str, str]]) -> list[Any]:
    listed = list(rows)
    return [pa.array([row[i] for row in listed], pa.string()) for i in range(3)]


def triples(table: Any) -> list[tuple[str, str, str]]:
    """The triples of a graph as Python tuples."""
    return list(zip(*(c.to_pylist() for c in table.columns), strict=True))


def union(tables: Iterable[Any]) -> Any:
    """Merge graphs into one; blank nodes of different graphs remain distinct."""
    taken: set[str] = set()
    parts = []
    for table in tables:
        renamed = _kept_apart(table, taken)
        taken |= _labels(renamed)
        parts.append(renamed)
    return distinct(pa.concat_tables(parts)) if parts else graph([])


def distinct(table: Any) -> Any:
    """The distinct triples, in order of first occurrence."""
    return table.group_by(["s", "p", "o"], use_threads=False).aggregate([]).cast(TERMS)


def is_writable(table: Any) -> Any:
    """Which rows N-Triples can represent: rules may derive triples with a literal as subject."""
    about_literals = pc.starts_with(table["s"], '"')
    return pc.and_not(pc.starts_with(table["p"], "<"), about_literals)


def _labels(table: Any) -> set[str]:
    terms = (t for c in ("s", "o") for t in table[c].filter(pc.starts_with(table[c], "_:")).to_pylist())
    return set(terms)


def _kept_apart(table: Any, taken: set[str]) -> Any:
    """The same triples, with labels in `taken` renamed."""
    own = _labels(table) if taken else set()
    names: dict[str, str] = {}
    for label in sorted(own & taken):
        free = (f"{label}_{n}" for n in count(2))
        names[label] = next(f for f in free if f not in taken and f not in own)
    if not names:
        return table
    columns = [_renamed(table[name], names) if name != "p" else table[name] for name in table.column_names]
    return pa.Table.from_arrays(columns, schema=TERMS)


def _renamed(column: Any, names: dict[str, str]) -> Any:
    known = column.unique()
    replaced = [names.get(t, t) if is_blank(t) else t for t in known.to_pylist()]
    return pa.array(replaced, pa.string()).take(pc.index_in(column, known))
