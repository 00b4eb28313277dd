"""Nested bodies that test values from the recursion around them: what is collected, and what is evaluated."""

from __future__ import annotations

from tidelog.plan.flat import FlatProgram, FlatRule, Kind
from tidelog.plan.flatten import flatten
from tidelog.program import typed
from tidelog.program.draft import Draft, load
from tidelog.program.text import print_body_literal
from tidelog.program.typed import Absent, Bind, Each, Match, Over

DECLARED = """
input relation Start(a: int)
input relation E(a: int, b: int)
input relation L(a: int, k: int)
output relation R(a: int, n: int)
R(x, 0) :- Start(x).
"""


def flat(rules: str) -> FlatProgram:
    return flatten(load(f"{DECLARED}\n{rules}"))


def recursive_rules(program: FlatProgram) -> list[FlatRule]:
    return [r for r in program.rules.values() if r.head == "R" and "R" in r.reads]


def collected(program: FlatProgram) -> list[list[str]]:
    """The literals of the bodies that are collected."""
    rules = [r for r in program.rules.values() if program.relations[r.head].kind is Kind.INSTANCES]
    return [[print_body_literal(x) for x in r.body] for r in rules]


def test_what_the_body_reads_is_collected_by_key_and_the_rest_is_an_expression() -> None:
    program = flat("R(x, n) :- R(y, m), E(y, x), var n = count { L(y, k), k > 0, k < m }.")
    assert collected(program) == [["L(y, k)", "k > 0"]]
    (grouping,) = program.groupings.values()
    assert grouping.keys == 1
    some, nothing = recursive_rules(program)
    assert [type(x) for x in some.body] == [Match, Match, Match, Bind]
    assert [type(x) for x in nothing.body] == [Match, Match, Absent, Bind, Bind]
    last = some.body[-1]
    assert isinstance(last, Bind)
    assert isinstance(last.value, Over)
    assert [print_body_literal(x) for x in last.value.sources[0].body] == ["k < m"]


def test_a_plan_shows_the_expression_as_an_aggregate_over_the_collected_rows() -> None:
    program = flat("R(x, n) :- R(y, m), E(y, x), var n = count { L(y, k), k < m }.")
    shown = [print_body_literal(rule.body[-1]) for rule in recursive_rules(program)]
    assert all("count(1) { var (k, _) in $2.0 rows, k < m }" in text for text in shown), shown


def test_an_aggregate_without_a_value_over_nothing_gives_one_row_or_none() -> None:
    program = flat("R(x, n) :- R(y, m), E(y, x), var n = min(k) { L(_, k), k > m }.")
    assert all(isinstance(rule.body[-1], Each) for rule in recursive_rules(program))


def test_what_may_fail_is_not_collected() -> None:
    program = flat("R(x, n) :- R(y, m), E(y, x), var n = count { L(_, k), 12 / k > 3, k < m }.")
    assert collected(program) == [["L(_, k)"]]


def test_bodies_in_bodies_are_collected_beside_what_they_belong_to() -> None:
    program = flat(
        "R(x, m) :- R(y, m), E(y, x), not (L(z, k), k != m, var j = count { E(z, w), w > m }, j > 0)."
    )
    assert sorted(len(body) for body in collected(program)) == [1, 2, 3]  # two choices of what E(z, w) gives
    for rule in recursive_rules(program):
        (test,) = (x for x in rule.body if isinstance(x, typed.Test))
        assert isinstance(test.condition, Over)


def test_a_body_that_binds_what_it_takes_from_the_recursion_is_a_hidden_relation() -> None:
    program = flat("R(x, n) :- R(y, m), E(y, x), var n = count { L(m, k), k > 0 }.")
    assert not any(
        isinstance(getattr(x, "value", None), Over) for r in recursive_rules(program) for x in r.body
    )


def test_a_rule_is_flattened_again_when_it_becomes_recursive() -> None:
    text = "R(x, n) :- E(x, m), var n = count { L(_, k), k < m }."
    old = load(f"{DECLARED}\nrelation F(a: int, b: int) F(x, y) :- E(x, y). {text.replace('E(', 'F(')}")
    before = flatten(old)
    assert any(r.kind is Kind.DEMAND for r in before.relations.values())
    draft = Draft(old)
    draft.load("F(y, n) :- R(x, n), E(x, y).")
    new = draft.finish()
    made = flatten(new, old, before)
    assert not any(r.kind is Kind.DEMAND for r in made.relations.values())
    assert made.rules == flatten(new).rules
    assert before.rules.keys() & {r.id for r in made.rules.values() if r.head == "R"} == {
        r.id for r in before.rules.values() if r.head == "R" and "Start" in r.reads
    }
