"""SPARQL: answers are those of Oxigraph over the same triples, for random graphs and queries.

Oxigraph stores numbers by their values, so the graphs write each number in one way, and computed numbers are
compared by value. Its GROUP_CONCAT keeps a language that all values share; the standard gives a plain text. A
seed that ever failed stays in `test_kept_queries`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyoxigraph as oxigraph
import pytest
from click.testing import CliRunner, Result

import tidelog
from rdf.queries import PREFIX, Triple, graph, query
from sizes import size
from tidelog import rdf
from tidelog.cli import main
from tidelog.errors import SessionError
from tidelog.rdf.sparql.literals import read_term

SEEDS = size(40, 3000)
BLOCK = 10


def term(text: str) -> Any:
    """A term of Oxigraph."""
    found = read_term(text)
    if found.kind == "iri":
        return oxigraph.NamedNode(found.text)
    if found.kind == "blank":
        return oxigraph.BlankNode(found.text.removeprefix("_:"))
    if found.language:
        return oxigraph.Literal(found.text, language=found.language)
    return oxigraph.Literal(found.text, datatype=oxigraph.NamedNode(found.datatype))


def plain(text: str) -> object:
    """A term, and for a number its kind and value."""
    number = read_term(text).number
    return text if number is None else (number.kind, str(float(number.value)))


def expected(triples: set[Triple], text: str) -> object:
    store = oxigraph.Store()
    for s, p, o in triples:
        store.add(oxigraph.Quad(term(s), term(p), term(o)))
    found: Any = store.query(text)
    if isinstance(found, oxigraph.QueryBoolean):
        return bool(found)
    names = [str(v)[1:] for v in found.variables]
    return Counter(frozenset((n, plain(str(row[n]))) for n in names if row[n] is not None) for row in found)


def answered(triples: set[Triple], text: str) -> object:
    answer = rdf.query(triples, text)
    if answer.holds is not None:
        return answer.holds
    return Counter(
        frozenset((c, plain(t)) for c, t in zip(answer.columns, row, strict=True) if t is not None)
        for row in answer
    )


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_answers_are_those_of_oxigraph(first: int) -> None:
    for seed in range(first, first + BLOCK):
        rng = Random(seed)
        triples, text = graph(rng), query(rng)
        assert answered(triples, text) == expected(triples, text), f"seed {seed}: {text}"


NUMBER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
FAMILY = {
    ("<http://e/ann>", "<http://e/parent>", "<http://e/bob>"),
    ("<http://e/ann>", "<http://e/parent>", "<http://e/cleo>"),
    ("<http://e/bob>", "<http://e/age>", f'"40"{NUMBER}'),
    ("<http://e/cleo>", "<http://e/age>", f'"35"{NUMBER}'),
    ("<http://e/cleo>", "<http://e/name>", '"Cleo"@en'),
    ("<http://e/bob>", "<http://e/parent>", "<http://e/dan>"),
}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?p ?a { ?x :parent ?p . ?p :age ?a } ORDER BY DESC(?a)",
        "SELECT ?p { ?x :parent ?p } ORDER BY ?p LIMIT 2 OFFSET 1",
        "SELECT DISTINCT ?x { ?x :parent ?p } ORDER BY DESC(?x)",
        "SELECT ?x (COUNT(DISTINCT ?p) AS ?n) { ?x :parent ?p } GROUP BY ?x ORDER BY ?n ?x",
        "SELECT (MIN(?a) AS ?low) (MAX(?a) AS ?high) (SAMPLE(?n) AS ?s) { ?p :age ?a . ?q :name ?n }",
        'SELECT (GROUP_CONCAT(STR(?n); SEPARATOR="/") AS ?all) { ?p :name ?n }',
        "SELECT (COUNT(*) AS ?n) { ?p :nothing ?a }",
        "SELECT (SUM(?a) AS ?n) (AVG(?a) AS ?m) { ?p :nothing ?a }",
        "SELECT ?n { VALUES ?n { 3 1 2 } } ORDER BY ?n",
        "SELECT (?a / 4 AS ?q) { ?p :age ?a } ORDER BY ?q",
        "SELECT ?x { ?x :parent ?p FILTER(?p = :bob || ?p < 3) }",
        "SELECT ?p { ?p :age ?a FILTER(?a / 0 = 1 || true) }",
        "SELECT * { }",
        "ASK { :ann :parent [ :age 40 ] }",
        "ASK { :ann :parent :dan }",
    ],
)
def test_kept_queries(text: str) -> None:
    """In their order, where they have one."""
    answer, wanted = rdf.query(FAMILY, PREFIX + text), expected(FAMILY, PREFIX + text)
    assert answered(FAMILY, PREFIX + text) == wanted
    if "ORDER" in text:
        store = oxigraph.Store()
        for s, p, o in FAMILY:
            store.add(oxigraph.Quad(term(s), term(p), term(o)))
        found: Any = store.query(PREFIX + text)
        rows = [tuple(plain(str(row[v])) for v in answer.columns) for row in found]
        assert [tuple(plain(t or "") for t in row) for row in answer] == rows


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CONSTRUCT { ?x ?y ?z } WHERE { ?x ?y ?z }", "CONSTRUCT"),
        ("DESCRIBE :ann", "DESCRIBE"),
        ("SELECT * FROM <http://g> { ?x ?y ?z }", "FROM"),
        ("SELECT * { GRAPH ?g { ?x ?y ?z } }", "GRAPH"),
        ("SELECT * { SERVICE <http://s> { ?x ?y ?z } }", "SERVICE"),
        ("SELECT * { ?x :parent+ ?y }", "the property path"),
        ("SELECT * { ?x ?y ?z FILTER EXISTS { ?z :p ?x } }", "EXISTS"),
        ("SELECT * { ?x ?y ?z FILTER(MD5(?z) = 'a') }", "MD5"),
        ("SELECT * { ?x ?y ?z } ORDER BY MD5(?z)", "MD5"),
        ("SELECT * { ?x ?y ?z FILTER(xsd:integer(?z) = 1) }", "functions named by IRIs"),
        ("SELECT (COUNT(DISTINCT *) AS ?n) { ?x ?y ?z }", "COUNT(DISTINCT *)"),
        ("SELECT * { { SELECT ?x { ?x ?y ?z } LIMIT 1 } }", "LIMIT or OFFSET in a subquery"),
        ("SELECT (COUNT(*) AS ?n) { ?x ?y ?z } GROUP BY (STR(?x))", "GROUP BY with an expression"),
    ],
)
def test_what_is_not_supported_is_named(text: str, name: str) -> None:
    with pytest.raises(SessionError, match="is not supported") as caught:
        rdf.query(FAMILY, PREFIX + text)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "SELECT", "SELECT ?x { ?x", "SELECT ?x { ?x no:p ?y }", "DELETE { ?x ?y ?z }"]
)
def test_mistakes_in_a_query_are_reported(text: str) -> None:
    with pytest.raises(SessionError, match=r"^SPARQL: "):
        rdf.query(FAMILY, text)


def test_answers_follow_changes_and_inference() -> None:
    subclass, type_ = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", rdf.RDFS.split('"')[1]
    made = rdf.sparql_rules(PREFIX + "SELECT ?x { ?x a :Person }")
    rules = made.text.replace("input relation T(s: string, p: string, o: string)\n", "")
    db = tidelog.open(text=rdf.RDFS + rules, functions=made.functions)
    with db.transaction() as tx:
        tx.insert("T", [("<http://e/Student>", subclass, "<http://e/Person>")])
        tx.insert("T", [("<http://e/ann>", type_, "<http://e/Student>")])
    assert list(made.answer(db)) == [("<http://e/ann>",)]
    with db.transaction() as tx:
        tx.delete("T", [("<http://e/Student>", subclass, "<http://e/Person>")])
    assert list(made.answer(db)) == []


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["rdf", "query", *map(str, args)])


def test_the_command_shows_short_names_csv_and_json(tmp_path: Path) -> None:
    (tmp_path / "d.ttl").write_text(
        "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":ann a :Student ; :age 5 . :Student rdfs:subClassOf :Person .\n"
    )
    text = f"{PREFIX}SELECT ?x ?t ?a {{ ?x a ?t OPTIONAL {{ ?x :age ?a }} }} ORDER BY ?t"
    (tmp_path / "q.rq").write_text(text)
    shown = run(f"@{tmp_path / 'q.rq'}", tmp_path / "d.ttl", "--profile", "rdfs")
    assert shown.stdout.split("\n")[0] == "2 solutions"
    assert shown.stdout.split("\n")[2].split() == [":ann", ":Person", "5"]
    lines = run(text, tmp_path / "d.ttl", "--csv").stdout.splitlines()
    assert lines[0] == "x,t,a"
    found = json.loads(run(text, tmp_path / "d.ttl", "--json").stdout)
    assert found["results"]["bindings"][0]["a"]["value"] == "5"
    assert run("ASK { ?x ?y 5 }", tmp_path / "d.ttl").stdout == "true\n"
    wrong = run("DESCRIBE <a>", tmp_path / "d.ttl")
    assert wrong.exit_code == 1
    assert "DESCRIBE is not supported" in wrong.stderr
