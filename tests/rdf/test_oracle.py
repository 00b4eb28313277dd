"""What we infer from random graphs is what the rules of the standards give, written down independently.

The number of seeds is TIDELOG_SEEDS, as in `oracle`. A seed that ever failed stays here for good.
"""

from __future__ import annotations

import os
from random import Random

import pytest

import tidelog
from rdf.entailment import Triple, entailed
from rdf.random_graphs import CLASSES, PROPERTIES, facts, ontology, schema
from sizes import size
from tidelog import rdf
from tidelog.program.draft import load
from tidelog.rdf.terms import TYPE
from tidelog.reference.chibi import consequences

SEEDS = int(os.environ.get("TIDELOG_SEEDS", size(30, 300)))
BLOCK = 10
BLOCKS = [range(first, min(first + BLOCK, SEEDS)) for first in range(0, SEEDS, BLOCK)]


def _reference(program: str, given: dict[str, set[tuple[str, ...]]]) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(rows) for name, rows in consequences(load(program), given).items()}


def _set(table: object) -> set[Triple]:
    return set(rdf.triples(table))


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_rdfs_over_triples_is_what_the_reference_gives(seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        graph = schema(rng, 10) | facts(rng, 12)
        expected = _reference(rdf.RDFS, {"T": set(graph)})["T"]
        found = rdf.infer(rdf.graph(graph))
        about_literals = {row for row in expected if str(row[0]).startswith('"')}
        assert graph | _set(found.triples) == expected - about_literals, f"seed {seed}"
        assert found.about_literals == len(about_literals), f"seed {seed}"


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_rdfs_with_a_relation_for_each_class_and_property_gives_the_same(seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        graph = schema(rng, 10) | facts(rng, 12)
        expected = _reference(rdf.RDFS, {"T": set(graph)})["T"]
        rules = rdf.rdfs_rules(rdf.graph(graph))
        closure = _set(rdf.schema_closure(rdf.graph(graph)))
        assert graph | closure | _consequences(rules, graph) == expected, f"seed {seed}"
        assert not rules.left_out


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_owl_as_rules_is_what_the_w3c_rules_over_triples_give(seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        graph = ontology(rng, rng.randint(3, 14)) | facts(rng, 15)
        expected = {t for t in entailed(graph) if _is_about_names(t)}
        rules = rdf.owl_rules(rdf.graph(graph))
        found = {t for t in graph | _consequences(rules, graph) if _is_about_names(t)}
        assert found == expected, f"seed {seed}"


def _is_about_names(triple: Triple) -> bool:
    """Whether a triple has a class or a property that was given a name, not one that an expression made."""
    _, p, o = triple
    return p in PROPERTIES or (p == TYPE and o in CLASSES)


def _consequences(rules: rdf.Translation, graph: set[Triple]) -> set[Triple]:
    """What the rules derive from a graph; the engine and the reference have to agree on it."""
    tables, _ = rules.split(rdf.graph(graph))
    db = tidelog.open(text=rules.text)
    with db.transaction() as tx:
        rules.insert(tx, rdf.graph(graph))
    given = {name: set(zip(*t.to_pydict().values(), strict=True)) for name, t in tables.items()}
    expected = _reference(rules.text, given)
    assert {name: set(db[name]) for name in db if len(db[name])} == {n: r for n, r in expected.items() if r}
    return _set(rules.join({name: db[name].to_arrow() for name in db}))
