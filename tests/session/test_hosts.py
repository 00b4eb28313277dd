"""What the program around a session sets for itself changes no result."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial

import pytest

import tidelog

PROGRAM = """
input relation Price(item: string, amount: decimal(18, 4), wide: decimal(38, 10))
output relation Dear(item: string)
output relation Exact(item: string)
output relation Sum(amount: decimal(38, 4), mean: decimal(18, 4))
output relation Twice(item: string, amount: decimal(18, 4), wide: decimal(38, 10))
output relation Written(item: string, text: string, rounded: decimal(18, 4), read: decimal(18, 4))
Dear(i) :- Price(i, a, _), a > 99999.1234.
Exact(i) :- Price(i, 123456.7891, _).
Exact(i) :- Price(i, _, 1234567890123456789.0123456789).
Sum(s, m) :- Price(_, a, _), var s = (a as decimal(38, 4)).group_by().sum(), var m = a.group_by().avg().
Twice(i, a * 2.0, w + w) :- Price(i, a, w).
Written(i, a as string, round(a, 2), ("98765.4321" as decimal(18, 4))) :- Price(i, a, _).
"""

ROWS = [
    ("a", Decimal("123456.7891"), Decimal("1234567890123456789.0123456789")),
    ("b", Decimal("0.0001"), Decimal("-0.0000000001")),
    ("c", Decimal("-9999999999999.9999"), 7),
]

CONTEXTS = [
    decimal.Context(prec=1),
    decimal.Context(prec=6, rounding=decimal.ROUND_UP),
    decimal.Context(prec=28, traps=[decimal.Inexact, decimal.Rounded, decimal.FloatOperation]),
    decimal.Context(prec=9, Emax=9, Emin=-9, traps=[], capitals=0, clamp=1),
]


@contextmanager
def _in(context: decimal.Context) -> Iterator[None]:
    with decimal.localcontext(context):
        yield


def _results() -> dict[str, object]:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Price", ROWS)
    found: dict[str, object] = {
        name: sorted(db[name]) for name in ("Price", "Dear", "Exact", "Sum", "Twice", "Written")
    }
    found["where"] = sorted(db["Price"].where(amount=ROWS[0][1]))
    found["query"] = sorted(db.query("Price(i, a, w), a >= 0.0001, var d = a + 0.5"))
    with db.transaction() as tx:
        tx.delete("Price", ROWS[:1])
    found["deleted"] = {name: sorted(tx.changes[name].deleted) for name in ("Price", "Exact", "Sum")}
    return found


@pytest.mark.parametrize("context", CONTEXTS, ids=["prec 1", "prec 6", "traps", "narrow"])
def test_the_decimal_context_of_the_host_changes_no_result(context: decimal.Context) -> None:
    expected = _results()
    with _in(context):
        assert _results() == expected


@pytest.mark.parametrize("context", CONTEXTS, ids=["prec 1", "prec 6", "traps", "narrow"])
def test_bad_decimals_are_reported_under_any_context(context: decimal.Context) -> None:
    def insert(row: tuple[object, ...]) -> None:
        with db.transaction() as tx:
            tx.insert("Price", [row])

    def refused(attempt: Callable[[], object]) -> str:
        with pytest.raises(tidelog.TidelogError) as error:
            attempt()
        return str(error.value)

    def attempts() -> list[str]:
        bad = [("x", "abc", 1), ("x", Decimal("NaN"), 1), ("x", Decimal("1.00001"), 1), ("x", 10**20, 1)]
        found = [refused(partial(insert, row)) for row in bad]
        huge = PROGRAM + "Dear(i) :- Price(i, 1e99999999999999999999, _)."
        return [*found, refused(lambda: tidelog.open(text=huge))]

    db = tidelog.open(text=PROGRAM)
    expected = attempts()
    with _in(context):
        assert attempts() == expected
