"""Commits of the circuit: what is refused, what is undone, and the corners of values and rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference.circuit.circuit_programs import binary, condition, constant, rows, rule
from tidelog.data.types import DOUBLE, INT
from tidelog.data.values import NAN, Row
from tidelog.errors import EngineError
from tidelog.program.declared import Column, Function
from tidelog.program.typed import Aggregate, Binary, Bind, Call, Constant, Group, Head, Match, Rule, Var
from tidelog.reference.circuit import Circuit
from tidelog.reference.circuit.rewrite import Rewrite, unify

X, Y = Var("x", INT), Var("y", INT)


@pytest.fixture(params=[True, False], ids=["indexed", "whole"])
def circuit(request: pytest.FixtureRequest) -> Circuit:
    return Circuit(indexed=request.param)


def program(*rules: Rule) -> dict[str, Rule]:
    return {r.id: r for r in rules}


def test_a_fact_of_the_program_is_a_rule_without_a_body(circuit: Circuit) -> None:
    fact = Rule("f", (Head("P", (binary("+", constant(1), constant(2)),)),), ((),), None, ())
    assert circuit.commit(program(fact), {}) == {"P": rows((3,))}
    assert circuit.commit({}, {}) == {"P": -rows((3,))}


def test_a_fact_that_is_asserted_and_derived_stays_until_both_are_gone(circuit: Circuit) -> None:
    copy = program(rule("r", "P x", "Q x"))
    row = rows((1,))
    circuit.commit(copy, {"P": row, "Q": row})
    assert circuit.commit(copy, {"P": -row}) == {}
    assert circuit.commit({}, {}) == {"P": -row}


def test_a_relation_may_feed_itself_and_does_not_keep_itself_alive(circuit: Circuit) -> None:
    swap = program(rule("r", "E y x", "E x y"))
    circuit.commit(swap, {"E": rows((1, 2))})
    assert circuit.contents == {"E": frozenset({(1, 2), (2, 1)})}
    circuit.commit(swap, {"E": -rows((1, 2))})
    assert circuit.contents == {}


def test_an_assertion_counts_once_however_often_it_is_made(circuit: Circuit) -> None:
    row = rows((1,))
    assert circuit.commit({}, {"P": row * 2}) == {"P": row}
    assert circuit.commit({}, {"P": row}) == {}
    assert circuit.commit({}, {"P": -row}) == {"P": -row}
    assert circuit.commit({}, {"P": -row}) == {}


def test_a_program_without_a_finite_result_ends_at_the_limit_and_changes_nothing() -> None:
    circuit = Circuit(max_rounds=20)
    circuit.commit({}, {"P": rows((1,))})
    one = Constant(1, INT)
    counting = Rule(
        "count",
        (Head("P", (Binary("+", Var("x", INT), one, INT),)),),
        ((Match("P", (Var("x", INT),)),),),
        None,
        ((),),
    )
    with pytest.raises(EngineError, match="P still grew after 20 rounds"):
        circuit.commit({"count": counting}, {})
    assert circuit.contents == {"P": frozenset({(1,)})}


def test_a_rule_that_is_there_twice_is_gone_when_both_are(circuit: Circuit) -> None:
    one, two = rule("1", "P x", "Q x", "E x y"), rule("2", "P u", "Q u", "E u v")
    facts = {"Q": rows((1,)), "E": rows((1, 2), (1, 3))}
    circuit.commit(program(one, two), facts)
    assert circuit.commit(program(two), {}) == {}
    assert circuit.commit({}, {}) == {"P": -rows((1,))}


def test_an_identity_may_come_to_mean_another_rule(circuit: Circuit) -> None:
    circuit.commit(program(rule("r", "P x", "E x _")), {"E": rows((1, 2))})
    changes = circuit.commit(program(rule("r", "P x", "E _ x")), {})
    assert changes == {"P": rows((2,)) - rows((1,))}


def test_a_rule_moves_up_when_what_it_matches_comes_to_depend_on_a_negation(circuit: Circuit) -> None:
    copy = rule("copy", "P x", "Q x")
    facts = {"Q": rows((1,)), "E": rows((2, 2), (3, 4), (5, 3))}
    circuit.commit(program(copy), facts)
    sinks = rule("sinks", "Q x", "E _ x", "!E x _")
    assert circuit.commit(program(copy, sinks), {}) == {"P": rows((4,)), "Q": rows((4,))}
    assert circuit.commit(program(copy, sinks), {"E": rows((4, 4))}) == {
        "E": rows((4, 4)),
        "P": -rows((4,)),
        "Q": -rows((4,)),
    }


def test_two_rows_under_one_negated_key_refute_an_instance_once(circuit: Circuit) -> None:
    """Refuted twice, it would weigh -1 and cancel what another rule derives."""
    rules = program(rule("lonely", "P x", "Q x", "!E x _"), rule("all", "P x", "Q x"))
    facts = {"Q": rows((1,)), "E": rows((1, 2), (1, 3))}
    assert circuit.commit(rules, facts)["P"] == rows((1,))


def test_nan_joins_itself(circuit: Circuit) -> None:
    x = Var("x", DOUBLE)
    both = Rule("r", (Head("B", (x,)),), ((Match("P", (x,)), Match("Q", (x,))),), None, ())
    changes = circuit.commit(program(both), {"P": rows((NAN,), (1.0,)), "Q": rows((NAN,))})
    assert changes["B"] == rows((NAN,))


def test_none_is_copied_but_joins_nothing(circuit: Circuit) -> None:
    rules = program(
        rule("copy", "A x", "P x"),
        rule("join", "B x", "P x", "Q x"),
        rule("same", "C x", "E x x"),
        rule("not", "D x", "P x", "!Q x"),
        Rule("given", (Head("F", (constant(1),)),), ((Match("P", (Constant(None, INT),)),),), None, ()),
    )
    none = rows((None,))
    circuit.commit(rules, {"P": none, "Q": none, "E": rows((None, None))})
    derived = {name: found for name, found in circuit.contents.items() if name in "ABCDF"}
    assert derived == {"A": frozenset({(None,)}), "D": frozenset({(None,)})}


def test_aggregates_are_refused_with_the_rule(circuit: Circuit) -> None:
    group = Group((X,), (Aggregate(Var("n", INT), "count", (Y,), False),))
    grouped = Rule("fan out", (Head("F", (X,)),), ((Match("E", (X, Y)),),), group, ((),))
    with pytest.raises(EngineError, match="fan out"):
        circuit.commit(program(grouped), {})


def test_what_is_refused_leaves_no_trace(circuit: Circuit) -> None:
    copy = rule("copy", "P x", "Q x")
    circuit.commit(program(copy), {"Q": rows((1,))})
    before = circuit.contents
    liar = rule("liar", "P x", "Q x", "!P x")
    with pytest.raises(EngineError, match="liar"):
        circuit.commit(program(copy, liar), {"Q": rows((2,))})
    inverse = rule("inverse", "R x y", "Q x", Bind(Y, binary("/", constant(1), X)))
    with pytest.raises(EngineError, match="inverse"):
        circuit.commit(program(copy, inverse), {"Q": rows((0,))})
    assert circuit.contents == before
    assert circuit.commit(program(copy), {"Q": rows((2,))}) == {
        "P": rows((2,)),
        "Q": rows((2,)),
    }


def test_a_failed_expression_is_no_error_while_another_literal_does_not_hold(circuit: Circuit) -> None:
    quotient = Bind(Y, binary("/", constant(6), X))
    rules = program(rule("r", "R x y", "P x", quotient, "Q x", "!E x _"))
    wanted = circuit.commit(rules, {"P": rows((0,), (2,)), "Q": rows((2,))})
    assert wanted["R"] == rows((2, 3))
    with pytest.raises(EngineError):
        circuit.commit(rules, {"Q": rows((0,))})
    assert "R" not in circuit.commit(rules, {"Q": rows((0,)), "E": rows((0, 0))})
    with pytest.raises(EngineError):
        circuit.commit(rules, {"E": -rows((0, 0))})


def test_a_failed_condition_and_a_failed_head_are_errors_that_name_the_rule(circuit: Circuit) -> None:
    quotient = binary("/", constant(6), X)
    failing_condition = rule("condition", "P x", "Q x", condition("<", quotient, constant(9)))
    failing_head = Rule("head", (Head("P", (quotient,)),), ((Match("Q", (X,)),),), None, ())
    for broken in (failing_condition, failing_head):
        with pytest.raises(EngineError, match=broken.id):
            circuit.commit(program(broken), {"Q": rows((0,))})
    assert circuit.contents == {}


def test_a_function_that_changes_changes_what_its_rules_derive(circuit: Circuit) -> None:
    rules = program(rule("r", "R x y", "P x", Bind(Y, Call("next", (X,), INT))))
    add_one = Function("next", (Column("x", INT),), INT, binary("+", X, constant(1)))
    circuit.commit(rules, {"P": rows((1,))}, {"next": add_one})
    assert circuit.contents["R"] == frozenset({(1, 2)})
    add_two = replace(add_one, body=binary("+", X, constant(2)))
    assert circuit.commit(rules, {}, {"next": add_two}) == {"R": rows((1, 3)) - rows((1, 2))}


def test_the_work_of_a_commit_follows_its_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an index, rows that no changed rewrite asks for are not even looked at."""
    tried: list[Row] = []

    def counted(candidate: Rewrite, row: Row) -> Rewrite | None:
        tried.append(row)
        return unify(candidate, row)

    monkeypatch.setattr("tidelog.reference.circuit.operators.product.unify", counted)
    circuit = Circuit()
    closure = program(rule("0", "R x y", "E x y"), rule("1", "R x z", "R x y", "E y z"))
    circuit.commit(closure, {"E": rows(*((n, n + 1) for n in range(30)))})
    assert len(tried) > 400
    tried.clear()
    circuit.commit(closure, {"E": rows((100, 101))})
    assert len(tried) == 2
    tried.clear()
    assert len(circuit.commit(closure, {"E": rows((30, 31))})["R"]) == 31
    assert len(tried) < 4 * 31
