"""Which rules an ontology becomes, and what is said of the rest."""

from __future__ import annotations

import pytest

import tidelog
from tidelog import rdf
from tidelog.errors import Severity
from tidelog.formats.triples import parse_triples
from tidelog.program.draft import check
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_line
from tidelog.syntax.tree import Rule

PREFIXES = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def graph(turtle: str) -> object:
    return parse_triples((PREFIXES + turtle).encode(), "test.ttl", extension=".ttl")


def rules(translation: rdf.Translation) -> list[str]:
    """The rules without what stands before each name, to be read."""
    lines = [print_line(item) for item in parse(translation.text).items if isinstance(item, Rule)]
    return [line.replace("class::", "").replace("property::", "").replace("part::", "") for line in lines]


CASES = {
    "subclass": (":A rdfs:subClassOf :B .", ["B(x) :- A(x)."]),
    "subproperty": (":p rdfs:subPropertyOf :q .", ["q(x, y) :- p(x, y)."]),
    "domain": (":p rdfs:domain :A .", ["A(x) :- p(x, _)."]),
    "range": (":p rdfs:range :A .", ["A(x) :- p(_, x)."]),
    "equivalent classes": (":A owl:equivalentClass :B .", ["B(x) :- A(x).", "A(x) :- B(x)."]),
    "equivalent properties": (
        ":p owl:equivalentProperty :q .",
        ["q(x, y) :- p(x, y).", "p(x, y) :- q(x, y)."],
    ),
    "inverse": (":p owl:inverseOf :q .", ["q(y, x) :- p(x, y).", "p(y, x) :- q(x, y)."]),
    "transitive": (":p a owl:TransitiveProperty .", ["p(x, z) :- p(x, y), p(y, z)."]),
    "symmetric": (":p a owl:SymmetricProperty .", ["p(x, y) :- p(y, x)."]),
    "a chain": (":p owl:propertyChainAxiom ( :q :r :q ) .", ["p(x, u) :- q(x, y), r(y, z), q(z, u)."]),
    "a chain with an inverse": (
        ":p owl:propertyChainAxiom ( :q [ owl:inverseOf :r ] ) .",
        ["p(x, z) :- q(x, y), r(z, y)."],
    ),
    "some on the left": (
        "[ owl:onProperty :p ; owl:someValuesFrom :B ] rdfs:subClassOf :A .",
        ["A(x) :- p(x, y), B(y)."],
    ),
    "some of anything": (
        "[ owl:onProperty :p ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf :A .",
        ["A(x) :- p(x, _)."],
    ),
    "at least one": (
        '[ owl:onProperty :p ; owl:minCardinality "1"^^xsd:nonNegativeInteger ] rdfs:subClassOf :A .',
        ["A(x) :- p(x, _)."],
    ),
    "at least one of a class": (
        """[ owl:onProperty :p ; owl:onClass :B ;
             owl:minQualifiedCardinality "1"^^xsd:nonNegativeInteger ] rdfs:subClassOf :A .""",
        ["A(x) :- p(x, y), B(y)."],
    ),
    "some along an inverse": (
        "[ owl:onProperty [ owl:inverseOf :p ] ; owl:someValuesFrom :B ] rdfs:subClassOf :A .",
        ["A(x) :- p(y, x), B(y)."],
    ),
    "only on the right": (
        ":A rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :B ] .",
        ["B(y) :- A(x), p(x, y)."],
    ),
    "only of only": (
        """:A rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom
             [ owl:onProperty :q ; owl:allValuesFrom [ owl:intersectionOf ( :B :C ) ] ] ] .""",
        ["B(z) :- A(x), p(x, y), q(y, z).", "C(z) :- A(x), p(x, y), q(y, z)."],
    ),
    "a value on the left": (
        '[ owl:onProperty :p ; owl:hasValue "a \\"text\\""@en ] rdfs:subClassOf :A .',
        ['A(x) :- p(x, "\\"a \\\\\\"text\\\\\\"\\"@en").'],
    ),
    "a value on the right": (
        ":A rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue :v ] .",
        ['p(x, "<http://example.org/v>") :- A(x).'],
    ),
    "intersections on both sides": (
        "[ owl:intersectionOf ( :A :B ) ] rdfs:subClassOf [ owl:intersectionOf ( :C :D ) ] .",
        ["C(x) :- A(x), B(x).", "D(x) :- A(x), B(x)."],
    ),
    "a union on the left": (
        "[ owl:unionOf ( :A :B ) ] rdfs:subClassOf :C .",
        ["C(x) :- A(x).", "C(x) :- B(x)."],
    ),
    "a union inside": (
        "[ owl:intersectionOf ( :A [ owl:unionOf ( :B :C ) ] ) ] rdfs:subClassOf :D .",
        ["Union1(x) :- B(x).", "Union1(x) :- C(x).", "D(x) :- A(x), Union1(x)."],
    ),
    "individuals": (
        "[ owl:oneOf ( :a :b ) ] rdfs:subClassOf :A .",
        ['OneOf1("<http://example.org/a>").', 'OneOf1("<http://example.org/b>").', "A(x) :- OneOf1(x)."],
    ),
    "an individual of an expression": (
        ":a a [ owl:onProperty :p ; owl:allValuesFrom :B ] .",
        ['OneOf1("<http://example.org/a>").', "B(y) :- OneOf1(x), p(x, y)."],
    ),
    "nothing is what needs no rule": (
        ":A rdfs:subClassOf owl:Thing . owl:Nothing rdfs:subClassOf :A . :A rdfs:subClassOf :A .",
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_axiom_becomes_rules(name: str) -> None:
    turtle, expected = CASES[name]
    translation = rdf.owl_rules(graph(turtle))
    assert rules(translation) == expected
    assert translation.left_out == ()
    assert translation.rules == len(expected)


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed_is_a_program_without_errors(name: str) -> None:
    text = rdf.owl_rules(graph(CASES[name][0])).text
    assert [d for d in check(text) if d.severity is Severity.ERROR] == []


def test_a_class_with_a_name_may_be_described_more_than_once() -> None:
    some = "[ owl:onProperty :p ; owl:someValuesFrom :C ]"
    translation = rdf.owl_rules(graph(f":A owl:intersectionOf ( :B {some} ) ; owl:unionOf ( :D :E ) ."))
    assert rules(translation) == [
        "B(x) :- A(x).",
        "A(x) :- B(x), p(x, y), C(y).",
        "A(x) :- D(x).",
        "A(x) :- E(x).",
    ]
    first, second = map(str, translation.left_out)
    assert first.startswith("A is (B and (p some C)): no rule derives (p some C) from A: ")
    assert second == "A is (D or E): no rule derives (D or E) from A: rules cannot derive a disjunction"


def test_an_alternative_beyond_rules_takes_no_other_with_it() -> None:
    union = "[ owl:unionOf ( :B [ owl:complementOf :C ] ) ]"
    translation = rdf.owl_rules(graph(f"[ owl:intersectionOf ( :A {union} ) ] rdfs:subClassOf :D ."))
    assert rules(translation) == ["Union1(x) :- B(x).", "D(x) :- A(x), Union1(x)."]
    assert [left.problem for left in translation.left_out] == [
        "no rule can test for (not C): a fact that is not known may still hold"
    ]


BEYOND = {
    "some on the right": (":A rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom :B ] .", "unnamed"),
    "a union on the right": (":A rdfs:subClassOf [ owl:unionOf ( :B :C ) ] .", "disjunction"),
    "individuals on the right": (":A rdfs:subClassOf [ owl:oneOf ( :a :b ) ] .", "equality"),
    "a complement on the right": (":A rdfs:subClassOf [ owl:complementOf :B ] .", "contradictions"),
    "a complement on the left": ("[ owl:complementOf :B ] rdfs:subClassOf :A .", "may still hold"),
    "only on the left": (
        "[ owl:onProperty :p ; owl:allValuesFrom :B ] rdfs:subClassOf :A .",
        "may still hold",
    ),
    "nothing on the right": (":A rdfs:subClassOf owl:Nothing .", "contradictions"),
    "everything on the left": ("owl:Thing rdfs:subClassOf :A .", "every individual"),
    "everything in a union": (
        "[ owl:onProperty :p ; owl:someValuesFrom [ owl:unionOf ( owl:Thing :B ) ] ] rdfs:subClassOf :A .",
        "every individual",
    ),
    "a datatype": (":p rdfs:range xsd:string .", "datatypes of literals"),
    "a datatype of one's own": (":p rdfs:range :Age . :Age a rdfs:Datatype .", "datatypes of literals"),
    "a cardinality": (
        ':A rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality "1"^^xsd:nonNegativeInteger ] .',
        "some, only, value and at least one",
    ),
    "two restrictions in one": (
        ":A rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :B ; owl:hasValue :v ] .",
        "several restrictions",
    ),
    "two descriptions in one": (
        ":A rdfs:subClassOf [ owl:intersectionOf ( :B ) ; owl:unionOf ( :C ) ] .",
        "described by owl:intersectionOf and by owl:unionOf",
    ),
    "a list without an end": (":A owl:intersectionOf :B .", "malformed"),
    "a chain without an end": (":p owl:propertyChainAxiom :q .", "malformed"),
    "a description of itself": (
        "_:x owl:intersectionOf ( :B _:x ) . _:x rdfs:subClassOf :A .",
        "contains itself",
    ),
    "a description that goes on and on": (
        "".join(f"_:n{i} owl:complementOf _:n{i + 1} . " for i in range(5000)) + ":A rdfs:subClassOf _:n0 .",
        "contradictions",
    ),
    "a property that is the inverse of its inverse": (
        "_:p owl:inverseOf _:q . _:q owl:inverseOf _:p . _:p rdfs:range xsd:string .",
        "datatypes of literals",
    ),
    "a literal as a class": (':A rdfs:subClassOf "B" .', "is not a class"),
    "a functional property": (":p a owl:FunctionalProperty .", "equality"),
    "the same individual": (":a owl:sameAs :b .", "equality"),
    "a key": (":A owl:hasKey ( :p ) .", "equality"),
    "disjoint classes": (":A owl:disjointWith :B .", "contradictions"),
    "an asymmetric property": (":p a owl:AsymmetricProperty .", "contradictions"),
    "an import": ("<http://example.org> owl:imports <http://example.org/other> .", "not followed"),
    "a reflexive property": (":p a owl:ReflexiveProperty .", "no reflexive properties"),
    "about RDF itself": (":p rdfs:subPropertyOf rdfs:subClassOf .", "RDFS vocabulary"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_no_rule_can_say_is_reported(name: str) -> None:
    turtle, reason = BEYOND[name]
    translation = rdf.owl_rules(graph(turtle))
    assert len(translation.left_out) >= 1
    assert reason in str(translation.left_out[0])


def test_declarations_and_annotations_are_nothing_to_report() -> None:
    translation = rdf.owl_rules(
        graph(
            """:A a owl:Class ; rdfs:label "A" . :p a owl:ObjectProperty . :q a owl:DatatypeProperty .
            :a a owl:NamedIndividual, :A . <http://example.org> a owl:Ontology ; owl:versionInfo "1" ."""
        )
    )
    assert (translation.text, translation.rules, translation.left_out) == ("", 0, ())
    assert translation.passed_over == {}
    assert len(tidelog.open(text=translation.text)) == 0


def test_words_of_owl_that_nobody_knows_are_counted() -> None:
    turtle = ":A owl:subClassOf :B, :C . :p a owl:TransitivProperty . :A rdfs:subClassOf :C ."
    translation = rdf.owl_rules(graph(turtle))
    assert translation.passed_over == {"owl:subClassOf": 2, "owl:TransitivProperty": 1}
    assert translation.rules == 1
    assert rdf.infer(graph(turtle), "owlrl").passed_over == translation.passed_over


@pytest.mark.parametrize("name", BEYOND)
def test_a_word_that_is_reported_is_not_unknown(name: str) -> None:
    assert rdf.owl_rules(graph(BEYOND[name][0])).passed_over == {}


def test_superclasses_that_follow_anyway_are_dropped() -> None:
    translation = rdf.rdfs_rules(
        graph(":A rdfs:subClassOf :B, :C, :D . :B rdfs:subClassOf :C, :D . :C rdfs:subClassOf :D .")
    )
    assert rules(translation) == ["B(x) :- A(x).", "C(x) :- B(x).", "D(x) :- C(x)."]


def test_classes_that_are_each_others_subclasses_stay_so() -> None:
    cycle = (
        ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C . :C rdfs:subClassOf :A, :B . :B rdfs:subClassOf :A ."
    )
    translation = rdf.rdfs_rules(graph(cycle))
    db = tidelog.open(text=translation.text)
    for relation in ("class::A", "class::B", "class::C"):
        with db.transaction() as tx:
            tx.insert(relation, [(relation,)])
    assert len(db["class::A"]) == len(db["class::B"]) == len(db["class::C"]) == 3


def test_equal_names_of_different_namespaces_are_told_apart() -> None:
    other = "<http://example.com/other#A>"
    translation = rdf.rdfs_rules(graph(f"{other} rdfs:subClassOf :A, :1st . :A rdfs:domain :A ."))
    assert translation.classes == {
        "<http://example.org/1st>": "class::_1st",
        other: "class::A",
        "<http://example.org/A>": "class::A_2",
    }
    assert translation.properties == {"<http://example.org/A>": "property::A"}


def test_splitting_and_joining_gives_the_graph_again() -> None:
    translation = rdf.rdfs_rules(graph(":A rdfs:subClassOf :B . :p rdfs:domain :A ."))
    data = graph(':a a :A, :Z ; :p :b, "1" ; :z :b . :b a :B . :p :p :p .')
    facts, rest = translation.split(data)
    assert {name: table.num_rows for name, table in facts.items()} == {
        "property::p": 3,
        "class::A": 1,
        "class::B": 1,
    }
    assert rest.num_rows == 2
    again = rdf.triples(translation.join(facts)) + rdf.triples(rest)
    assert sorted(again) == sorted(rdf.triples(data))


def test_the_ontology_of_universities_becomes_about_a_hundred_rules() -> None:
    translation = rdf.owl_rules(rdf.university_ontology())
    assert translation.rules == 97
    assert len(translation.classes) == 43
    assert {left.problem.split(": ")[1] for left in translation.left_out} == {
        "rules cannot create unnamed individuals"
    }
    assert len(translation.left_out) == 8
