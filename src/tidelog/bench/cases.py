"""The cases of the papers: programs and data, generated or from files.

| data | program |
|---|---|
| LUBM, universities | `rdfs` over triples; `rdfs-a2` with a relation for each term of RDFS |
| | `rdfs-s` and `owl2rl`, with a relation for each class and property |
| RAND-1k, a dense uniform graph of 1,000 nodes | `tc`, the transitive closure |
| RMAT-1k, a power-law graph of 1,024 nodes | `tc` |

The facts of a case are in two parts: those that are always present (the ontology, if rules read it), and
those that are inserted and deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import csv

from tidelog import rdf
from tidelog.bench import graphs
from tidelog.errors import DataError
from tidelog.rdf import terms
from tidelog.syntax.printer import quote

__all__ = ["RDFS_A2", "Case", "Facts", "cases", "growing_cases"]

TC: Final = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""

# Program A.2 of the papers. Its last rule is printed with an undefined relation T. It must mean the
# relation of triples, since subproperties would add nothing otherwise.
_TYPE, _SUBCLASS, _SUBPROPERTY, _DOMAIN, _RANGE = map(
    quote, (terms.TYPE, terms.SUBCLASS, terms.SUBPROPERTY, terms.DOMAIN, terms.RANGE)
)
RDFS_A2: Final = f"""
input relation rdf::triple(s: string, p: string, o: string)
relation rdf::type(s: string, o: string)
relation rdfs::domain(s: string, o: string)
relation rdfs::range(s: string, o: string)
relation rdfs::subPropertyOf(s: string, o: string)
relation rdfs::subClassOf(s: string, o: string)
rdfs::domain(a, x) :- rdf::triple(a, {_DOMAIN}, x).
rdfs::range(a, x) :- rdf::triple(a, {_RANGE}, x).
rdf::type(y, x) :- rdf::triple(y, {_TYPE}, x).
rdfs::subPropertyOf(x, z) :- rdf::triple(x, {_SUBPROPERTY}, z).
rdfs::subClassOf(x, z) :- rdf::triple(x, {_SUBCLASS}, z).
rdf::type(y, x) :- rdfs::domain(a, x), rdf::triple(y, a, _).
rdf::type(z, x) :- rdfs::range(a, x), rdf::triple(_, a, z).
rdfs::subPropertyOf(x, z) :- rdfs::subPropertyOf(x, y), rdfs::subPropertyOf(y, z).
rdfs::subClassOf(x, z) :- rdfs::subClassOf(x, y), rdfs::subClassOf(y, z).
rdf::type(z, y) :- rdfs::subClassOf(x, y), rdf::type(z, x).
rdf::triple(x, b, y) :- rdfs::subPropertyOf(a, b), rdf::triple(x, a, y).
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """The text of a program, and Arrow tables by relation."""

    text: str
    always: dict[str, Any]
    moving: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """`make` must be picklable, since measurements run in separate processes."""

    data: str
    program: str
    make: Callable[[], Facts]
    is_from_files: bool = False

    @property
    def name(self) -> str:
        return f"{self.data}/{self.program}"


def cases(
    *,
    quick: bool,
    graph_files: Sequence[Path] = (),
    rdf_files: Sequence[Path] = (),
    ontology_files: Sequence[Path] = (),
) -> list[Case]:
    """The cases of the papers, small with `quick`, and those of the given files."""
    university = partial(_universities, (1, 1) if quick else (15, 25))
    rand = partial(graphs.gnp, 100, 3.0) if quick else partial(graphs.gnp, 1000, 10.0)
    rmat = partial(graphs.rmat, 128, 350) if quick else partial(graphs.rmat, 1024, 9206)
    found = [*_ontological("LUBM", university)]
    found += [Case("RAND-1k", "tc", partial(_closure, rand)), Case("RMAT-1k", "tc", partial(_closure, rmat))]
    for path in graph_files:
        found.append(Case(path.stem, "tc", partial(_closure, partial(_read_graph, path)), is_from_files=True))
    if rdf_files:
        name = rdf_files[0].name.split(".")[0]
        named = partial(_read_triples, tuple(ontology_files), tuple(rdf_files))
        found += [replace(case, is_from_files=True) for case in _ontological(name, named)]
    return found


def growing_cases(*, quick: bool) -> list[tuple[Case, ...]]:
    """Cases of growing size for each of two programs."""
    nodes = (50, 100) if quick else (500, 1000, 2000, 4000)
    departments = ((1, 1),) if quick else ((15, 25),)
    universities = (1, 2) if quick else (1, 2, 4, 8)
    closures = (partial(_closure, partial(graphs.gnp, n, 2.0)) for n in nodes)
    graphed = (partial(_over_triples, partial(_universities, *departments, n)) for n in universities)
    return [
        tuple(Case("growing graph", "tc", make) for make in closures),
        tuple(Case("growing LUBM", "rdfs", make) for make in graphed),
    ]


def _ontological(data: str, make: Callable[[], tuple[Any, Any]]) -> list[Case]:
    return [
        Case(data, "rdfs", partial(_over_triples, make)),
        Case(data, "rdfs-a2", partial(_over_words, make)),
        Case(data, "rdfs-s", partial(_specialised, rdf.rdfs_rules, make)),
        Case(data, "owl2rl", partial(_specialised, rdf.owl_rules, make)),
    ]


def _universities(departments: tuple[int, int], number: int = 1) -> tuple[Any, Any]:
    """The ontology, and `number` universities."""
    return rdf.university_ontology(), rdf.universities(number, departments=departments)


def _read_triples(ontology: tuple[Path, ...], data: tuple[Path, ...]) -> tuple[Any, Any]:
    return rdf.read(*ontology), rdf.read(*data)


def _over_triples(make: Callable[[], tuple[Any, Any]]) -> Facts:
    ontology, data = make()
    return Facts(rdf.RDFS, {"T": ontology}, {"T": data})


def _over_words(make: Callable[[], tuple[Any, Any]]) -> Facts:
    ontology, data = make()
    return Facts(RDFS_A2, {"rdf::triple": ontology}, {"rdf::triple": data})


def _specialised(translate: Callable[[Any], rdf.Translation], make: Callable[[], tuple[Any, Any]]) -> Facts:
    ontology, data = make()
    rules = translate(ontology)
    return Facts(rules.text, {}, rules.split(data)[0])


def _closure(make: Callable[[], graphs.Edges]) -> Facts:
    edges = make()
    columns = {name: np.ascontiguousarray(edges[:, i]) for i, name in enumerate(("src", "dst"))}
    return Facts(TC, {}, {"Edge": pa.table(columns)})


def _read_graph(path: Path) -> graphs.Edges:
    try:
        table = csv.read_csv(path)
        return np.stack([table[name].to_numpy().astype(np.int64) for name in ("src", "dst")], axis=1)
    except (pa.ArrowInvalid, KeyError, ValueError) as error:
        problem = f"{path} is not a graph: {error}; use a CSV file of numbers with the header src,dst"
        raise DataError(None, problem) from None
