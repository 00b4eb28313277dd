"""Cases that a session once got wrong, shrunk; each stays for good."""

from __future__ import annotations

import pytest

from oracle.language.case import Case, Insert, RuleText, Step
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
}


@pytest.mark.parametrize("name", KEPT)
def test_what_was_once_wrong_is_right(name: str) -> None:
    assert difference(KEPT[name], thorough=True) is None
