"""Translates an ontology to a program: one relation for each class and property that its rules use.

`class::Person(x)` means that `x` is a `Person`; `property::worksFor(x, y)` means `x worksFor y`. Names are
the last parts of IRIs, numbered if they collide. A triple about other classes and properties belongs to no
relation: no rule reads it.

Invariant: `join` of the facts of `split(graph)`, together with the rest, is the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.formats.triples import TERMS
from tidelog.rdf.axioms import owl_axioms, rdfs_axioms
from tidelog.rdf.clauses import Clause, Predicate, Use, to_clauses
from tidelog.rdf.graphs import graph
from tidelog.rdf.ontology import Axiom, LeftOut
from tidelog.rdf.shorten import shorten
from tidelog.rdf.terms import TYPE, local_name
from tidelog.rdf.words import unknown_words
from tidelog.syntax import tree
from tidelog.syntax.printer import print_program

if TYPE_CHECKING:
    from tidelog.session import Changes, Session, Transaction

__all__ = ["Translation", "owl_rules", "rdfs_rules"]

_SIGN: Final = pa.field("sign", pa.int8(), nullable=False)
_COLUMNS: Final = {"class": ("x",), "property": ("x", "y"), "part": ("x",)}


@dataclass(frozen=True, slots=True)
class Translation:
    """`text` is the program; `classes` and `properties` map terms to their relations.

    `left_out` are the statements of the ontology that the program does not express; `passed_over` are unknown
    OWL terms with their frequencies.
    """

    text: str
    rules: int
    classes: Mapping[str, str]
    properties: Mapping[str, str]
    left_out: tuple[LeftOut, ...]
    passed_over: Mapping[str, int] = field(default_factory=dict)

    def split(self, triples: Any) -> tuple[dict[str, Any], Any]:
        """The facts of each relation as a table, and the triples that belong to no relation."""
        relations = (*self.properties.values(), *self.classes.values())
        numbers = _numbers(triples, list(self.properties), list(self.classes))
        order = np.argsort(numbers, kind="stable")
        sorted_, bounds = triples.take(order), np.searchsorted(numbers[order], np.arange(len(relations) + 1))
        facts = {
            name: _fact_columns(sorted_.slice(start, end - start), i < len(self.properties))
            for i, (name, start, end) in enumerate(zip(relations, bounds[:-1], bounds[1:], strict=True))
            if end > start
        }
        return facts, sorted_.slice(0, bounds[0])

    def join(self, facts: Mapping[str, Any]) -> Any:
        """The triples that the tables of relations represent."""
        found = [_triples(facts[name], p, o) for name, p, o in self._meanings() if name in facts]
        return pa.concat_tables([graph([]), *found])

    # -- in a session with the program

    def insert(self, tx: Transaction, triples: Any) -> None:
        """Assert the triples that rules read."""
        for name, table in self.split(triples)[0].items():
            tx.insert(name, table)

    def delete(self, tx: Transaction, triples: Any) -> None:
        """Retract asserted triples; triples that rules still derive remain."""
        for name, table in self.split(triples)[0].items():
            tx.delete(name, table)

    def derived(self, db: Session) -> Any:
        """The triples that are derived and not asserted."""
        snapshot = db.snapshot()
        return self.join({name: snapshot[name].derived.to_arrow() for name, _, _ in self._meanings()})

    def changed(self, changes: Changes) -> Any:
        """The triples that a commit changed, with a column `sign`: 1 if added, -1 if removed."""
        parts = [graph([]).append_column(_SIGN, pa.array([], pa.int8()))]
        for name, p, o in self._meanings():
            if name in changes:
                table = changes[name].to_arrow()
                parts.append(_triples(table, p, o).append_column(_SIGN, table["sign"]))
        return pa.concat_tables(parts)

    def _meanings(self) -> Iterator[tuple[str, str, str | None]]:
        """Each relation with the predicate of its triples and, if it is a class, their object."""
        yield from ((name, TYPE, term) for term, name in self.classes.items())
        yield from ((name, term, None) for term, name in self.properties.items())


def rdfs_rules(schema: Any) -> Translation:
    """RDFS specialised to the subclasses, subproperties, domains and ranges of a graph."""
    return _translation(rdfs_axioms(schema), [])


def owl_rules(ontology: Any) -> Translation:
    """The OWL 2 RL statements of a graph as rules."""
    return replace(_translation(*owl_axioms(ontology)), passed_over=unknown_words(ontology))


def _translation(axioms: Iterable[Axiom], unread: list[LeftOut]) -> Translation:
    clauses, unsaid = to_clauses(axioms)
    rules = shorten(clauses)
    names = _names({use.predicate for clause in clauses for use in (clause.head, *clause.body)})
    relations = [_declaration(predicate, name) for predicate, name in names.items()]
    program = tree.Program((*relations, *(_rule(clause, names) for clause in rules)))
    return Translation(
        print_program(program),
        len(rules),
        {p.term: name for p, name in names.items() if p.kind == "class"},
        {p.term: name for p, name in names.items() if p.kind == "property"},
        (*unread, *unsaid),
    )


# -- to a program


def _names(predicates: Iterable[Predicate]) -> dict[Predicate, str]:
    """A name for each predicate; the same predicates always get the same names."""
    names: dict[Predicate, str] = {}
    taken: set[str] = set()
    for predicate in sorted(predicates, key=lambda p: (p.kind, local_name(p.term), p.term)):
        name = next(n for n in _candidates(predicate) if n not in taken)
        taken.add(name)
        names[predicate] = name
    return names


def _candidates(predicate: Predicate) -> Iterator[str]:
    word = re.sub(r"\W", "_", local_name(predicate.term))
    name = f"{predicate.kind}::{word if word and not word[0].isdigit() else f'_{word}'}"
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


def _declaration(predicate: Predicate, name: str) -> tree.Relation:
    columns = tuple(tree.Column(c, tree.TypeName("string")) for c in _COLUMNS[predicate.kind])
    return tree.Relation("" if predicate.kind == "part" else "input", name, columns)


def _rule(clause: Clause, names: Mapping[Predicate, str]) -> tree.Rule:
    return tree.Rule((_atom(clause.head, names),), tuple(_atom(use, names) for use in clause.body))


def _atom(use: Use, names: Mapping[Predicate, str]) -> tree.Atom:
    return tree.Atom(names[use.predicate], tuple(tree.Argument(a) for a in use.args))


# -- to facts and back


def _numbers(triples: Any, properties: list[str], classes: list[str]) -> Any:
    """The relation number of each triple, properties before classes; -1 without a relation."""
    typed = pc.equal(triples["p"], TYPE)
    by_property = pc.index_in(triples["p"], pa.array(properties, pa.string()))
    by_class = pc.add(pc.index_in(triples["o"], pa.array(classes, pa.string())), len(properties))
    return pc.if_else(typed, by_class, by_property).fill_null(-1).to_numpy()


def _fact_columns(part: Any, is_property: bool) -> Any:
    return pa.table({"x": part["s"], "y": part["o"]} if is_property else {"x": part["s"]})


def _triples(table: Any, predicate: str, object_: str | None) -> Any:
    objects = table["y"] if object_ is None else pa.repeat(object_, table.num_rows)
    return pa.Table.from_arrays([table["x"], pa.repeat(predicate, table.num_rows), objects], schema=TERMS)
