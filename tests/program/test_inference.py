"""Inference of structured values: types flow from fields, items, closures and expected types."""

from __future__ import annotations

import pytest

from tidelog.data import types
from tidelog.program import typed
from tidelog.program.draft import check, load
from tidelog.program.typed import Bind, Each, If, Is, Match, Nested, Rule, Without

DECLARED = """
typedef Shape = Circle{radius: int} | Square{side: int} | Dot
typedef Pair<A, B> = Pair{first: A, second: B}
typedef Point = Point{x: int, y: int}
input relation In(i: int, s: Shape, v: vec<int>, o: option<int>, n: string)
input relation Small(b: u8)
output relation Out(i: int)
function final<T>(v: vec<T>): option<T> { v.get(v.len() - 1) }
function twice<T>(x: T, f: |T|: T): T { var y = f(x); f(y) }
function size(x: Point): int { x.x }
function size(x: string): int { length(x) }
function opened(x: option<int>): option<string> { var y = x?; "${y + 1}" }
function opened_all<T>(v: vec<T>): option<(T, T)> { (v.get(0)?, v.get(1)?) }
"""


def rule(body: str, head: str = "Out(i)") -> Rule:
    made = load(f"{DECLARED}\n{head} :- In(i, s, v, o, n), {body}.").rules
    return next(iter(made.values()))


def codes(body: str) -> list[str]:
    found = check(f"{DECLARED}\nOut(i) :- In(i, s, v, o, n), {body}.")
    return [d.code for d in found if d.code[0] == "E" or d.code == "W009"]


def type_of(value: str) -> str:
    (bind,) = (x for x in rule(f"var found = {value}").bodies[0] if isinstance(x, Bind))
    return str(bind.variable.type)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("(i, n)", "(int, string)"),
        ("[i, 1]", "vec<int>"),
        ("[1, none, i]", "vec<option<int>>"),
        ("[n -> [i]]", "map<string, vec<int>>"),
        ("Pair{i, Pair{n, o}}", "Pair<int, Pair<string, option<int>>>"),
        ("Pair{.second = 1.5, .first = [n]}", "Pair<vec<string>, double>"),
        ("(if (i > 0) Ok{i} else Err{n})", "result<int, string>"),
        ("(if (i > 0) none else some(i))", "option<int>"),
        ("v.map(|x| (x, n))", "vec<(int, string)>"),
        ('v.map(|x| x * 2).filter(|x| x > i).fold([n], |a, x| a.push("${x}"))', "vec<string>"),
        ("zip(v, [n]).to_map()", "map<int, string>"),
        ("get(v, 0)", "option<int>"),
        ("get([n -> i], n)", "option<int>"),
        ("unwrap_or(get([n -> v], n), [])", "vec<int>"),
        ("reverse(v)", "vec<int>"),
        ("32'd15", "bit<32>"),
        ("32'hff00[15:8]", "bit<8>"),
        ("(i as bit<64>)[63:63]", "bit<1>"),
        ("i +% 1", "int"),
        ("1 *% 8'd3 -% 4", "bit<8>"),
        ("opened(o)", "option<string>"),
        ("opened_all([n])", "option<(string, string)>"),
        ("reverse(n)", "string"),
        ("final([n])", "option<string>"),
        ("twice(n, |t| t ++ n)", "string"),
        ("(size(n) + size(Point{i, i}))", "int"),
        ("match (s) { Circle{r} -> [r], Square{..} -> [], Dot -> [i] }", "vec<int>"),
        ("match (o) { some(x) -> x, none -> 0 }", "int"),
        ("match ((s, i)) { (Circle{r}, 0) -> some(r), (_, k) -> none }", "option<int>"),
        ("(Point{1, 2}).x", "int"),
        ("((i, n)).1", "string"),
    ],
)
def test_the_type_of_a_value_is_inferred(value: str, wanted: str) -> None:
    assert type_of(value) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("var x = []", ["E209"]),
        ("var x = none", ["E204"]),
        ("var x = Ok{i}", ["E209"]),
        ("var x = [i, n]", ["E202"]),
        ("var x = Point{i}", ["E120"]),
        ("var x = Point{.x = i, .x = i}", ["E120"]),
        ("var x = Point{.z = i}", ["E119"]),
        ("var x = Point{i, i, i}", ["E105"]),
        ("var x = Pont{i, i}", ["E118"]),
        ("var x = Point{i, n}", ["E201"]),
        ("s.radius > 1", ["E119"]),
        ("i in n", ["E202"]),
        ("n in v", ["E201"]),
        ("var x = v.map(|a, b| a)", ["E105"]),
        ("var x = v.map(1)", ["E201"]),
        ("var x = |a| a", ["E201"]),
        ("var x = v.map(|n| n)", ["E303"]),
        ("var x = some(o)", ["E201"]),
        ("var x = first([o])", ["E201"]),
        ("var x = size(i)", ["E212"]),
        ("var x = match (s) { Circle{r} -> r, Dot -> 0 }", ["E210"]),
        ("var x = match (s) { Circle{r} -> r, _ -> n }", ["E202"]),
        ("var x = match (s) { _ -> 1, Dot -> 0 }", ["W009"]),
        ("var x = match (i) { 0 -> 1, 1 -> 2 }", ["E210"]),
        ("var x = match (i > 0) { true -> 1, false -> 2 }", []),
        ("var x = { var Circle{r} = s; r }", ["E210"]),
        ("var (a, b) = i", ["E201"]),
        ("var x in i", ["E202"]),
        ("var x in o", ["E202"]),
        ("var x = 1, var (x, y) = (1, 2)", ["E303"]),
        ("var k = count { In(i, _, _, _, m) } + 1", ["E003"]),
    ],
)
def test_a_mistake_is_reported_once(body: str, wanted: list[str]) -> None:
    assert codes(body) == wanted


def test_missing_cases_are_listed_as_patterns() -> None:
    match = "match ((s, o)) { (Dot, _) -> 1, (_, none) -> 2 }"
    text = f"{DECLARED}\nOut(x) :- In(_, s, _, o, _), var x = {match}."
    (found,) = (d for d in check(text) if d.code == "E210")
    assert found.note == "missing: `(Circle{..}, some(_))`, `(Square{..}, some(_))`"


def test_a_number_takes_the_type_of_its_field_or_item() -> None:
    made = load(f"{DECLARED}\nOut(1) :- Small(b), b in [1, 2], Pair{{b, 3}} == Pair{{3, 4}}.")
    assert made.rules
    assert codes("Small(b), var x = [b, 300]") == ["E203"]


# -- literals


def test_a_pattern_among_arguments_becomes_tests_and_bindings() -> None:
    made = load(f"{DECLARED}\nOut(r) :- In(_, Circle{{r}}, _, _, _).")
    (found,) = made.rules.values()
    matched, test, bind = found.bodies[0]
    assert isinstance(matched, Match)
    assert isinstance(test, typed.Test)
    assert isinstance(test.condition, Is)
    assert isinstance(bind, Bind)


def test_a_variable_with_two_places_is_compared() -> None:
    body = rule("var i in v").bodies[0]
    each = next(x for x in body if isinstance(x, Each))
    assert each.variable.name != "i"
    assert any(isinstance(x, typed.Test) for x in body)


def test_the_names_of_a_nested_body_are_its_own_unless_they_occur_outside() -> None:
    body = rule("not (In(i, _, _, _, m), m == n), var k = count { In(j, _, _, _, m), j > i }, k > 0").bodies[
        0
    ]
    without = next(x for x in body if isinstance(x, Without))
    nested = next(x for x in body if isinstance(x, Nested))
    assert [p.name for p in without.parameters] == ["i", "n"]
    assert [p.name for p in nested.parameters] == ["i"]


def test_rules_that_differ_in_local_names_are_one_rule() -> None:
    first = rule("not (In(i, _, _, _, m), m != n), not (In(_, _, _, _, m), m == n)")
    second = rule("not (In(i, _, _, _, a), a != n), not (In(_, _, _, _, b), b == n)")
    assert first.id == second.id


def test_a_match_is_a_chain_of_conditionals() -> None:
    body = rule("var k = match (s) { Circle{r} -> r, _ -> 0 }").bodies[0]
    bind = next(x for x in body if isinstance(x, Bind))
    assert isinstance(bind.value, If)
    assert bind.value.type == types.INT
