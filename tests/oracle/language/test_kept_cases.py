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
}


@pytest.mark.parametrize("name", KEPT)
def test_what_was_once_wrong_is_right(name: str) -> None:
    assert difference(KEPT[name], thorough=True) is None
