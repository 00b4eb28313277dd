"""Clauses, strata and the grounding kit: how rules become Z-sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.circuit.circuit_programs import atom, binary, condition, constant, rule
from tidelog.data.types import DOUBLE, INT
from tidelog.data.zset import ZSet
from tidelog.errors import EngineError
from tidelog.program.typed import Bind, Body, Constant, Let, Match, Rule, Var
from tidelog.reference.circuit.clause import Clause, clauses
from tidelog.reference.circuit.kit import Direction, Order, Prefixes, Signal, kit
from tidelog.reference.circuit.strata import levels


def clause(given_rule: Rule) -> Clause:
    (only,) = clauses([given_rule])
    return only


def x(name: str = "x") -> Var:
    return Var(name, INT)


literals = st.sampled_from(
    [atom(text) for text in ("E x y", "E y x", "E x x", "P x", "!P x", "E x 1", "E x _")]
)
prefixes_of_literals = st.lists(literals, max_size=3).map(tuple)


@given(st.lists(prefixes_of_literals))
def test_two_prefixes_share_a_number_iff_they_are_the_same(bodies: list[Body]) -> None:
    table = Prefixes()
    numbers = [table.of(body).number for body in bodies]
    for body, number in zip(bodies, numbers, strict=True):
        for other, its_number in zip(bodies, numbers, strict=True):
            assert (number == its_number) == (body == other)


def test_prefixes_that_are_permutations_of_each_other_are_told_apart() -> None:
    """A sum of hashes would not."""
    table = Prefixes()
    body = (atom("P x"), atom("Q x"))
    assert table.of(body) != table.of((body[1], body[0]))


def test_constants_that_python_takes_for_equal_are_told_apart_by_type() -> None:
    table = Prefixes()
    one = table.of((Match("P", (Constant(1, INT),)),))
    assert one != table.of((Match("P", (Constant(1.0, DOUBLE),)),))


def test_names_of_variables_do_not_matter() -> None:
    one = clause(rule("r", "R a c", "E a b", "E b c"))
    two = clause(rule("r", "R u w", "E u v", "E v w"))
    assert one == two


def test_the_name_of_a_let_is_its_own() -> None:
    """`let x = x + 1 in x`: the outer x is renamed, the inner one is not."""
    expr = Let("x", binary("+", x(), constant(1)), x(), INT)
    (_, bound) = clause(rule("r", "P y", "P x", Bind(x("y"), expr))).body
    outer = Var("#0", INT)
    assert bound == Bind(Var("#1", INT), Let("x", binary("+", outer, constant(1)), x(), INT))


def test_literals_come_as_soon_as_what_they_read_is_bound() -> None:
    test = condition("<", x(), x("y"))
    body = clause(rule("r", "P x", test, "!P x", "P x", "E y z", "E x y")).body
    kinds = [type(literal).__name__ for literal in body]
    assert kinds == ["Match", "Absent", "Match", "Test", "Match"]
    assert body[2] == Match("E", (Var("#0", INT), Var("#1", INT)))


def test_an_assignment_to_a_matched_variable_is_a_check_after_the_match() -> None:
    body = clause(rule("r", "P x", "P x", Bind(x("y"), x()), "Q y")).body
    assert [type(literal).__name__ for literal in body] == ["Match", "Match", "Bind"]


@pytest.mark.parametrize(
    "unsafe",
    [
        rule("unsafe", "P x"),
        rule("unsafe", "P x", "P x", "!Q y"),
        rule("unsafe", "P x", "P x", condition("<", x(), x("y"))),
    ],
)
def test_a_variable_that_nothing_binds_is_refused_with_the_rule(unsafe: Rule) -> None:
    with pytest.raises(EngineError, match="unsafe"):
        clauses([unsafe])


def test_a_clause_is_above_what_it_negates_and_not_below_what_it_matches() -> None:
    rules = [
        rule("a", "A x", "E x _"),
        rule("b", "B x", "E x _", "!A x"),
        rule("c", "C x", "B x"),
        rule("d", "D x", "E x _", "!C x", "!A x"),
    ]
    placed = {c.rule: level for c, level in levels(clauses(rules)).items()}
    assert placed == {"a": 0, "b": 1, "c": 1, "d": 2}


def test_recursion_without_negation_stays_on_one_level() -> None:
    rules = [rule("0", "A x", "B x"), rule("1", "B x", "A x"), rule("2", "A x", "E x x")]
    assert set(levels(clauses(rules)).values()) == {0}


def test_a_cycle_through_a_negation_is_refused() -> None:
    rules = [rule("0", "A x", "E x _", "!B x"), rule("1", "B x", "A x")]
    with pytest.raises(EngineError, match="its own negation"):
        levels(clauses(rules))


def test_the_kit_of_two_rules_that_begin_alike_has_the_shared_direction_twice() -> None:
    """The paper's example of a grounding kit."""
    one = clause(rule("0", "T x y", "E x y"))
    two = clause(rule("1", "T x z", "E x y", "T y z"))
    prefixes = Prefixes()
    whole = kit(ZSet.of([one, two]), prefixes)
    empty, first, second = prefixes.of(()), prefixes.of(one.body), prefixes.of(two.body)
    assert whole.directions == ZSet({Direction(empty, first): 2, Direction(first, second): 1})
    assert whole.signals == ZSet.of([Signal(first, one.head, "0"), Signal(second, two.head, "1")])


def test_join_orders_name_the_columns_that_are_bound_before_an_atom() -> None:
    """The paper's example, and an atom with a constant and a wildcard."""
    prefixes = Prefixes()
    closure = clause(rule("0", "T x z", "T x y", "E y z"))
    assert kit(ZSet.of([closure]), prefixes).orders == ZSet.of([Order("T", ()), Order("E", (0,))])
    typed = clause(rule("1", "P x", "R 1 x", "S _ x"))
    assert kit(ZSet.of([typed]), prefixes).orders == ZSet.of([Order("R", (0,)), Order("S", (1,))])


def test_absences_name_the_columns_that_are_not_wildcards() -> None:
    negated = clause(rule("0", "P x", "P x", "!R x _", "!R _ _", "!R x 1"))
    wanted = ZSet.of([Order("R", (0,)), Order("R", ()), Order("R", (0, 1))])
    assert kit(ZSet.of([negated]), Prefixes()).absences == wanted


def test_the_kit_is_linear() -> None:
    one = ZSet.of([clause(rule("0", "T x y", "E x y"))])
    two = ZSet.of([clause(rule("1", "T x z", "E x y", "T y z", "!P x"))])
    prefixes = Prefixes()
    a, b, both = kit(one, prefixes), kit(two * -2, prefixes), kit(one + two * -2, prefixes)
    assert both.directions == a.directions + b.directions
    assert both.signals == a.signals + b.signals
    assert both.orders == a.orders + b.orders
    assert both.absences == a.absences + b.absences
