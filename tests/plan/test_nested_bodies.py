"""Flat programs of rules with nested bodies and generators."""

from __future__ import annotations

from tidelog.data.types import INT
from tidelog.plan.cost import SizesOnly
from tidelog.plan.flat import FlatProgram, Kind
from tidelog.plan.flatten import flatten
from tidelog.plan.join_order import Expand, Filter, Join, order
from tidelog.program.draft import Draft, load
from tidelog.program.typed import Absent, Bind, Each, Match

DECLARED = """
input relation Host(h: int)
input relation Link(a: int, b: int)
input relation Line(s: string)
output relation Out(h: int)
output relation Word(w: string)
"""


def flat(rules: str) -> FlatProgram:
    return flatten(load(f"{DECLARED}\n{rules}"))


def kinds(program: FlatProgram) -> list[Kind]:
    return sorted({r.kind for r in program.relations.values()} - {Kind.DECLARED}, key=lambda k: k.value)


def test_a_negated_body_is_a_negated_relation_of_its_parameters() -> None:
    program = flat("Out(h) :- Host(h), not (Link(h, x), Host(x)).")
    assert kinds(program) == [Kind.BODY]
    (rule,) = (r for r in program.rules.values() if r.head == "Out")
    negated = rule.body[1]
    assert isinstance(negated, Absent)
    assert program.relations[negated.relation].types == (INT,)
    (inner,) = (r for r in program.rules.values() if r.head == negated.relation)
    assert [x.relation for x in inner.body if isinstance(x, Match)] == ["Link", "Host"]


def test_an_aggregate_with_a_value_over_nothing_has_two_choices() -> None:
    program = flat("Out(n) :- Host(h), var n = count { Link(h, _) }.")
    assert kinds(program) == [Kind.INSTANCES, Kind.PROJECTION, Kind.RESULTS]
    bodies = [r.body for r in program.rules.values() if r.head == "Out"]
    assert [[type(x) for x in body] for body in bodies] == [[Match, Match], [Match, Absent, Bind]]
    (grouping,) = program.groupings.values()
    assert grouping.keys == 1


def test_an_aggregate_without_a_value_over_nothing_has_one() -> None:
    program = flat("Out(n) :- Host(h), var n = min(x) { Link(h, x) }.")
    assert [len(r.body) for r in program.rules.values() if r.head == "Out"] == [2]


def test_a_parameter_that_is_only_tested_is_demanded() -> None:
    program = flat("Out(h) :- Host(h), Link(h, y), not (Link(x, _), x > y).")
    assert kinds(program) == [Kind.BODY, Kind.DEMAND]
    (demand,) = (r for r in program.relations.values() if r.kind is Kind.DEMAND)
    (rule,) = (r for r in program.rules.values() if r.head == demand.name)
    assert [x.relation for x in rule.body if isinstance(x, Match)] == ["Host", "Link"]


def test_a_parameter_that_an_equation_gives_is_not_demanded() -> None:
    program = flat("Out(h) :- Host(h), not (Link(x, y), h == x + y).")
    assert kinds(program) == [Kind.BODY]


def test_nested_bodies_may_be_nested() -> None:
    program = flat("Out(h) :- Host(h), not (Link(h, x), not (Link(x, y), Host(y))).")
    assert len([r for r in program.relations.values() if r.kind is Kind.BODY]) == 2
    assert all(isinstance(x, Match | Absent) for r in program.rules.values() for x in r.body)


def test_removing_a_rule_removes_its_hidden_relations() -> None:
    old = load(f"{DECLARED}\nOut(h) :- Host(h).")
    draft = Draft(old)
    draft.load("Out(n) :- Host(h), var n = count { Link(h, x), x > h }, not (Link(n, y), y > h).")
    middle = draft.finish()
    draft = Draft(middle)
    draft.remove_rule(next(id_ for id_ in middle.rules if id_ not in old.rules))
    new = draft.finish()
    first = flatten(old)
    second = flatten(middle, old, first)
    whole = flatten(middle)
    assert (second.relations, second.rules) == (whole.relations, whole.rules)
    assert second.groupings == whole.groupings
    third = flatten(new, middle, second)
    assert third.relations == first.relations
    assert third.rules == first.rules
    assert third.groupings == first.groupings


def test_a_generator_is_expanded_after_what_can_be_tested_before_it() -> None:
    program = flat('Word(w) :- var w in split(s, " "), Line(s), s != "", w != "a".')
    (rule,) = program.rules.values()
    assert any(isinstance(x, Each) for x in rule.body)
    steps = order(rule, None, SizesOnly(lambda _: 100))
    assert [type(s) for s in steps] == [Join, Filter, Expand, Filter]
