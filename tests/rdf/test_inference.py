"""What follows from a graph, at once and while it changes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import tidelog
from rdf.random_graphs import Triple, facts, ontology
from tidelog import rdf
from tidelog.errors import SessionError
from tidelog.rdf.terms import RANGE, SUBCLASS, TYPE


def test_what_follows_is_apart_from_what_was_given() -> None:
    graph = rdf.graph([("<A>", SUBCLASS, "<B>"), ("<a>", TYPE, "<A>"), ("<b>", TYPE, "<B>")])
    for profile in rdf.PROFILES:
        found = rdf.infer(graph, profile)
        assert rdf.triples(found.triples) == [("<a>", TYPE, "<B>")]
        assert rdf.triples(found.together()) == [*rdf.triples(graph), ("<a>", TYPE, "<B>")]


def test_what_follows_about_literals_is_counted_and_left_out() -> None:
    graph = rdf.graph([("<p>", RANGE, "<A>"), ("<a>", "<p>", '"text"'), ("<a>", "<p>", "<b>")])
    for profile in rdf.PROFILES:
        found = rdf.infer(graph, profile)
        assert rdf.triples(found.triples) == [("<b>", TYPE, "<A>")]
        assert found.about_literals == 1


def test_rdfs_closes_the_schema_too() -> None:
    graph = rdf.graph([("<A>", SUBCLASS, "<B>"), ("<B>", SUBCLASS, "<C>")])
    assert rdf.triples(rdf.infer(graph).triples) == [("<A>", SUBCLASS, "<C>")]
    assert rdf.triples(rdf.schema_closure(graph)) == [("<A>", SUBCLASS, "<C>")]


def test_inferring_again_finds_nothing_new() -> None:
    graph = rdf.union([rdf.university_ontology(), rdf.universities(1, departments=(1, 1))])
    for profile in rdf.PROFILES:
        everything = rdf.infer(graph, profile).together()
        assert len(rdf.infer(everything, profile).triples) == 0


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(SessionError, match="unknown profile `owl`; did you mean `owlrl`"):
        rdf.infer(rdf.graph([]), "owl")


@pytest.mark.parametrize("seed", range(8))
def test_a_session_that_changes_has_what_a_new_one_would(seed: int) -> None:
    """Facts come and go in transactions; what is derived is always what follows from the facts left."""
    rng = Random(seed)
    rules = rdf.owl_rules(rdf.graph(ontology(rng, 10)))
    db = tidelog.open(text=rules.text)
    present: set[Triple] = set()
    contents = _contents(rules, db)  # what follows of the individuals that the ontology names
    for _ in range(6):
        come = facts(rng, 8)
        go = set(rng.sample(sorted(present), len(present) // 3)) - come
        with db.transaction() as tx:
            rules.delete(tx, rdf.graph(go))
            rules.insert(tx, rdf.graph(come))
        present = (present - go) | come
        fresh = tidelog.open(text=rules.text)
        with fresh.transaction() as again:
            rules.insert(again, rdf.graph(present))
        assert {n: set(db[n]) for n in db} == {n: set(fresh[n]) for n in fresh}
        after = _contents(rules, db)
        expected = dict.fromkeys(after - contents, 1) | dict.fromkeys(contents - after, -1)
        assert _signed(rules.changed(tx.changes)) == expected
        assert set(rdf.triples(rules.derived(db))) == after - set(_asserted(rules, present))
        contents = after


def _contents(rules: rdf.Translation, db: tidelog.Session) -> set[Triple]:
    return set(rdf.triples(rules.join({name: db[name].to_arrow() for name in db})))


def _signed(table: Any) -> dict[Triple, int]:
    """What a table of changes says of each triple, which it mentions once."""
    rows = table.to_pylist()
    signs = {(row["s"], row["p"], row["o"]): row["sign"] for row in rows}
    assert len(signs) == len(rows)
    return signs


def _asserted(rules: rdf.Translation, graph: set[Triple]) -> list[Triple]:
    return rdf.triples(rules.join(rules.split(rdf.graph(graph))[0]))
