"""Cases that a session once got wrong, shrunk; each stays for good."""

from __future__ import annotations

from math import inf, nan

import pytest

from oracle.language.case import AddRule, Case, Delete, Insert, RemoveRule, RuleText, Step
from oracle.language.checking import difference

KEPT = {
    "a test before the assignment that fails": Case(
        declarations=("input relation In0(c0: double)", "output relation D0(c0: int)"),
        rules=(RuleText(("D0(1)",), ("v2 == some(0.5)", 'var v2 = ("a" as option<double>)', "In0(x1)")),),
        steps=(Step((Insert("In0", ((-1.5,),)),)),),
    ),
    "a negated atom before an assignment that fails, which the row does not need": Case(
        declarations=(
            "input relation In0(c0: int)",
            "input relation In1(c0: int)",
            "output relation D0(c0: int)",
        ),
        rules=(RuleText(("D0(x)",), ("not In1(v)", "var v = 1 / x", "In0(x)", "x < 0 or x > 1")),),
        steps=(
            Step((Insert("In0", ((0,), (-1,))), Insert("In1", ((5,),)))),
            Step((Insert("In1", ((-1,),)), Insert("In0", ((2,),)))),
        ),
    ),
    "an equation that excludes a row before its assignment fails": Case(
        declarations=(
            "input relation In0(c0: int)",
            "input relation First(c0: int)",
            "output relation Conf(c0: int)",
        ),
        rules=(
            RuleText(
                ("Conf(v)",),
                ("v == x", "v == 0", "not In0(x + 1)", 'var v = x + unwrap("a" as option<int>)', "First(x)"),
            ),
        ),
        steps=(Step((Insert("In0", ((2,),)),)), Step((Insert("First", ((2,),)),))),
    ),
    "a recursive minimum of what is no number": Case(
        declarations=(
            "input relation Road(a: int, b: int, k: double)",
            "output relation Best(a: int, b: int, d: double)",
        ),
        rules=(
            RuleText(("Best(x, y, d)",), ("Road(x, y, k)", "var d = k.group_by(x, y).min()")),
            RuleText(
                ("Best(x, z, d)",),
                ("Best(x, y, a)", "Road(y, z, k)", "var d = (a + abs(k)).group_by(x, z).min()"),
            ),
        ),
        steps=(
            Step((Insert("Road", ((2, 2, -inf),)),)),
            Step((Insert("Road", ((2, 0, 0.5), (4, 4, nan))),)),
            Step((Insert("Road", ((2, 0, 0.5), (5, 6, nan))),)),
            Step((Insert("Road", ((0, 1, -inf),)),)),
            Step((Insert("Road", ((0, 1, 3.0),)),)),
        ),
    ),
    "a recursive maximum of what is no number on the way": Case(
        declarations=(
            "input relation Road(a: int, b: int, k: double)",
            "output relation Best(a: int, b: int, d: double)",
        ),
        rules=(
            RuleText(("Best(x, y, d)",), ("Road(x, y, k)", "var d = k.group_by(x, y).max()")),
            RuleText(
                ("Best(x, z, d)",),
                ("Best(x, y, a)", "Road(y, z, k)", "var d = min(a + k, 9.0).group_by(x, z).max()"),
            ),
        ),
        steps=(
            Step((Insert("Road", ((1, 2, -inf), (2, 3, inf))),)),
            Step((Insert("Road", ((1, 4, 1.0), (4, 2, 1.0), (2, 3, inf))),)),
            Step((Insert("Road", ((1, 2, -inf),)),)),
            Step((Delete("Road", ((4, 2, 1.0),)),)),
        ),
    ),
    "a rule that becomes part of a recursive minimum": Case(
        declarations=(
            "input relation Road(a: int, b: int, k: double)",
            "output relation Best(a: int, b: int, d: double)",
            "output relation Far(a: int)",
        ),
        rules=(
            RuleText(("Best(x, y, d)",), ("Road(x, y, k)", "var d = k.group_by(x, y).min()")),
            RuleText(("Far(x)",), ("Best(x, _, a)", "Road(_, _, k)", "a + k <= 5.0")),
        ),
        steps=(
            Step((Insert("Road", ((1, 2, -inf), (2, 3, inf))),)),
            Step(
                (
                    AddRule(
                        RuleText(
                            ("Best(x, z, d)",),
                            (
                                "Far(x)",
                                "Best(x, y, a)",
                                "Road(y, z, k)",
                                "var d = (a + k).group_by(x, z).min()",
                            ),
                        )
                    ),
                )
            ),
            Step((Delete("Road", ((2, 3, inf),)), Insert("Road", ((2, 3, 4.0),)))),
            Step((Insert("Road", ((3, 4, inf),)),)),
        ),
    ),
    "a recursion that says what is there": Case(
        declarations=("input relation E(a: int, b: int)", "output relation P(a: int, b: int)"),
        rules=(RuleText(("P(x, y)",), ("E(x, y)",)), RuleText(("P(x, y)",), ("P(x, y)",))),
        steps=(Step((Insert("E", ((1, 2), (2, 3), (3, 4), (4, 1), (1, 1))),)),),
    ),
    "a closure, kept as bits, of what may be missing": Case(
        declarations=(
            "input relation E(a: option<int>, b: option<int>)",
            "output relation P(a: option<int>, b: option<int>)",
        ),
        rules=(RuleText(("P(x, y)",), ("E(x, y)",)), RuleText(("P(x, z)",), ("P(x, y)", "E(y, z)"))),
        steps=(Step((Insert("E", ((1, None), (None, 2), (2, 3), (3, 2), (4, 2))),)),),
    ),
    "a negated body that tests the result of a nested aggregate": Case(
        declarations=(
            "input relation In0(c0: int)",
            "input relation In1(c0: int)",
            "output relation D0(c0: int, n: int)",
        ),
        rules=(
            RuleText(
                ("D0(x, n)",),
                ("not (In1(z), z == n + x)", "var n = count { In1(y), y > x }", "In0(x)"),
            ),
        ),
        steps=(
            Step((Insert("In0", ((1,), (2,))), Insert("In1", ((1,), (2,), (5,))))),
            Step((Delete("In1", ((2,),)),)),
            Step((Insert("In1", ((0,), (3,))),)),
        ),
    ),
    "nested bodies that test what is none": Case(
        declarations=(
            "input relation In0(c0: option<int>)",
            "input relation In1(c0: int)",
            "output relation D0(c0: option<int>, n: int)",
            "output relation D1(c0: option<int>)",
        ),
        rules=(
            RuleText(("D0(p, n)",), ("In0(p)", "var n = count { In1(y), is_none(p) or p == some(y) }")),
            RuleText(("D1(p)",), ("In0(p)", "not (In1(y), is_none(p) or p == some(y))")),
        ),
        steps=(
            Step((Insert("In0", ((None,), (2,))), Insert("In1", ((1,), (2,))))),
            Step((Delete("In1", ((1,), (2,))),)),
            Step((Delete("In0", ((None,),)), Insert("In1", ((1,),)))),
            Step((Insert("In0", ((None,),)),)),
        ),
    ),
    "a nested body in which one alternative binds what the other tests": Case(
        declarations=(
            "input relation In0(c0: option<int>)",
            "input relation In1(c0: option<int>, c1: int)",
            "output relation D0(c0: option<int>, n: int)",
        ),
        rules=(
            RuleText(
                ("D0(p, n)",),
                ("In0(p)", "var n = count { In1(p, y); In1(_, y), is_none(p); In1(q, y), p == q }"),
            ),
        ),
        steps=(
            Step((Insert("In0", ((None,), (2,))), Insert("In1", ((None, 1), (2, 1), (2, 2))))),
            Step((Delete("In1", ((2, 1),)),)),
            Step((Delete("In0", ((None,),)),)),
        ),
    ),
    "what fails beside nested bodies, in rows that they exclude": Case(
        declarations=(
            "input relation In0(c0: int)",
            "input relation In1(c0: int)",
            "output relation D0(c0: int)",
        ),
        rules=(
            RuleText(("D0(x)",), ("In0(x)", "10 / x > 0", "not (In1(y), y > x)")),
            RuleText(("D0(z)",), ("In0(x)", "var z = 10 / x", "not (In1(y), y > z)", "not (In1(w), w > x)")),
        ),
        steps=(
            Step((Insert("In0", ((0,), (2,))), Insert("In1", ((1,),)))),
            Step((Delete("In1", ((1,),)),)),
            Step((Insert("In0", ((3,),)), Delete("In0", ((0,),)))),
            Step((Insert("In0", ((0,),)),)),
        ),
    ),
    "a nested aggregate with a parameter that fails": Case(
        declarations=(
            "input relation In0(c0: int)",
            "input relation In1(c0: int)",
            "output relation D0(c0: int, c1: int)",
        ),
        rules=(
            RuleText(
                ("D0(x, n)",),
                ("In0(x)", "var z = 10 / x", "var n = min(y) { In1(y), y > z }", "n > 5", "x > -1"),
            ),
        ),
        steps=(
            Step((Insert("In0", ((2,), (-2,))), Insert("In1", ((1,), (9,))))),
            Step((Insert("In0", ((0,),)),)),
            Step((Insert("In0", ((5,),)), Delete("In1", ((9,),)))),
        ),
    ),
    "what fails inside nested bodies, for rows that do not need it": Case(
        declarations=(
            "input relation In0(c0: int)",
            "input relation In1(c0: int, c1: int)",
            "output relation D0(c0: int, n: int)",
            "output relation D1(c0: int)",
        ),
        rules=(
            RuleText(("D0(x, n)",), ("In0(x)", "x > 5", "var n = sum(12 / y) { In1(_, y) }")),
            RuleText(("D0(x, n)",), ("In0(x)", "var n = sum(z) { In1(x, y), var z = 12 / y, z > 1 }")),
            RuleText(("D1(x)",), ("In0(x)", "not (In1(_, y), 12 / y > x)")),
        ),
        steps=(
            Step((Insert("In0", ((1,),)), Insert("In1", ((2, 0), (1, 3))))),
            Step((Insert("In1", ((1, 1),)),)),
            Step((Delete("In1", ((1, 3), (1, 1))),)),
            Step((Insert("In0", ((2,),)),)),
            Step((Delete("In1", ((2, 0),)), Insert("In0", ((2,), (7,))))),
        ),
    ),
    "an option that fails, tested in a negated body of two alternatives": Case(
        declarations=(
            "input relation In0(c0: int)",
            "input relation In1(c0: int)",
            "output relation D0(c0: int)",
        ),
        rules=(
            RuleText(
                ("D0(x)",),
                (
                    "In1(x)",
                    "not (In0(_), v == some(1); x > 5, In0(_))",
                    'var v = unwrap(get(["a"], x - 2)) as option<int>',
                ),
            ),
        ),
        steps=(
            Step((Insert("In1", ((3,),)),)),
            Step((Insert("In1", ((2,),)),)),
            Step((Insert("In0", ((1,),)), Insert("In1", ((2,), (7,))))),
        ),
    ),
    "what fails in nested bodies that test the recursion": Case(
        declarations=(
            "input relation Start(a: int)",
            "input relation Edge(a: int, b: int)",
            "input relation Part(a: int, b: int)",
            "output relation D0(a: int, n: int)",
            "output relation D1(a: int)",
        ),
        rules=(
            RuleText(("D0(x, 0)",), ("Start(x)",)),
            RuleText(
                ("D0(x, n)",),
                ("D0(y, m)", "Edge(y, x)", "var n = sum(12 / z) { Part(y, z), z < 9, 7 / z > m }", "x > 0"),
            ),
            RuleText(("D1(x)",), ("Start(x)",)),
            RuleText(
                ("D1(x)",),
                (
                    "D1(y)",
                    "Edge(y, x)",
                    "var v = 10 / y",
                    "not (Part(z, w), var u = 6 / w, u > v, z != y; Part(y, w), v == 2)",
                    "x > 0",
                ),
            ),
        ),
        steps=(
            Step((Insert("Start", ((1,),)), Insert("Edge", ((1, 2), (2, 3), (3, -1), (3, 5))))),
            Step((Insert("Part", ((1, 3), (2, 4), (3, 9), (9, 2))),)),
            Step((Insert("Part", ((3, 0),)),)),
            Step((Delete("Edge", ((3, 5),)), Insert("Part", ((-1, 0), (4, 0))))),
            Step((Insert("Edge", ((3, 0), (0, -5))), Insert("Start", ((0,),)))),
            Step((Delete("Part", ((2, 4), (9, 2))),)),
            Step((Insert("Edge", ((0, 4),)),)),
        ),
    ),
    "a nested body whose parameters begin to come from a recursion, and no longer do": Case(
        declarations=(
            "input relation In0(a: int, b: int)",
            "input relation In1(a: int)",
            "relation D0(a: int, b: int)",
            "output relation D1(a: int, n: int)",
            "output relation D2(a: int)",
        ),
        rules=(
            RuleText(("D0(x, y)",), ("In0(x, y)",)),
            RuleText(("D1(x, n)", "D2(n)"), ("D0(x, y)", "var n = count { In1(z), z < y }", "n < 9")),
        ),
        steps=(
            Step((Insert("In0", ((1, 2), (2, 3), (3, 7))), Insert("In1", ((1,), (2,), (5,))))),
            Step((AddRule(RuleText(("D0(y, n)",), ("D1(x, n)", "In0(x, y)"))),)),
            Step((Insert("In1", ((0,), (6,))), Delete("In1", ((2,),)))),
            Step(
                (
                    RemoveRule(RuleText(("D0(y, n)",), ("D1(x, n)", "In0(x, y)"))),
                    Insert("In1", ((3,),)),
                )
            ),
            Step((Insert("In0", ((4, 6),)), Delete("In1", ((5,),)))),
        ),
    ),
    "options that nested bodies of a recursion test": Case(
        declarations=(
            "input relation In0(a: option<int>, b: option<int>)",
            "input relation In1(a: option<int>, b: int)",
            "output relation D0(a: option<int>, n: int)",
            "output relation D1(a: option<int>)",
        ),
        rules=(
            RuleText(("D0(p, 0)",), ("In0(p, _)",)),
            RuleText(
                ("D0(q, n)",),
                ("D0(p, m)", "In0(p, q)", "var n = count { In1(p, k), k > m; In1(r, _), p == r, m == 0 }"),
            ),
            RuleText(("D1(p)",), ("In0(p, _)", "is_none(p)")),
            RuleText(
                ("D1(some(k))",), ("D1(p)", "In1(_, k)", "not (In1(q, j), is_none(p), j > k, is_some(q))")
            ),
            RuleText(("D1(q)",), ("D1(p)", "In0(_, q)", "not (not In1(p, 1), not In1(q, 1))")),
        ),
        steps=(
            Step((Insert("In0", ((None, 1), (1, 2), (2, None))), Insert("In1", ((None, 1), (1, 4), (2, 2))))),
            Step((Delete("In1", ((1, 4),)), Insert("In1", ((2, 1),)))),
            Step((Insert("In1", ((1, 1), (None, 3))),)),
            Step((Delete("In0", ((None, 1),)),)),
        ),
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_was_once_wrong_is_right(name: str) -> None:
    assert difference(KEPT[name], thorough=True) is None
