"""Rules as programs write them: long, and not deep."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tidelog
from tidelog.plan.describe import describe_plan
from tidelog.plan.flatten import flatten

N = 1200
HEADER = """
input relation P(x: int, y: int)
output relation Q(x: int, r: int)
output relation S(s: string)
output relation T(x: int)
"""
ROWS = [(3, 4), (5, 0), (-7, 2)]


def total(x: int, y: int) -> int:
    return x + (N // 2) * (y - x)


SUM = "x" + " + y - x" * (N // 2)
CASES: dict[str, tuple[str, str, Callable[[int, int], object]]] = {
    "head": (f"Q(x, {SUM}) :- P(x, y).", "Q", lambda x, y: (x, total(x, y))),
    "assignment": (f"Q(x, r) :- P(x, y), var r = {SUM}.", "Q", lambda x, y: (x, total(x, y))),
    "bits": ("Q(x, " + " ^ ".join(["x", "y"] * (N // 2)) + ") :- P(x, y).", "Q", lambda x, y: (x, 0)),
    "guarded": (
        f"Q(x, if (y != 0) ({SUM}) / y else -1) :- P(x, y).",
        "Q",
        lambda x, y: (x, int(total(x, y) / y) if y else -1),
    ),
    "or": (
        "T(x) :- P(x, y), (" + " or ".join(f"x == {i} and y < 5" for i in range(N)) + ").",
        "T",
        lambda x, _: (x,) if x >= 0 else None,
    ),
    "and": (
        "T(x) :- P(x, y), " + " and ".join(f"x != {i}" for i in range(4, N)) + ".",
        "T",
        lambda x, _: (x,) if x < 4 else None,
    ),
    "commas": (
        "T(x) :- P(x, y), " + ", ".join(f"x != {i}" for i in range(4, 300)) + ".",
        "T",
        lambda x, _: (x,) if x < 4 else None,
    ),
    "text": ('S("' + "${x}," * N + '") :- P(x, y).', "S", lambda x, _: (f"{x}," * N,)),
    "short circuit": (
        "T(x) :- P(x, y), y == 0 or 10 / y > 3" + " or x == 99" * N + ".",
        "T",
        lambda x, y: (x,) if y == 0 or int(10 / y) > 3 else None,
    ),
    "constants first": (
        "Q(x, r) :- P(x, y), var r = " + "1 + " * N + "x.",
        "Q",
        lambda x, _: (x, N + x),
    ),
    "group": (
        f"Q(0, n) :- P(x, y), var n = ({SUM}).group_by().max().",
        "Q",
        lambda x, y: (0, max(total(*row) for row in ROWS)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_operators_in_a_long_row_mean_what_they_say(case: str) -> None:
    rule, relation, expected = CASES[case]
    db = tidelog.open(text=HEADER + rule)
    with db.transaction() as tx:
        tx.insert("P", ROWS)
    wanted = {expected(x, y) for x, y in ROWS} - {None}
    assert set(db[relation]) == wanted
    assert "P" in describe_plan(flatten(db.program))
    with db.transaction() as tx:
        tx.remove_rule(rule)
        again = tx.add_rule(rule)
    assert (len(tx.changes), set(db[relation])) == (0, wanted)
    assert again in db.rules
    with db.transaction() as tx:
        tx.delete("P", ROWS)
    assert len(db[relation]) == 0


def test_a_query_and_a_function_may_be_long() -> None:
    text = f"{HEADER}function f(x: int, y: int): int {{ {SUM} }}\nQ(x, f(x, y)) :- P(x, y)."
    db = tidelog.open(text=text)
    with db.transaction() as tx:
        tx.insert("P", ROWS)
    assert set(db["Q"]) == {(x, total(x, y)) for x, y in ROWS}
    assert set(db.query(f"P(x, y), var r = {SUM}")) == {(x, y, total(x, y)) for x, y in ROWS}


def test_a_long_row_fails_where_it_fails() -> None:
    db = tidelog.open(text=f"{HEADER}Q(x, r) :- P(x, y), var r = x{' + 1' * N} * y / 0{' + 1' * N}.")
    with pytest.raises(tidelog.EngineError, match="division by zero"), db.transaction() as tx:
        tx.insert("P", ROWS)
    assert len(db["P"]) == 0


def test_a_long_row_with_a_mistake_is_told_it_once() -> None:
    found = [d for d in tidelog.check(f"{HEADER}T({SUM} + s) :- P(x, y).") if d.code.startswith("E")]
    assert [d.code for d in found] == ["E301"]
    found = [d for d in tidelog.check(f'{HEADER}T({SUM} + "a") :- P(x, y).') if d.code.startswith("E")]
    assert [d.code for d in found] == ["E202"]
