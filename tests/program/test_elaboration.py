"""What elaboration makes of rules: types, places, constants, alternatives, groups and identities."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from tidelog.data import types
from tidelog.data.types import INT, STRING, Type
from tidelog.errors import Severity
from tidelog.program import typed
from tidelog.program.draft import check, load
from tidelog.program.model import Program
from tidelog.program.typed import Absent, Bind, Cast, Constant, Expr, Match, Rule, Var, Wildcard

DECLARED = """
input relation Edge(src: string, dst: string)
input relation Person(name: string, age: int, email: option<string>)
input relation Order(who: string, item: string, amount: int)
output relation Pair(a: string, b: string)
output relation Number(n: int)
output relation Name(s: string)
"""


def program(text: str) -> Program:
    return load(DECLARED + text)


def rule(text: str) -> Rule:
    """The one rule of a text over the relations above."""
    (only,) = program(text).rules.values()
    return only


def value(type_: str, text: str) -> Expr:
    """What a fact's one argument becomes in a column of a type."""
    made = load(f"output relation Column(c: {type_})\nColumn({text}).")
    return next(iter(made.rules.values())).heads[0].values[0]


def errors(text: str) -> list[str]:
    return [d.code for d in check(DECLARED + text) if d.severity is Severity.ERROR]


# -- variables and literals


def test_a_variable_has_the_type_of_the_column_it_matches() -> None:
    head = rule("Number(a + 1) :- Person(_, a, _).").heads[0]
    assert {v.type for v in head.values} == {INT}


def test_a_type_flows_through_assignments_whatever_their_order() -> None:
    body = rule("Number(c) :- var c = b * 2, var b = a + 1, Person(_, a, _).").bodies[0]
    binds = [x.variable for x in body if isinstance(x, Bind)]
    assert binds == [Var("b", INT), Var("c", INT)]


@pytest.mark.parametrize(
    "body",
    [
        'Person(n, a, _), a > 17, not Edge(n, _), var s = n ++ "!"',
        'not Edge(n, _), var s = n ++ "!", a > 17, Person(n, a, _)',
        'var s = n ++ "!", a > 17, Person(n, a, _), not Edge(n, _)',
    ],
)
def test_the_order_of_literals_does_not_matter(body: str) -> None:
    made = rule(f"Name(s) :- {body}.").bodies[0]
    assert {type(x) for x in made} == {Match, typed.Test, Absent, Bind}
    assert errors(f"Name(s) :- {body}.") == []


def test_named_arguments_stand_in_their_columns_and_the_rest_is_anything() -> None:
    (match,) = rule("Number(a) :- Person(.age = a).").bodies[0]
    assert match == Match("Person", (Wildcard(), Var("a", INT), Wildcard()))


def test_positional_arguments_may_come_before_named_ones() -> None:
    (match,) = rule('Number(a) :- Person("ann", .age = a).').bodies[0]
    assert match == Match("Person", (Constant("ann", STRING), Var("a", INT), Wildcard()))


def test_a_repeated_variable_is_one_variable() -> None:
    (match,) = rule("Name(x) :- Edge(x, x).").bodies[0]
    assert match == Match("Edge", (Var("x", STRING), Var("x", STRING)))


def test_a_wildcard_matches_each_time_anew() -> None:
    (match, absent) = rule("Number(1) :- Edge(_, _), not Edge(_, _).").bodies[0]
    assert match == Match("Edge", (Wildcard(), Wildcard()))
    assert absent == Absent("Edge", (Wildcard(), Wildcard()))


def test_an_expression_as_an_argument_gets_a_variable_of_its_own() -> None:
    match, test, other = rule('Name(x) :- Edge(x, y ++ "!"), Edge(y, _).').bodies[0]
    assert isinstance(match, Match)
    assert isinstance(test, typed.Test)
    assert match.terms[1] == Var("$1", STRING)
    assert Var("$1", STRING) in (test.condition.left, test.condition.right)  # type: ignore[union-attr]
    assert isinstance(other, Match)


def test_an_expression_under_not_is_bound_before_it() -> None:
    literals = rule('Name(x) :- Edge(x, _), not Edge(x ++ "!", _).').bodies[0]
    assert [type(x) for x in literals] == [Match, Bind, Absent]


def test_a_variable_that_an_atom_binds_too_makes_an_equation() -> None:
    literals = rule("Number(a) :- Person(_, a, _), Order(_, _, b), var a = b + 1.").bodies[0]
    assert [type(x) for x in literals] == [Match, Match, typed.Test]


def test_a_rule_with_several_heads_gives_rows_to_each() -> None:
    made = rule("Name(x), Pair(x, y), Pair(y, x) :- Edge(x, y).")
    assert [h.relation for h in made.heads] == ["Name", "Pair", "Pair"]


def test_disjunctions_multiply_out() -> None:
    made = rule("Name(x) :- (Edge(x, _); Edge(_, x)), (Person(x, _, _); Order(x, _, _); Order(_, x, _)).")
    assert len(made.bodies) == 6
    assert all(len(body) == 2 for body in made.bodies)


def test_alternatives_may_be_nested() -> None:
    assert len(rule("Name(x) :- (Edge(x, _); (Edge(_, x); Order(x, _, _)), Person(x, _, _)).").bodies) == 3


def test_every_alternative_has_to_bind_what_the_head_uses() -> None:
    assert errors("Name(x) :- (Edge(x, y), x != y; Edge(y, y)).") == ["E301"]


def test_a_missing_binding_is_told_once_for_each_place() -> None:
    assert errors("Pair(x, z) :- Edge(x, _), z > x, not Edge(z, z).") == ["E301"]


def test_a_block_may_not_take_a_name_of_the_rule_wherever_that_is_bound() -> None:
    first = "Number(y) :- Person(_, a, _), var y = { var b = a; b }, var b = 2, b < a."
    second = "Number(y) :- Person(_, a, _), var b = 2, var y = { var b = a; b }, b < a."
    assert errors(first) == errors(second) == ["E303"]


# -- constants


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        ("bool", "true", Constant(True, types.BOOL)),
        ("int", "-9223372036854775808", Constant(-(2**63), INT)),
        ("int", "0xff", Constant(255, INT)),
        ("int", "1_000", Constant(1000, INT)),
        ("bigint", "99999999999999999999", Constant(99999999999999999999, types.BIGINT)),
        ("bit<8>", "255", Constant(255, types.Bit(8))),
        ("bit<8>", "0b11", Constant(3, types.Bit(8))),
        ("signed<8>", "-128", Constant(-128, types.Signed(8))),
        ("double", "2", Constant(2.0, types.DOUBLE)),
        ("double", "1.5e3", Constant(1500.0, types.DOUBLE)),
        ("float", "0.5", Constant(0.5, types.FLOAT)),
        ("decimal(5, 2)", "1.5", Constant(Decimal("1.50"), types.Decimal(5, 2))),
        ("decimal(5, 2)", "7", Constant(Decimal("7.00"), types.Decimal(5, 2))),
        ("string", '"a\\tb\\u{e9}"', Constant("a\tbé", STRING)),
        ("bytes", 'x"00ff"', Constant(b"\x00\xff", types.BYTES)),
        ("date", '"2024-02-29" as date', Constant(date(2024, 2, 29), types.DATE)),
        (
            "timestamp",
            '"2024-02-29T12:00:00Z" as timestamp',
            Constant(datetime(2024, 2, 29, 12, tzinfo=UTC), types.TIMESTAMP),
        ),
        ("option<int>", "none", Constant(None, types.Option(INT))),
        ("option<int>", "5", Constant(5, types.Option(INT))),
        ("option<string>", '"a"', Constant("a", types.Option(STRING))),
    ],
)
def test_a_constant_takes_the_type_of_its_column(type_: str, text: str, expected: Constant) -> None:
    assert value(type_, text) == expected


@pytest.mark.parametrize(
    ("type_", "text", "code"),
    [
        ("int", "9223372036854775808", "E203"),
        ("bit<8>", "256", "E203"),
        ("bit<8>", "-1", "E203"),
        ("signed<8>", "128", "E203"),
        ("decimal(5, 2)", "1.555", "E203"),
        ("decimal(5, 2)", "1000", "E203"),
        ("float", "1e39", "E203"),
        ("double", "1e999", "E203"),
        ("date", '"2023-02-29" as date', "E203"),
        ("int", "1.5", "E201"),
        ("date", '"2024-02-29"', "E201"),
        ("string", "1", "E201"),
        ("int", "none", "E201"),
        ("bool", "1", "E201"),
    ],
)
def test_a_constant_that_does_not_fit_is_refused(type_: str, text: str, code: str) -> None:
    found = check(f"output relation Column(c: {type_})\nColumn({text}).")
    assert [d.code for d in found] == [code]


def test_a_constant_takes_the_type_of_what_it_is_compared_with() -> None:
    text = "input relation B(b: bit<8>)\nNumber(1) :- B(b), 255 >= b."
    (only,) = program(text).rules.values()
    condition = only.bodies[0][1]
    assert isinstance(condition, typed.Test)
    assert condition.condition.left == Constant(255, types.Bit(8))  # type: ignore[union-attr]


def test_interpolation_joins_texts_and_converts_the_rest() -> None:
    (head,) = rule('Name("${n} is ${a}!") :- Person(n, a, _).').heads
    parts = []
    expr = head.values[0]
    while (left := getattr(expr, "left", None)) is not None:
        parts.append(getattr(expr, "right", None))
        expr = left
    assert [expr, *reversed(parts)] == [
        Var("n", STRING),
        Constant(" is ", STRING),
        Cast(Var("a", INT), STRING),
        Constant("!", STRING),
    ]


# -- options


def test_a_value_goes_into_an_option_and_an_option_not_into_a_value() -> None:
    declared = "output relation Maybe(s: option<string>)\n"
    (only,) = program(declared + "Maybe(n) :- Person(n, _, _).").rules.values()
    assert only.heads[0].values == (Cast(Var("n", STRING), types.Option(STRING)),)
    assert errors("Name(e) :- Person(_, _, e).") == ["E201"]


def test_an_option_is_compared_with_a_value_and_never_with_none() -> None:
    assert errors('Name(n) :- Person(n, _, e), e == "a@b.c".') == []
    assert errors("Name(n) :- Person(n, _, e), e != none.") == ["E205"]
    assert errors("Name(n) :- Person(n, _, none).") == ["E205"]
    assert errors('Name(n) :- Person(n, _, e), e < "b".') == ["E202"]


def test_an_option_matches_no_variable_of_its_item_type() -> None:
    assert errors("Name(e) :- Person(_, _, e), Edge(e, _).") == ["E207"]


# -- groups


def test_literals_belong_inside_the_group_unless_they_need_its_result() -> None:
    group = "Order(w, i, _), Person(w, _, _), var n = i.group_by(w).count()"
    text = f'Pair(w, b) :- n > 3, {group}, var m = "${{n}}", not Edge(m, _), Order(b, _, n).'
    made = rule(text)
    assert made.group is not None
    assert [type(x) for x in made.bodies[0]] == [Match, Match]
    assert [type(x) for x in made.after[0]] == [typed.Test, Bind, Absent, Match]


def test_several_aggregates_share_one_group() -> None:
    text = "Number(t) :- Order(w, _, a), var t = a.group_by(w).sum(), var n = a.group_by(w).count(), n > 1."
    group = rule(text).group
    assert group is not None
    assert [a.function for a in group.aggregates] == ["sum", "count"]
    assert group.keys == (Var("w", STRING),)


def test_a_group_without_keys_is_one_group() -> None:
    group = rule("Number(n) :- Edge(x, _), var n = x.group_by().count().").group
    assert group is not None
    assert group.keys == ()


def test_count_distinct_is_the_distinct_form_of_count() -> None:
    one = rule("Number(n) :- Edge(x, _), var n = x.group_by().count_distinct().")
    other = rule("Number(n) :- Edge(x, _), var n = x.group_by().distinct().count().")
    assert one.group == other.group
    assert one.id == other.id


@pytest.mark.parametrize(
    ("aggregate", "type_"),
    [
        ("a.group_by().sum()", INT),
        ("a.group_by().avg()", types.DOUBLE),
        ("w.group_by().max()", STRING),
        ("w.group_by().arg_max(a)", STRING),
        ('w.group_by().concat(", ")', STRING),
        ("(a > 1).group_by().any()", types.BOOL),
        ("(a as decimal(9, 2)).group_by().sum()", types.Decimal(9, 2)),
    ],
)
def test_an_aggregate_has_the_type_its_table_says(aggregate: str, type_: Type) -> None:
    group = rule(f"Number(1) :- Order(w, _, a), var v = {aggregate}, v == v.").group
    assert group is not None
    assert group.aggregates[0].result.type == type_


def test_a_result_of_a_group_is_no_value_inside_it() -> None:
    assert errors("Number(n) :- Order(_, _, n), var n = n.group_by().sum().") == ["E301"]
    assert errors("Number(n) :- Order(n, _, a), var n = a.group_by().sum().") == ["E301"]
    assert errors("Number(n) :- Edge(n, _), var n = n.group_by().count().") == ["E301"]


def test_a_variable_of_the_group_cannot_be_named_again_behind_it() -> None:
    group = "Order(w, i, _), Edge(i, m), var n = i.group_by(w).count()"
    assert errors(f'Pair(w, m) :- {group}, var m = "${{n}}".') == ["E404"]


# -- declarations


def test_relations_may_have_no_column_and_as_many_as_sixty_four() -> None:
    columns = ", ".join(f"c{i}: int" for i in range(64))
    made = load(f"input relation Wide({columns})\noutput relation Any()\nAny() :- Wide(.c63 = 1).")
    assert len(made.relations["Wide"].columns) == 64
    assert made.relations["Any"].columns == ()


def test_a_primary_key_is_kept_as_positions() -> None:
    made = load("input relation Stock(site: string, item: string, n: int) primary key (item, site)")
    assert made.relations["Stock"].key == (1, 0)


@pytest.mark.parametrize(
    ("declaration", "code"),
    [
        ("relation K(a: int) primary key (a)", "E107"),
        ("input relation K(a: int) primary key ()", "E107"),
        ("input relation K(a: option<int>) primary key (a)", "E107"),
        ("typedef Maybe = option<int>\ninput relation K(a: Maybe) primary key (a)", "E107"),
        ("input relation K(a: int) primary key (b)", "E102"),
        ("input relation K(a: int) primary key (a, a)", "E111"),
    ],
)
def test_a_key_that_cannot_be_kept_is_refused(declaration: str, code: str) -> None:
    found = [d.code for d in check(declaration) if d.severity is Severity.ERROR]
    assert found == [code]


def test_aliases_may_refer_to_each_other_in_any_order() -> None:
    made = load("typedef Maybe = option<Money>\ntypedef Money = decimal(9, 2)\ninput relation P(m: Maybe)")
    assert made.relations["P"].types == (types.Option(types.Decimal(9, 2)),)


def test_aliases_that_go_round_in_a_circle_are_told_and_their_uses_are_not() -> None:
    found = check(
        "typedef A = B\ntypedef B = A\ninput relation P(a: A)\noutput relation Q(a: B)\nQ(a) :- P(a)."
    )
    assert [d.code for d in found] == ["E104", "E104"]


def test_a_function_is_declared_once_and_the_note_points_at_the_first() -> None:
    text = "function f(n: int): int { n }\nfunction f(n: int): int { n }\nNumber(f(1))."
    (found,) = (d for d in check(DECLARED + text, "p.dl") if d.severity is Severity.ERROR)
    assert found.code == "E112"
    assert found.note == "the first declaration is at p.dl:8:1"


def test_functions_of_the_language_call_each_other_and_standard_ones() -> None:
    made = program(
        'function shout(s: string): string { upper(s) ++ "!" }\n'
        "function twice(s: string): string { var t = shout(s); t ++ t }\n"
        "Name(twice(x)) :- Edge(x, _)."
    )
    assert made.functions["twice"].result == STRING
    assert errors("function f(n: int): string { n }\nName(f(1)).") == ["E201"]


# -- identity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pair(x, y) :- Edge(x, y).", "Pair(from, to) :- Edge(from, to)."),
        ("Pair(x, y) :- Edge(x, y).", "Pair(x, y) :- Edge(.dst = y, .src = x)."),
        ("Pair(x, y) :- Edge(x, y).", "Pair(.b = y, .a = x)   :-\n  Edge(x, y) // comment\n."),
        ("Number(a) :- Person(_, a, _).", "Number(b) :- Person(.age = b)."),
        ("Number(10) :- Edge(_, _).", "Number(0xa) :- Edge(_, _)."),
    ],
)
def test_rules_that_differ_in_names_and_layout_alone_are_one(one: str, other: str) -> None:
    assert rule(one).id == rule(other).id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('Name("a  b").', 'Name("a b").'),
        ('Name("a").', 'Name("A").'),
        ('Name("x ${s}") :- Name(s).', 'Name("x  ${s}") :- Name(s).'),
        ("Pair(x, y) :- Edge(x, y).", "Pair(y, x) :- Edge(x, y)."),
        ("Name(x) :- Edge(x, _).", "Name(x) :- Edge(x, x)."),
        ("Name(x) :- Edge(x, _).", "Name(x) :- Edge(x, _), not Edge(x, x)."),
        ("Number(a - (a - 1)) :- Person(_, a, _).", "Number(a - a - 1) :- Person(_, a, _)."),
        ('Name("1 as int").', 'Name("1") :- 1 == 1.'),
    ],
)
def test_rules_that_say_different_things_are_two(one: str, other: str) -> None:
    assert rule(one).id != rule(other).id
