"""What generators and nested bodies mean, by the substitution-based reasoner."""

from __future__ import annotations

import pytest

from tidelog.data.values import Row, canonical
from tidelog.errors import EngineError
from tidelog.program.draft import load
from tidelog.reference.chibi import consequences
from tidelog.reference.circuit.reasoner import Circuit


def derived(text: str, relation: str, **facts: list[tuple[object, ...]]) -> list[Row]:
    program = load(text)
    given = {
        name: [tuple(map(canonical, program.relations[name].types, row)) for row in rows]
        for name, rows in facts.items()
    }
    indexed, plain = (consequences(program, given, indexed=indexed) for indexed in (True, False))
    assert indexed == plain
    return sorted(indexed.get(relation, ()), key=repr)


WORDS = """
    input relation Line(words: vec<string>)
    output relation Word(word: string, times: int)
    Word(w, n) :- Line(v), var w in v, var n = w.group_by(w).count().
"""


def test_equal_items_are_instances_of_their_own() -> None:
    assert derived(WORDS, "Word", Line=[(["a", "b", "a"],), (["a"],)]) == [("a", 3), ("b", 1)]


def test_an_empty_collection_has_no_instance() -> None:
    assert derived(WORDS, "Word", Line=[([],)]) == []


def test_a_generated_item_must_equal_a_bound_variable() -> None:
    text = """
        input relation Line(words: vec<option<int>>)
        input relation Known(word: option<int>)
        output relation Found(word: option<int>)
        Found(w) :- Known(w), Line(v), var w in v.
    """
    assert derived(text, "Found", Line=[([1, None, 2],)], Known=[(1,), (None,)]) == [(1,)]


def test_a_collection_that_fails_is_an_error_only_if_the_rest_holds() -> None:
    text = """
        input relation Line(text: string, separator: string)
        output relation Part(part: string)
        Part(p) :- Line(s, t), var p in split(s, t), s != "skipped".
    """
    assert derived(text, "Part", Line=[("skipped", ""), ("a,b", ",")]) == [("a",), ("b",)]
    with pytest.raises(EngineError, match="separator is empty"):
        derived(text, "Part", Line=[("a", "")])


SAFE = """
    input relation Host(name: string)
    input relation Link(src: string, dst: string)
    input relation Broken(name: string, times: int)
    output relation Safe(name: string)
    Safe(x) :- Host(x), not (Link(x, y), Broken(y, n), 12 / n > 3).
"""


def test_a_negated_body_has_existential_variables() -> None:
    facts: dict[str, list[tuple[object, ...]]] = {
        "Host": [("a",), ("b",), ("c",)],
        "Link": [("a", "x"), ("b", "y")],
        "Broken": [("x", 1), ("y", 12)],
    }
    assert derived(SAFE, "Safe", **facts) == [("b",), ("c",)]


def test_a_negated_body_that_fails_is_an_error_unless_it_holds_anyway() -> None:
    facts: dict[str, list[tuple[object, ...]]] = {"Host": [("a",)], "Link": [("a", "x")]}
    with pytest.raises(EngineError, match="division by zero"):
        derived(SAFE, "Safe", **facts, Broken=[("x", 0)])
    assert derived(SAFE, "Safe", **facts, Broken=[("x", 0), ("x", 1)]) == []


COUNTS = """
    input relation Customer(name: option<string>)
    input relation Order(id: int, customer: option<string>, amount: int)
    output relation Count(name: option<string>, n: int)
    output relation Least(name: option<string>, n: int)
    Count(c, n) :- Customer(c), var n = count { Order(_, c, _) }.
    Least(c, n) :- Customer(c), var n = min(a) { Order(_, c, a) }.
"""


def test_an_aggregate_over_a_body_has_a_value_over_nothing_or_does_not_hold() -> None:
    facts: dict[str, list[tuple[object, ...]]] = {
        "Customer": [("a",), ("b",), (None,)],
        "Order": [(1, "a", 5), (2, "a", 5), (3, None, 1)],
    }
    assert derived(COUNTS, "Count", **facts) == [("a", 2), ("b", 0), (None, 0)]
    assert derived(COUNTS, "Least", **facts) == [("a", 5)]


def test_a_parameter_may_be_used_by_a_condition_alone_and_may_be_none() -> None:
    text = """
        input relation Limit(n: option<int>)
        input relation Load(n: int)
        output relation Above(n: option<int>, count: int)
        output relation Free(n: option<int>)
        Above(m, k) :- Limit(m), var k = count { Load(n), n > unwrap_or(m, 2) }.
        Free(m) :- Limit(m), not (Load(_), is_none(m)).
    """
    facts: dict[str, list[tuple[object, ...]]] = {"Limit": [(0,), (None,)], "Load": [(1,), (2,), (3,)]}
    assert derived(text, "Above", **facts) == [(0, 3), (None, 1)]
    assert derived(text, "Free", **facts) == [(0,)]


def test_parameters_may_come_from_the_recursion() -> None:
    text = """
        input relation Edge(src: int, dst: int)
        output relation Visited(node: int)
        Visited(1).
        Visited(y) :- Visited(x), Edge(x, y), var n = count { Edge(y, _) }, n < 2.
    """
    assert derived(text, "Visited", Edge=[(1, 2), (2, 3), (3, 4), (3, 5), (2, 6)]) == [(1,)]
    assert derived(text, "Visited", Edge=[(1, 2), (2, 3), (3, 4), (3, 5)]) == [(1,), (2,)]


def test_the_circuit_has_generators_and_refuses_nested_bodies() -> None:
    circuit = Circuit()
    plain = load("""
        output relation Square(n: int)
        Square(n * n) :- var n in range(0, 3).
        Square(n) :- var n in [1, 1].
    """)
    circuit.commit(plain.rules, {}, plain.functions)
    assert circuit.contents == {"Square": {(0,), (1,), (4,)}}
    nested = load("""
        input relation Host(name: string)
        output relation None()
        None() :- not (Host(_)).
    """)
    with pytest.raises(EngineError, match="nested bodies"):
        circuit.commit(nested.rules, {}, nested.functions)
