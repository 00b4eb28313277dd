"""Reading structured data: types, constructors, patterns, collections, generators and nested bodies."""

from __future__ import annotations

import pytest

from syntax.texts import body, item, names, problems, value
from tidelog.errors import Source
from tidelog.syntax import tree
from tidelog.syntax.parser import parse, read
from tidelog.syntax.printer import print_program
from tidelog.syntax.variables import expression_variables, literal_variables

A, B = tree.Atom("A", ()), tree.Atom("B", ())
X, Y = tree.Variable("x"), tree.Variable("y")
ONE, TWO = tree.IntLiteral(1), tree.IntLiteral(2)
INT = tree.TypeName("int")


# -- types


def test_a_type_is_an_alias_or_has_constructors() -> None:
    a = tree.Variable("A")
    assert item("typedef T = B") == tree.Alias("T", tree.TypeName("B"))
    assert item("typedef T = B{}") == tree.TypeDefinition("T", (), (tree.Constructor("B", ()),))
    assert item("typedef T<A>=vec<A>") == tree.Alias(
        "T", tree.TypeName("vec", (tree.TypeName("A"),)), parameters=(a,)
    )
    fields = (tree.Column("a", INT), tree.Column("key", tree.TypeName("A")))
    union = (tree.Constructor("P", fields), tree.Constructor("Q", ()), tree.Constructor("S", ()))
    assert item("typedef T<A> = P{a: int, key: A,} | Q{} | S") == tree.TypeDefinition("T", (a,), union)
    assert names("typedef T = A | B\nR(1).\ntypedef U = C\nS(1).") == ["T", "R", "U", "S"]


def test_types_of_tuples_and_functions() -> None:
    (relation,) = parse("relation R(a: (int, (int, int)), b: |int, (int, int)|: int, c: ||: int)").items
    assert isinstance(relation, tree.Relation)
    pair = tree.TypeName("()", (INT, INT))
    assert [c.type for c in relation.columns] == [
        tree.TypeName("()", (INT, pair)),
        tree.TypeName("||", (INT, pair, INT)),
        tree.TypeName("||", (INT,)),
    ]
    assert value("x as (int)") == tree.Cast(X, INT)


def test_functions_have_type_parameters() -> None:
    function = item("function f<A, B>(x: A): vec<vec<B>> { x }")
    assert isinstance(function, tree.Function)
    assert function.type_parameters == (tree.Variable("A"), tree.Variable("B"))


# -- values


def test_constructors() -> None:
    named = tree.Argument(ONE, "a")
    assert value("C") == tree.Construct("C", is_bare=True)
    assert value("net::C") == tree.Construct("net::C", is_bare=True)
    assert value("C{}") == tree.Construct("C")
    assert value("C{1, x,}") == tree.Construct("C", (tree.Argument(ONE), tree.Argument(X)))
    assert value("C {.a = 1}") == tree.Construct("C", (named,))
    assert value("C{..}") == tree.Construct("C", is_open=True)
    assert value("C{.a = 1, ..}") == tree.Construct("C", (named,), is_open=True)
    assert value("a::f(x)") == tree.Call("a::f", (X,))


def test_tuples_and_collections() -> None:
    assert value("(1, x)") == value("(1, x,)") == tree.TupleValue((ONE, X))
    assert value("((1))") == ONE
    assert value("[]") == tree.VecLiteral(())
    assert value("[1, x,]") == tree.VecLiteral((ONE, X))
    assert value("[1 -> x, x -> 1]") == tree.MapLiteral(((ONE, X), (X, ONE)))


def test_fields() -> None:
    zero = tree.FieldAccess(X, 0)
    assert value("x.y") == tree.FieldAccess(X, "y")
    assert value("x.0") == zero
    assert value("x.0.1") == tree.FieldAccess(zero, 1)
    assert value("x.0.1.0.1") == tree.FieldAccess(tree.FieldAccess(tree.FieldAccess(zero, 1), 0), 1)
    assert value("x.0.y.f()") == tree.Call("f", (tree.FieldAccess(zero, "y"),), True)
    assert value("x.key") == tree.FieldAccess(X, "key")
    assert value("-1.y") == tree.Unary("-", tree.FieldAccess(ONE, "y"))
    found = value("x.0.1")
    assert isinstance(found, tree.FieldAccess)
    assert (found.span.text, found.name_span.text, found.operand.span.text) == ("x.0.1", "1", "x.0")


def test_a_point_before_a_capital_or_a_blank_ends_the_rule() -> None:
    assert names("R() :- x.S() :- y. T(1).") == ["R", "S", "T"]
    assert names("R() :- x.a::b(1).relation T()") == ["R", "a::b", "T"]
    assert names("R() :- x.relation T()\nR() :- x.input relation U()") == ["R", "T", "R", "U"]


def test_closures() -> None:
    x, y = tree.Parameter("x"), tree.Parameter("y", INT)
    assert value("|x, y: int| x | 1") == tree.Closure((x, y), tree.Binary("|", X, ONE))
    assert value("|| x") == tree.Closure((), X)
    assert value("v.map(|x| x)") == tree.Call("map", (tree.Variable("v"), tree.Closure((x,), X)), True)


def test_membership_is_a_comparison() -> None:
    assert body("x in [1] and y.") == (
        tree.Condition(tree.Binary("and", tree.Binary("in", X, tree.VecLiteral((ONE,))), Y)),
    )
    assert problems("R() :- x in y in z.")[0].message == "comparisons do not chain"


def test_wrapping_operators_bind_as_the_checked_ones_do() -> None:
    product = tree.Binary("*%", Y, ONE)
    assert value("x +% y *% 1") == tree.Binary("+%", X, product)
    assert value("x -%y*%1") == tree.Binary("-%", X, product)
    assert value("x % y") == tree.Binary("%", X, Y)
    assert names("% a comment of another language +% x\nR(x +% y).") == ["R"]


def test_question_marks_and_slices_follow_a_value() -> None:
    assert value("x?") == tree.Unary("?", X)
    assert value("-x?.y") == tree.Unary("-", tree.FieldAccess(tree.Unary("?", X), "y"))
    assert value("x[31:24]") == tree.Slice(X, 31, 24)
    assert value("-1[7:0]?") == tree.Unary("-", tree.Unary("?", tree.Slice(ONE, 7, 0)))
    assert body("(x, y)? == 1, x?.")[1] == tree.Condition(tree.Unary("?", X))


# -- patterns


def test_match() -> None:
    cases: dict[str, tree.Expr] = {
        "1": ONE,
        "-1": tree.IntLiteral(-1),
        '"a"': tree.StringLiteral("a"),
        "none": tree.NoneLiteral(),
        "true": tree.BoolLiteral(True),
        "x": X,
        "_": tree.Wildcard(),
        "C": tree.Construct("C", is_bare=True),
        "C{x, ..}": tree.Construct("C", (tree.Argument(X),), is_open=True),
        "(x, 1)": tree.TupleValue((X, ONE)),
        "y @ C{}": tree.At("y", tree.Construct("C")),
        "y @ -1": tree.At("y", tree.IntLiteral(-1)),
        "C{.a = (y @ 1, _)}": tree.Construct(
            "C", (tree.Argument(tree.TupleValue((tree.At("y", ONE), tree.Wildcard())), "a"),)
        ),
    }
    text = ", ".join(f"{pattern} -> x" for pattern in cases)
    expected = tree.Match(X, tuple(tree.Case(pattern, X) for pattern in cases.values()))
    assert value(f"match (x) {{ {text} }}") == value(f"match(x) {{{text},}}") == expected
    assert value("match (x, y) { _ -> x }") == value("match ((x, y)) { _ -> x }")


def test_new_words_are_words_only_in_their_place() -> None:
    assert value("match(x)") == tree.Call("match", (X,))
    assert value("match") == tree.Variable("match")
    assert body("in in in.") == (tree.Condition(tree.Binary("in", tree.Variable("in"), tree.Variable("in"))),)
    assert body("var in in in.") == (tree.Generator(tree.Variable("in"), tree.Variable("in")),)
    assert body("var match = count.") == (tree.Assignment("match", tree.Variable("count")),)
    parse("relation R(in: int, match: int, vec: int)\nfunction match(in: int): int { in }")


def test_variables_with_patterns() -> None:
    pair = tree.TupleValue((X, Y))
    assert body("var (x, y) = x.") == (tree.Destructuring(pair, X),)
    assert body("var C{x} = y.") == (tree.Destructuring(tree.Construct("C", (tree.Argument(X),)), Y),)
    assert body("var x @ (_, 1) = y.") == (
        tree.Destructuring(tree.At("x", tree.TupleValue((tree.Wildcard(), ONE))), Y),
    )
    assert body("var x in y.") == (tree.Generator(X, Y),)
    assert body("var (x, y) in f(x).") == (tree.Generator(pair, tree.Call("f", (X,))),)
    assert body("var _ in x.") == (tree.Generator(tree.Wildcard(), X),)
    assert value("{ var (x, y) = z; x }") == tree.Block((tree.Destructuring(pair, tree.Variable("z")),), X)


# -- literals with bodies


def test_negation_of_literals_and_of_conditions() -> None:
    x, y = tree.Condition(X), tree.Condition(Y)
    assert body("not (A(), B()).") == (tree.NegatedBody(((A, B),)),)
    assert body("not (A(); x, y).") == (tree.NegatedBody(((A,), (x, y))),)
    assert body("not (A()).") == (tree.NegatedBody(((A,),)),)
    assert body("not (x, y).") == (tree.NegatedBody(((x, y),)),)
    assert body("not (not (A())).") == (tree.NegatedBody(((tree.NegatedBody(((A,),)),),)),)
    assert body("not ((A(); B())).") == (tree.NegatedBody(((tree.Disjunction(((A,), (B,))),),)),)
    assert body("not (x and y).") == (tree.Condition(tree.Unary("not", tree.Binary("and", X, Y))),)
    assert body("not ((((x)))).") == (tree.Condition(tree.Unary("not", X)),)
    assert body("not (x) == y and x.") == body("not x == y and x.")
    assert body("not (x, y) == x.") == (
        tree.Condition(tree.Unary("not", tree.Binary("==", tree.TupleValue((X, Y)), X))),
    )


def test_a_parenthesis_before_an_operator_is_a_value() -> None:
    pair = tree.TupleValue((X, Y))
    assert body("(x, y) == y.") == (tree.Condition(tree.Binary("==", pair, Y)),)
    assert body("(x, y) in y.") == (tree.Condition(tree.Binary("in", pair, Y)),)
    assert body("((x, y), 1) == y.") == (tree.Condition(tree.Binary("==", tree.TupleValue((pair, ONE)), Y)),)
    assert body("(((x, y))) == y.") == (tree.Condition(tree.Binary("==", pair, Y)),)
    assert body("(x, y).0 == 1.") == (tree.Condition(tree.Binary("==", tree.FieldAccess(pair, 0), ONE)),)
    assert body("(a::f(x)) == 1.") == body("a::f(x) == 1.")
    assert body("(a::f(x), not a::g(y)) == y.") == (
        tree.Condition(
            tree.Binary(
                "==",
                tree.TupleValue((tree.Call("a::f", (X,)), tree.Unary("not", tree.Call("a::g", (Y,))))),
                Y,
            )
        ),
    )


def test_functions_of_modules_begin_conditions() -> None:
    call = tree.Call("a::f", (X,))
    assert body("a::f(x).") == (tree.Atom("a::f", (tree.Argument(X),)),)
    assert body("a::f(x) > 1.") == (tree.Condition(tree.Binary(">", call, ONE)),)
    assert body("not a::f(x) > 1.") == (tree.Condition(tree.Unary("not", tree.Binary(">", call, ONE))),)
    assert body("a::f(x).g() and y.") == (
        tree.Condition(tree.Binary("and", tree.Call("g", (call,), True), Y)),
    )


def test_aggregates_over_a_body() -> None:
    condition = tree.Condition(X)
    assert body("var x = count { A(), x; B() }.") == (
        tree.Assignment("x", tree.SubAggregate("count", (), ((A, condition), (B,)))),
    )
    assert body("var x = sum(x + 1) { A() }, y.")[0] == tree.Assignment(
        "x", tree.SubAggregate("sum", (tree.Binary("+", X, ONE),), ((A,),))
    )
    assert body("var (x, y) = arg_max(x, y) { A() }.") == (
        tree.Destructuring(tree.TupleValue((X, Y)), tree.SubAggregate("arg_max", (X, Y), ((A,),))),
    )


# -- variables


def test_what_cases_closures_and_patterns_bind_is_not_free() -> None:
    def free(text: str) -> list[str]:
        return [v.name for v in expression_variables(value(text))]

    assert free("match (a) { C{x, y} -> x + b, z @ 1 -> z, _ -> x }") == ["a", "b", "x"]
    assert free("|x| x + y") == ["y"]
    assert free("{ var (a, b) = c; a + b + d }") == ["c", "d"]
    assert free("[a -> C{.f = b}, (c, d) -> e.f]") == ["a", "b", "c", "d", "e"]
    assert [v.name for v in literal_variables(body("P(x @ C{y}, z).")[0])] == ["x", "y", "z"]
    assert [v.name for v in literal_variables(body("var (x, y) = z.")[0])] == ["z"]
    assert [v.name for v in literal_variables(body("var n = sum(x) { P(x, y), not (Q(z)) }.")[0])] == [
        "x",
        "x",
        "y",
        "z",
    ]


# -- mistakes

_MATCH = "write `if (condition) a else b`, or `match (value) { pattern -> result, … }`"
_CASE = "write `pattern -> result`"
_MISTAKES = [
    (
        "R(IPv4(1, 2)).",
        "`IPv4(…)` cannot be used inside an expression",
        "constructors take braces: `IPv4{…}`; a relation is a separate literal of the body",
    ),
    ("R(match (x) { 1 x }).", "expected `->` after the pattern, found `x`", None),
    ("R(match (x) { 1 => x }).", "a case of `match` is written with `->`, not `=>`", _CASE),
    (
        "R(match (x) { y if y > 1 -> x }).",
        "expected `->` after the pattern, found `if`",
        "test conditions in the result: `pattern -> if (condition) a else b`",
    ),
    (
        "R(match (x) { 1 -> x; _ -> y }).",
        "expected `,` or `}` after a case of `match`, found `;`",
        "separate cases with commas",
    ),
    ("R(match (x) { }).", "`match` has no cases", _CASE),
    ("R(match x { 1 -> y }).", "expected an operator after the variable `match`, found `x`", _MATCH),
    ("R(case x of 1 -> y).", "expected an operator after the variable `case`, found `x`", _MATCH),
    ("R([1; 2]).", "expected `,` or `]`, found `;`", "separate items with commas: `[1, 2]`"),
    ("R([1, 2 -> 3]).", "expected `,` or `]`, found `->`", "write `->` in every entry, or in none"),
    ("R([1 -> 2, 3]).", "expected `->` between a key and its value, found `]`", None),
    ("R({1, 2}).", "expected `}` after the result, found `,`", "a list is written `[a, b]`"),
    (
        "R(v[0]).",
        "expected the bits of a slice, found `0`",
        "write `x[31:24]` for bits, `v.get(i)` for an item",
    ),
    ("R((1,)).", "a tuple has two items or more", "remove the comma"),
    ("R(x.0.1e5).", "expected the position of an item, found `0.1e5`", "write `t.0`"),
    (
        "R() :- A(), count { B() } > 1.",
        "expected a `,` or the full stop that ends the rule, found `{`",
        "an aggregate over a body is the whole right side of a `var`: `var n = count { … }`",
    ),
    ("R() :- (A(), x) == y.", "expected a `,` or the full stop that ends the rule, found `==`", None),
    (
        "R() :- (x, y) or z.",
        "expected a `,` or the full stop that ends the rule, found `or`",
        "write alternatives in parentheses, separated by semicolons: `(a; b)`",
    ),
    ("typedef T = A{x: int} | b{y: int}", "constructor names must be capitalised", "write `B`"),
    (
        "typedef T = A{x: int} | B(y: int)",
        "the fields of a constructor are in braces",
        "write `B{…}`",
    ),
]
_FUNCTION = "functions are declared with `function`: `function double(x: int): int { x * 2 }`"
_TYPE = "types are declared with `typedef`: `typedef Shape = Circle{radius: int} | Square{side: int}`"


@pytest.mark.parametrize(("text", "message", "hint"), _MISTAKES)
def test_mistakes_are_explained(text: str, message: str, hint: str | None) -> None:
    (problem,) = problems(f"{text}\nZ(1).")
    assert (problem.message, problem.hint) == (message, hint)
    assert names(f"{text}\nZ(1).") == ["Z"]


@pytest.mark.parametrize(
    ("text", "word", "hint"),
    [
        ("fn f(x: int) -> int { x }", "fn", _FUNCTION),
        ("def f(x): x", "def", _FUNCTION),
        ("struct Point { x: int }", "struct", _TYPE),
        ("enum Color { Red, Green }", "enum", _TYPE),
        ("type Color = Red | Green", "type", _TYPE),
    ],
)
def test_words_of_other_languages_are_explained(text: str, word: str, hint: str) -> None:
    problem, *_ = problems(f"{text}\nR(1).")
    assert problem.message == f"expected a declaration or a rule, found `{word}`"
    assert problem.hint == hint


def test_a_list_that_goes_on_for_long_is_read_once() -> None:
    """Parentheses that could be literals or tuples are never read again, however they are nested."""
    text = "R() :- " + "not ((" * 40 + "a, b" + "), c)" * 40 + "."
    program, found = read(Source("t", text))
    assert not found
    assert parse(print_program(program)) == program
