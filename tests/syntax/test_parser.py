"""Reading: what means what, where things are, and what is said about mistakes."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizes import size
from syntax.texts import body, names, places, problems, value
from syntax.trees import programs
from tidelog.errors import Source
from tidelog.syntax import tree
from tidelog.syntax.lexer import KEYWORDS
from tidelog.syntax.outline import outline
from tidelog.syntax.parser import parse, read
from tidelog.syntax.precedence import BINARY
from tidelog.syntax.printer import print_program
from tidelog.syntax.variables import literal_variables


def shape(expr: tree.Expr) -> str:
    """An expression with all its parentheses."""
    match expr:
        case tree.Binary(op, left, right):
            return f"({shape(left)} {op} {shape(right)})"
        case tree.Unary(op, operand):
            return f"({op} {shape(operand)})"
        case tree.Cast(operand, type_):
            return f"({shape(operand)} as {type_.name})"
        case tree.Conditional(condition, then, otherwise):
            return f"(if {shape(condition)} {shape(then)} {shape(otherwise)})"
        case tree.Call(function, args):
            return f"{function}({', '.join(map(shape, args))})"
        case tree.Variable(name):
            return name
        case tree.IntLiteral(number):
            return str(number)
        case _:
            raise AssertionError(expr)


# -- expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a or b and c", "(a or (b and c))"),
        ("not a and b", "((not a) and b)"),
        ("not a == b", "(not (a == b))"),
        ("a == b | c", "(a == (b | c))"),
        ("a | b ^ c & d", "(a | (b ^ (c & d)))"),
        ("a & b << c", "(a & (b << c))"),
        ("a << b ++ c", "(a << (b ++ c))"),
        ("a ++ b + c", "(a ++ (b + c))"),
        ("a + b * c", "(a + (b * c))"),
        ("a * b as int", "(a * (b as int))"),
        ("-a as int", "((- a) as int)"),
        ("-a.f()", "(- f(a))"),
        ("~-a", "(~ (- a))"),
        ("a - b - c", "((a - b) - c)"),
        ("a - (b - c)", "(a - (b - c))"),
        ("a as x as y", "((a as x) as y)"),
        ("if (a) b else c + d", "(if a b (c + d))"),
        ("a + if (b) c else d", "(a + (if b c d))"),
        ("if (a) if (b) c else d else e", "(if a (if b c d) e)"),
        ("-1 - -1", "(-1 - -1)"),
        ("-1.f()", "(- f(1))"),
        ("(-1).f()", "f(-1)"),
        ("a.f(b).g()", "g(f(a, b))"),
        ("x as int < y", "((x as int) < y)"),
    ],
)
def test_precedence(text: str, expected: str) -> None:
    assert shape(value(text)) == expected


@pytest.mark.parametrize("tight", sorted(BINARY))
@pytest.mark.parametrize("loose", sorted(BINARY))
def test_the_tighter_operator_comes_first(loose: str, tight: str) -> None:
    if BINARY[loose] < BINARY[tight]:
        assert shape(value(f"a {loose} b {tight} c")) == f"(a {loose} (b {tight} c))"
        assert shape(value(f"a {tight} b {loose} c")) == f"((a {tight} b) {loose} c)"


@pytest.mark.parametrize("text", ["a < b < c", "a == b != c", "a < b and b < c < d"])
def test_comparisons_do_not_chain(text: str) -> None:
    (problem,) = problems(f"R({text}).")
    assert problem.message == "comparisons do not chain"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1_000_000", 1_000_000),
        ("007", 7),
        ("0xff", 255),
        ("0xFF_FF", 65535),
        ("0b1010", 10),
        ("-5", -5),
        ("- 5", -5),
        ("9223372036854775808", 2**63),
    ],
)
def test_integers(text: str, expected: int) -> None:
    assert value(text) == tree.IntLiteral(expected)


@pytest.mark.parametrize("text", ["1.5", "1e3", "1E+3", "1.25e-2", "-0.5", "0.10", "-0." + "123456789" * 4])
def test_fractions_are_exactly_what_was_written(text: str) -> None:
    literal = value(text)
    assert isinstance(literal, tree.FractionLiteral)
    assert literal.value.as_tuple() == Decimal(text).as_tuple()
    assert value("1_0.5_0") == tree.FractionLiteral(Decimal("10.5"))


@pytest.mark.parametrize(
    "text", ["0x", "0b", "0x_", "0b2", "1.", "1e", "1a", "9" * 5000, "1e99999999999999999999"]
)
def test_numbers_that_are_none(text: str) -> None:
    assert problems(f"R({text}, 1).")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"\n\t\r\0\\\"\$"', '\n\t\r\0\\"$'),
        (r'"\u{41}\u{1F600}"', "A😀"),
        (r'"\${x}"', "${x}"),
        ('"$ $$ {x}"', "$ $$ {x}"),
        ('"// no /* comment"', "// no /* comment"),
    ],
)
def test_escapes(text: str, expected: str) -> None:
    assert value(text) == tree.StringLiteral(expected)


@pytest.mark.parametrize(
    "text", [r'"\q"', r'"\u{110000}"', r'"\u{d800}"', r'"\u{}"', r'"\u41"', 'x"0"', 'x"zz"']
)
def test_bad_escapes_are_pointed_at(text: str) -> None:
    assert places(f"R({text}).")[0][0] == "E004"


def test_strings_with_holes() -> None:
    x, inner = tree.Variable("x"), tree.StringLiteral("}")
    assert value('"a ${x} b"') == tree.Interpolation(("a ", x, " b"))
    assert value('"${x}${x}"') == tree.Interpolation((x, x))
    assert value('"$${x}"') == tree.Interpolation(("$", x))
    assert value('"${f("}")}"') == tree.Interpolation((tree.Call("f", (inner,)),))
    assert value('"${{ x }}"') == tree.Interpolation((tree.Block((), x),))
    assert value('"${"${x}"}"') == tree.Interpolation((tree.Interpolation((x,)),))


@pytest.mark.parametrize(
    "text", ['"${}"', '"${x"', '"${x y}"', '"${R(x)}"', '"${x /* c */}"', '"${"', '"${"${x}"']
)
def test_bad_holes_are_mistakes(text: str) -> None:
    assert problems(f"R({text}).")


def test_nested_types_close_together() -> None:
    (relation,) = parse("relation R(a: option<option<bit<8>>>, b: option<bit<8>>)").items
    assert isinstance(relation, tree.Relation)
    bits = tree.TypeName("bit", (8,))
    option = tree.TypeName("option", (bits,))
    assert [c.type for c in relation.columns] == [tree.TypeName("option", (option,)), option]
    assert shape(value("a >> b > c")) == "((a >> b) > c)"


# -- rules


def test_a_point_with_a_name_behind_it_calls_a_method_and_any_other_ends_the_rule() -> None:
    x = tree.Variable("x")
    assert body("x.f().") == (tree.Condition(tree.Call("f", (x,), True)),)
    assert body("x\n.f().") == (tree.Condition(tree.Call("f", (x,), True)),)
    assert names("R() :- x. S() :- y.T().") == ["R", "S", "T"]
    assert names("R(1).S(2.5).T(3).") == ["R", "S", "T"]
    assert body("x == 1.") == (tree.Condition(tree.Binary("==", x, tree.IntLiteral(1))),)


def test_aggregates() -> None:
    x, y = tree.Variable("x"), tree.Variable("y")
    assert value("x.group_by(y).count()") == tree.Aggregate(x, (y,), "count")
    assert value("x.group_by().distinct().sum()") == tree.Aggregate(x, (), "sum", (), True)
    assert value("x.group_by(y).arg_min(y)") == tree.Aggregate(x, (y,), "arg_min", (y,))
    assert problems("R(x.group_by(y)).")[0].message == "expected an aggregate after `group_by`"


def test_parentheses_hold_literals_or_an_expression() -> None:
    a, b = tree.Atom("A", ()), tree.Atom("B", ())
    x, y = tree.Condition(tree.Variable("x")), tree.Condition(tree.Variable("y"))
    assert body("(A(); B()).") == (tree.Disjunction(((a,), (b,))),)
    assert body("(x; y).") == (tree.Disjunction(((x,), (y,))),)
    assert body("((x), y).") == (tree.Disjunction(((x, y),)),)
    assert body("((x; y)).") == (tree.Disjunction(((tree.Disjunction(((x,), (y,))),),)),)
    assert body("((A(); x)).") == (tree.Disjunction(((tree.Disjunction(((a,), (x,))),),)),)
    assert body("((x)).") == (x,)
    assert body("(f(x, y)), ({ var a = x; a }).")[1] == tree.Condition(
        tree.Block((tree.Assignment("a", tree.Variable("x")),), tree.Variable("a"))
    )


@pytest.mark.parametrize("keyword", sorted(KEYWORDS))
def test_keywords_name_columns_but_no_variables(keyword: str) -> None:
    parse(f"relation R({keyword}: int) primary key ({keyword})\nR(.{keyword} = 1).")
    if keyword not in ("true", "false", "none"):
        assert problems(f"R({keyword}).")


def test_what_may_end_with_a_comma() -> None:
    parse("relation R(a: int,) primary key (a,)\nR(1,) :- f(x,).")


# -- places


def test_spans_cover_what_was_written() -> None:
    rule_text = "R(x + 1), S(.b = y) :-\n  A(x, y), not B(-2), (x; y), var z = f(x)."
    text = f"output relation R(a: int) primary key (a)\n{rule_text}"
    relation, rule = parse(text).items
    assert isinstance(relation, tree.Relation)
    assert isinstance(rule, tree.Rule)
    assert f"{relation.span.text}\n{rule.span.text}" == text
    assert (relation.name_span.text, relation.columns[0].span.text) == ("R", "a: int")
    assert [h.span.text for h in rule.heads] == ["R(x + 1)", "S(.b = y)"]
    assert rule.heads[1].args[0].span.text == ".b = y"
    assert [x.span.text for x in rule.body] == ["A(x, y)", "not B(-2)", "(x; y)", "var z = f(x)"]
    assignment = rule.body[3]
    assert isinstance(assignment, tree.Assignment)
    assert assignment.name_span.text == "z"


def test_a_place_inside_a_string_is_a_place_in_the_text() -> None:
    assert places('R("a ${x +} b").') == [("E003", (1, 11))]


# -- mistakes


def test_one_mistake_costs_one_item() -> None:
    text = "A(1).\nB(1 2).\nC(1).\nrelation d(x: int)\nE(x) :- F(x),, G(x).\nH(1).\ntypedef = int\nI(1)."
    assert names(text) == ["A", "C", "d", "H", "I"]
    assert places(text) == [("E003", (2, 5)), ("E005", (4, 10)), ("E003", (5, 14)), ("E003", (7, 9))]


def test_a_missing_full_stop_is_reported_where_it_belongs() -> None:
    text = "A(x) :- B(x)  // no stop\nC(x) :- D(x).\nE(1)\nrelation F()\nG(1)"
    assert names(text) == ["C", "F"]
    assert places(text) == [("E003", (1, 13)), ("E003", (3, 5)), ("E003", (5, 5))]


def test_a_missing_comma_costs_one_rule() -> None:
    text = "A(x) :- B(x)\n  C(x).\nD(1)."
    assert names(text) == ["D"]
    assert places(text) == [("E003", (1, 13))]


def test_a_full_stop_too_many_costs_nothing() -> None:
    assert names("A(1).. B(1).") == ["A", "B"]
    assert len(problems("A(1).. B(1).")) == 1


@pytest.mark.parametrize("text", ['A("no end).\nB(1).', "A(1) ? \nB(1)."])
def test_what_cannot_be_read_is_said_once(text: str) -> None:
    assert "B" in names(text)
    assert len(problems(text)) == 1


_DEEP = {
    "parentheses": "(" * 20000 + "1" + ")" * 20000,
    "open": "(" * 20000,
    "not": "not " * 20000 + "a",
    "minus": "- " * 20000 + "a",
    "sum": " + ".join(["a"] * 20000),
    "methods": "a" + ".f()" * 20000,
    "casts": "a" + " as int" * 20000,
    "conditionals": "if (a) b else " * 20000 + "c",
    "blocks": "{ " * 20000 + "a" + " }" * 20000,
    "bindings": "{ " + "var a = 1; " * 20000 + "a }",
    "types": "a as " + "option<" * 20000 + "int" + ">" * 20000,
    "holes": '"${' * 2000 + "a" + '}"' * 2000,
    "hole": '"${' + " + ".join(["a"] * 20000) + '}"',
    "left": "(" * 40 + "a" + (" + a" * 200 + ")") * 40,
    "rows in rows": ("a + " * 20 + "(") * 40 + "a" + ")" * 40,
    "postfix": "(" * 40 + "a" + (".f()" * 50 + ")") * 40,
    "tuples": "(" * 20000 + "1" + ", 2)" * 20000,
    "lists": "[" * 20000 + "1" + "]" * 20000,
    "maps": "[1 -> " * 20000 + "1" + "]" * 20000,
    "constructors": "C{" * 20000 + "1" + "}" * 20000,
    "fields": "a" + ".b" * 20000,
    "positions": "a" + ".0.1" * 20000,
    "matches": "match (a) { b -> " * 20000 + "c" + " }" * 20000,
    "subjects": "match (" * 20000 + "c" + ") { a -> b }" * 20000,
    "patterns": "match (a) { " + "(" * 20000 + "b" + ", c)" * 20000 + " -> d }",
    "names": "a @ " * 20000 + "b",
    "closures": "|x| " * 20000 + "x",
    "tuple types": "a as " + "(" * 20000 + "int" + ", int)" * 20000,
    "function types": "a as " + "||: " * 20000 + "int",
}


@pytest.mark.parametrize("kind", _DEEP)
def test_what_is_too_deep_is_a_mistake_and_no_crash(kind: str) -> None:
    text = f"A(1).\nB(x) :- C({_DEEP[kind]}).\nD(1)."
    assert "E006" in {d.code for d in problems(text)}
    assert names(text) == ["A", "D"]


def test_what_is_deep_but_not_too_deep_can_be_printed() -> None:
    for text in ("(" * 40 + "a" + " + a)" * 40, "-(" * 30 + "a" + ")" * 30, " or ".join(["x == 1"] * 90)):
        program = parse(f"R() :- {text}.")
        assert parse(print_program(program)) == program


_DEEP_BODIES = {
    "disjunctions": "(A(); " * 500 + "B()" + ")" * 500,
    "negations": "not (A(), " * 500 + "B()" + ")" * 500,
    "parentheses": "(" * 20000 + "a, b" + ")" * 20000,
    "open": "not " + "(" * 20000,
    "aggregates": "var x = count { A(), " * 500 + "B()" + " }" * 500,
    "patterns": "var " + "(" * 500 + "a" + ", b)" * 500 + " = c",
    "mixed": "not (var x = f(|y| match (y) { z -> (a, b) }), (A(); " * 100 + "B()" + "))" * 100,
}


@pytest.mark.parametrize("kind", _DEEP_BODIES)
def test_bodies_can_be_too_deep(kind: str) -> None:
    assert {d.code for d in problems(f"R() :- {_DEEP_BODIES[kind]}.")} == {"E006"}


@pytest.mark.parametrize("form", ["({})", "not ({})", "var x = count {{ {} }}", "(A(); {})"])
def test_what_is_as_deep_as_it_may_be_is_read_and_printed(form: str) -> None:
    """Every form of literal, nested as far as possible around expressions that are nested the same way."""
    for inner in ("match (a) {{ (b, _) -> {} }}", "[1 -> C{{.a = {}}}]", "|x| f({})", "({}, 1).0"):
        body, value, text = "A(VALUE)", "1", "R() :- A(1)."
        while not problems(f"R() :- {body.replace('VALUE', value)}."):
            text = f"R() :- {body.replace('VALUE', value)}."
            body, value = form.format(body), inner.format(value) if len(value) < 500 else value
        program = parse(text)
        assert parse(print_program(program)) == program
        assert outline(program)


_LONG = {
    "else if": "".join(f"if (x == {i}) {i} else " for i in range(1500)) + "x",
    "cases": "match (x) { " + ", ".join(f"({i}, _) -> y" for i in range(3000)) + " }",
    "list": "[" + ", ".join(["x"] * 3000) + "]",
    "map": "[" + ", ".join(f"{i} -> (x, y)" for i in range(3000)) + "]",
    "tuple": "(" + ", ".join(["x"] * 3000) + ")",
    "constructor": "C{" + ", ".join(f".f{i} = x" for i in range(3000)) + "}",
    "block": "{ " + "".join(f"var a{i} = x; " for i in range(1500)) + "y }",
    "closures": "f(" + ", ".join(["|x| x + y"] * 1500) + ")",
    "tuple type": "x as (" + ", ".join(["int"] * 3000) + ")",
    "sum": " + ".join(["x"] * 1500),
    "mixed": "x" + " * 3 - x % 7 + y" * 400,
    "or": " or ".join(f"x == {i} and y != {i}" for i in range(3000)),
    "concatenation": " ++ ".join(['"a"'] * 3000),
    "holes": '"' + "${x}, " * 3000 + '"',
    "hole": '"${' + " + ".join(["x"] * 1500) + '}"',
    "parentheses": "(x + y) * 2" + " + (x - y) * 2" * 700,
}


@pytest.mark.parametrize("kind", _LONG)
def test_what_is_long_and_not_nested_is_read_and_printed(kind: str) -> None:
    text = f"R(x) :- P(x, y), Q({_LONG[kind]}).\n"
    program = parse(text)
    printed = print_program(program)
    assert "".join(printed.split()) == "".join(text.split())
    assert print_program(parse(printed)) == printed
    assert len(outline(program).splitlines()) > 1000
    (rule,) = program.items
    assert isinstance(rule, tree.Rule)
    assert {v.name for v in literal_variables(rule.body[1])} <= {"x", "y"}


# -- anything at all

_SOUP = [
    *sorted(KEYWORDS),
    *sorted(BINARY),
    *'. , ; : :- ( ) { } < > = _ [ ] -> @ .. x R a::b 1 1.5 0x 0b1 "'.split(),
]
_SOUP += [
    '"a"',
    '"${',
    "}",
    "$",
    "\\",
    'x"00"',
    'x"',
    "//",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\t",
    "é",
    "\0",
    "group_by",
    "match",
    "R{",
    ".0.1",
    "~",
    "²",
    "'",
]


soups = st.lists(st.sampled_from(_SOUP), max_size=40)


def assert_read_or_refused(text: str) -> None:
    program, found = read(Source("t", text))
    assert all(str(d) and 0 <= d.span.start <= d.span.end <= len(text) for d in found)
    if not found:
        assert parse(print_program(program)) == program


@settings(max_examples=size(150, 500))
@given(st.text() | soups.map(" ".join) | soups.map("".join))
def test_any_text_is_read_or_refused_with_reasons(text: str) -> None:
    assert_read_or_refused(text)


@settings(max_examples=size(100, 300))
@given(programs, st.data())
def test_a_damaged_program_is_read_or_refused_with_reasons(
    program: tree.Program, data: st.DataObject
) -> None:
    text = print_program(program)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 10, len(text))))
    assert_read_or_refused(text[:start] + data.draw(st.sampled_from(["", *_SOUP])) + text[end:])
