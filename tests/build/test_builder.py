"""Programs from Python objects print as, and mean, what people would write."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest

import tidelog
from tidelog import SessionError
from tidelog.build import Body, Program, fn, input, let, output, program, relation, text, var, variables, when

x, y, z, n, d, a, k, s = variables("x y z n d a k s")
_ = var("_")
Edge = input("Edge", src=str, dst=str)
Reach = output("Reach", src=str, dst=str)


def reach() -> Program:
    return program(Reach[x, y] <= Edge[x, y], Reach[x, z] <= Reach[x, y] & Edge[y, z])


def test_a_program_prints_as_the_text_of_the_language() -> None:
    assert (
        str(reach())
        == """\
output relation Reach(src: string, dst: string)
input relation Edge(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
    )


def test_sessions_take_what_is_built_wherever_they_take_text() -> None:
    with (db := tidelog.open(reach())).transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "c")])
        tx.add_rule(Reach[y, x] <= Reach[x, y])
    assert ("c", "a") in db["Reach"]
    assert sorted(db.query(Reach["a", x] & (x != "a"))) == [("b",), ("c",)]
    assert sorted(db.query(Reach[k, x] & ~Edge[k, x] & (x > k), k="a")) == [("c",)]
    with db.transaction() as tx:
        tx.remove_rule(Reach[z, k] <= Reach[k, z])
        tx.load(program(relation("Loop", x=str)["q"]))
    assert len(db["Reach"]) == 3
    assert len(tidelog.run(reach(), Edge=[("a", "b")])["Reach"]) == 1
    assert tidelog.check(str(reach())) == ()


KINDS: dict[str, tuple[Callable[[], object], str]] = {
    "named arguments": (lambda: Edge(dst=x), "Edge(.dst = x)"),
    "constants": (lambda: Edge["a", _], 'Edge("a", _)'),
    "a negation": (lambda: ~Edge[x, _], "not Edge(x, _)"),
    "conditions": (lambda: Edge[x, y] & ((x != y) | ~(x > "k")), 'Edge(x, y), x != y or not x > "k"'),
    "alternatives": (lambda: Edge[x, y] | Edge[y, x] | Reach[x, y], "(Edge(x, y); Edge(y, x); Reach(x, y))"),
    "alternatives with conditions": (lambda: Edge[x, y] & (x < y) | (x == y), "(Edge(x, y), x < y; x == y)"),
    "arithmetic": (
        lambda: Edge[x, y] & let(n, -a * (k + 1) / 2 % 3),
        "Edge(x, y), var n = -a * (k + 1) / 2 % 3",
    ),
    "arithmetic from the right": (
        lambda: let(n, 1 - 2 * a) & let(d, 1 / k),
        "var n = 1 - 2 * a, var d = 1 / k",
    ),
    "bits": (lambda: let(n, a.bit_and(k).bit_or(1) << 3), "var n = (a & k | 1) << 3"),
    "strings": (lambda: let(s, "to " + x + y), 'var s = "to " ++ x ++ y'),
    "interpolation": (lambda: let(s, text("a ", k, " $ b")), 'var s = "a ${k} $ b"'),
    "methods": (lambda: let(n, x.length()) & x.starts_with("a"), 'var n = x.length(), x.starts_with("a")'),
    "functions": (lambda: let(n, fn.unwrap_or(k, 0)), "var n = unwrap_or(k, 0)"),
    "a choice": (lambda: let(n, when(a > 1, a, 0)), "var n = if (a > 1) a else 0"),
    "a conversion": (lambda: let(n, a.cast("decimal(10, 2)")), "var n = a as decimal(10, 2)"),
    "aggregates": (
        lambda: Edge[x, y] & let(n, y.group_by(x).count()),
        "Edge(x, y), var n = y.group_by(x).count()",
    ),
    "distinct": (lambda: let(n, y.group_by().distinct().sum()), "var n = y.group_by().distinct().sum()"),
    "dates": (lambda: x == date(2024, 2, 29), 'x == "2024-02-29" as date'),
    "timestamps": (
        lambda: x == datetime(2024, 2, 29, tzinfo=UTC),
        'x == "2024-02-29T00:00:00Z" as timestamp',
    ),
    "negative numbers": (lambda: (x == -1) & (y == -1.5), "x == -1 and y == -1.5"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_literals_print_as_people_write_them(kind: str) -> None:
    made, expected = KINDS[kind]
    assert str(made()) == expected
    rule = output("Out", flag=bool)[True] <= made()
    assert str(program(rule).rules[0]) == f"Out(true) :- {expected}."


def test_heads_facts_and_declarations_print_as_people_write_them() -> None:
    price = input("Price", {"item": str, "cents": "bit<32>", "until": date | None}, primary_key=["item"])
    assert str(price) == (
        "input relation Price(item: string, cents: bit<32>, until: option<date>) primary key (item)"
    )
    assert str(Edge[x, y] & Reach[y, x] <= Edge[y, x]) == "Edge(x, y), Reach(y, x) :- Edge(y, x)."
    assert [str(rule) for rule in program(Edge["a", "b"]).rules] == ['Edge("a", "b").']
    assert str(relation("Flag")[()]) == "Flag()"


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: bool(Edge[x, y]), "no truth value"),
        (lambda: bool(x > 1), "no truth value"),
        (lambda: 1 < x < 3, "no truth value"),
        (lambda: Reach[x, y] <= Edge[x, y] & x > "a", "parentheses"),
        (lambda: Edge[x, y] & x == "a", "parentheses"),
        (lambda: program((Reach[x, y] <= Edge[x, y], Edge[y, x])), "tuple"),  # type: ignore[arg-type]
        (lambda: Reach[x, y] <= (Edge[x, y], Edge[y, x]), "connect its literals with `&`"),
        (lambda: (x > 1) <= Edge[x, y], "cannot be part of a rule"),
        (lambda: ~Edge[x, y] <= Edge[x, y], "consists of atoms"),
        (lambda: ~(Edge[x, y] & Edge[y, x]), "negates one atom"),
        (lambda: Edge[object(), y], "cannot be part of a rule"),
        (lambda: var("X"), "lowercase"),
        (lambda: var("not"), "keyword"),
        (lambda: relation("edge", x=int), "capitalised"),
        (lambda: relation("Edge", x=object), "not a type"),
        (lambda: relation("Edge", x="decimal("), "not a type"),
        (lambda: let(x + 1, 3), "by a variable"),
        (lambda: program(Edge[x, y], input("Edge", src=int)), "declared twice"),
    ],
)
def test_mistakes_are_errors_and_never_silent(mistake: Callable[[], object], message: str) -> None:
    with pytest.raises(SessionError, match=message):
        mistake()


def test_what_is_built_and_what_is_read_are_equal() -> None:
    written = tidelog.load(str(reach()))
    assert set(written.rules) == set(tidelog.open(reach()).program.rules)
    assert Edge[x, y] == Edge[x, y]
    assert isinstance(Edge[x, y], Body)
