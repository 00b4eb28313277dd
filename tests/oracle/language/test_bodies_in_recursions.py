"""Nested bodies that test the recursion around them: every kind of aggregate, literal and type."""

from __future__ import annotations

import pytest

from oracle.language.case import Case, Delete, Insert, RuleText, Step
from oracle.language.checking import difference

DECLARED = (
    "input relation S(a: int)",
    "input relation E(a: int, b: int)",
    "input relation L(a: int, k: int, d: double, s: string, o: option<int>)",
)
ROWS = (
    (1, 4, 0.5, "a", None),
    (2, 1, 1.5, "b", 1),
    (2, 1, 1.5, "b", 2),
    (3, 7, -0.5, "c", 3),
)
STEPS = (
    Step((Insert("S", ((1,),)), Insert("E", ((1, 2), (2, 3), (3, 1), (2, 4))), Insert("L", ROWS))),
    Step((Insert("L", ((1, 0, 2.0, "d", 2), (4, 2, float("inf"), "", None))),)),
    Step((Delete("L", ROWS[2:3]),)),
    Step((Delete("E", ((2, 3),)), Insert("S", ((3,),)))),
)

# a name, the type of v, its first value, and what gives it from x, y and m, where R(y, m) and E(y, x)
BODIES = """
only tests | int | 0
    not (m > 3), var v = (m + 1) % 4
only tests count | int | 0
    var v = count { m > 3; m < 2; x == 2 }
generator | int | 1
    var v = sum(i) { var i in range(0, m % 5), L(_, i, _, _, _) }
generator2 | int | 1
    var v = count { L(_, k, _, _, _), var i in range(0, k), i != m % 3, var j in range(i, m % 3 + 2)
    }
map | map<int, string> | [0 -> "a"]
    var v = collect_map(k, s) { L(_, k, _, s, _), k > m.len() }
top | vec<int> | [1]
    var v = top(k + 0, 2) { L(_, k, _, _, _), k != m.len() }
concat | string | ""
    var v = concat("${k}", ",") { L(_, k, _, s, _), s > m or k > 3 }
concat2 | string | ""
    var v = concat(s, "-") { L(_, _, _, s, _), s >= m }
quantile | double | 0.0
    var v = quantile(d, 0.5) { L(_, _, d, _, _), d != m }
argmax | int | 0
    var v = arg_max(k, (k - m) % 3) { L(_, k, _, _, _) }
opt | option<int> | none
    var v = max(o) { L(_, k, _, _, some(o)), is_none(m) or unwrap_or(m, 0) < k }
opt2 | option<int> | none
    L(_, _, _, _, v), var n = count { L(_, _, _, _, o), o == m }, n < 3, not (L(y, _, _, _, q),
    is_none(q), is_some(m))
opt3 | vec<option<int>> | [none]
    var v = collect_vec(o) { L(_, k, _, _, o), k > m.len() }
sorted by | vec<int> | [1]
    var v = collect_vec(k, k % 3) { L(_, k, _, _, _), k != m.len() }
sum double | double | 0.0
    var v = sum(d) { L(_, _, d, _, _), d > m }
avg | double | 0.0
    var v = avg(k) { L(_, k, _, _, _), k as double > m }, v < 100.0
distinct | int | 0
    var v = count_distinct(k % 3) { L(_, k, _, _, _), k != m }
any all | bool | true
    var v = any(k > 3) { L(a, k, _, _, _), a != y, m }, var w = all(k > 3) { L(a, k, _, _, _), a > y
    }, w or not w
result tested | int | 0
    L(_, v, _, _, _), var v = count { L(_, k, _, _, _), k > m }
result tested min | int | 0
    L(_, v, _, _, _), var v = min(k) { L(_, k, _, _, _), k > m }
negated with own constant | int | 0
    var v = count { E(a, b), not L(a, m, _, _, _), not L(_, b, 0.5, "a", _), not S(3) }
pattern | (int, int) | (0, 0)
    var (p, q) = m, var v = arg_min((k, a), k) { L(a, k, _, _, _), k > p, a != q }
same var | int | 0
    var v = count { L(k, k, _, _, _), k > m; L(m, _, _, _, _) }
deep | int | 0
    var v = count { E(a, b), not (L(a, k, _, _, _), not (L(b, j, _, _, _), j > k, not E(b, m), var q
    = count { S(b), b > m; L(j, _, _, _, _) }, q < 2)) }
"""


def _cases() -> dict[str, tuple[str, str, str]]:
    made: dict[str, tuple[str, str, str]] = {}
    name = ""
    for line in BODIES.strip().splitlines():
        if line.startswith(" "):
            type_, first, body = made[name]
            made[name] = type_, first, f"{body} {line.strip()}"
        else:
            name, type_, first = line.split(" | ")
            made[name] = type_, first, ""
    return made


CASES = _cases()


@pytest.mark.parametrize("name", CASES)
def test_a_body_that_tests_the_recursion_means_what_the_model_says(name: str) -> None:
    type_, first, body = CASES[name]
    rules = (
        RuleText((f"R(x, {first})",), ("S(x)",)),
        RuleText(("R(x, v)",), ("R(y, m)", "E(y, x)", body.strip())),
    )
    case = Case((*DECLARED, f"output relation R(x: int, v: {type_})"), rules, STEPS)
    assert difference(case, ("elastic", "updating", "dred", "differential")) is None
