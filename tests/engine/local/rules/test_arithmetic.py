"""Arithmetic in kernels: exact to the limits of each type, and a failure is an error only if it matters."""

from __future__ import annotations

import math
import operator
import random
from decimal import Decimal

import pytest

import tidelog
from tidelog import EngineError

_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_LIMITS = {
    "int": (-(2**63), 2**63 - 1),
    "signed<64>": (-(2**63), 2**63 - 1),
    "signed<16>": (-(2**15), 2**15 - 1),
    "bit<8>": (0, 2**8 - 1),
    "bit<63>": (0, 2**63 - 1),
}


def _numbers(low: int, high: int, rng: random.Random) -> list[int]:
    """Numbers near the limits, near the roots of the limits, and of every magnitude."""
    root = int(high**0.5)
    near = [
        low,
        low + 1,
        high,
        high - 1,
        high // 2,
        low // 2,
        root,
        root + 1,
        -root,
        -root - 1,
        -1,
        0,
        1,
        2,
        3,
    ]
    spread = [rng.choice([-1, 1]) * rng.getrandbits(rng.randrange(1, 64)) for _ in range(40)]
    halves = [rng.choice([-1, 1]) * (2**32 + rng.randrange(-3, 3)) for _ in range(4)]
    return sorted({n for n in [*near, *spread, *halves] if low <= n <= high})


def _program(type_: str, op: str) -> str:
    return f"""
    input relation P(a: {type_}, b: {type_})
    output relation Q(a: {type_}, b: {type_}, c: {type_})
    Q(a, b, a {op} b) :- P(a, b).
    """


@pytest.mark.parametrize("op", _OPERATIONS)
@pytest.mark.parametrize("type_", _LIMITS)
def test_results_are_exact_up_to_the_limits(type_: str, op: str) -> None:
    low, high = _LIMITS[type_]
    rng = random.Random(f"{type_} {op}")
    numbers = _numbers(low, high, rng)
    pairs = [(a, b) for a in numbers for b in numbers]
    results = {(a, b): _OPERATIONS[op](a, b) for a, b in pairs}
    sound = {pair for pair, c in results.items() if low <= c <= high}
    db = tidelog.open(text=_program(type_, op))
    with db.transaction() as tx:
        tx.insert("P", sound)
    assert set(db.query("Q(a, b, c)")) == {(*pair, results[pair]) for pair in sound}
    failing = sorted(set(pairs) - sound)
    for pair in rng.sample(failing, min(20, len(failing))):
        place = f"a = {pair[0]}, b = {pair[1]}"
        with pytest.raises(EngineError, match=f"does not fit.*{place}"), db.transaction() as tx:
            tx.insert("P", [pair])
    assert len(list(db.query("Q(a, b, c)"))) == len(sound)
    with db.transaction() as tx:
        tx.delete("P", sound)
    assert not list(db.query("Q(a, b, c)"))


def test_decimals_are_added_and_subtracted_within_their_precision() -> None:
    db = tidelog.open(
        text="""
        input relation P(a: decimal(4, 2), b: decimal(4, 2))
        output relation Q(c: decimal(4, 2), d: decimal(4, 2), e: decimal(4, 2))
        Q(a + b, a - b, a * b) :- P(a, b).
        """
    )
    with db.transaction() as tx:
        tx.insert("P", [(Decimal("98.99"), Decimal("1.00")), (Decimal("0.15"), Decimal("0.30"))])
    assert set(db.query("Q(c, d, e)")) == {
        (Decimal("99.99"), Decimal("97.99"), Decimal("98.99")),
        (Decimal("0.45"), Decimal("-0.15"), Decimal("0.04")),
    }
    with pytest.raises(EngineError, match="overflow"), db.transaction() as tx:
        tx.insert("P", [(Decimal("99.00"), Decimal("1.00"))])


@pytest.mark.parametrize("strategy", ["elastic", "dred", "differential", "recompute"])
def test_a_failure_is_no_error_if_another_literal_does_not_hold(strategy: str) -> None:
    db = tidelog.open(
        text="""
        input relation P(a: int)
        input relation Blocked(a: int)
        output relation Q(a: int, c: int)
        Q(a, c) :- P(a), var c = a * a, c > 10, not Blocked(a).
        """,
        strategy=strategy,
    )
    with db.transaction() as tx:
        tx.insert("Blocked", [(2**40,)])
        tx.insert("P", [(2,), (5,), (2**40,)])
    assert set(db.query("Q(a, c)")) == {(5, 25)}
    with pytest.raises(EngineError, match=r"does not fit.*a = 1099511627776"), db.transaction() as tx:
        tx.delete("Blocked", [(2**40,)])
    with db.transaction() as tx:
        tx.delete("P", [(2**40,)])
        tx.delete("Blocked", [(2**40,)])
    assert set(db.query("Q(a, c)")) == {(5, 25)}


@pytest.mark.parametrize("strategy", ["elastic", "dred", "differential", "recompute"])
def test_small_rounds_compute_values(strategy: str) -> None:
    db = tidelog.open(
        text="""
        input relation Start(x: int)
        input relation Stop(x: int)
        output relation Power(x: int)
        Power(x) :- Start(x).
        Power(2 * x) :- Power(x), not Stop(x).
        """,
        strategy=strategy,
    )
    with db.transaction() as tx:
        tx.insert("Stop", [(2**62,)])
        tx.insert("Start", [(1,)])
    assert set(db.query("Power(x)")) == {(2**i,) for i in range(63)}
    with pytest.raises(EngineError, match=r"does not fit.*x = 4611686018427387904"), db.transaction() as tx:
        tx.delete("Stop", [(2**62,)])
    with db.transaction() as tx:
        tx.insert("Stop", [(2**10,)])
    assert set(db.query("Power(x)")) == {(2**i,) for i in range(11)}
    with db.transaction() as tx:
        tx.delete("Stop", [(2**10,)])
    assert set(db.query("Power(x)")) == {(2**i,) for i in range(63)}


_DOUBLES = [
    0.0,
    1.0,
    -1.0,
    0.1,
    -2.5,
    1e308,
    -1.7e308,
    5e-324,
    2.0**-1022,
    3.0,
    math.inf,
    -math.inf,
    math.nan,
]


def _of_doubles(op: str, a: float, b: float) -> float | None:
    """The result of an operation; None if it fails."""
    if op == "/" and b == 0:
        return None
    found = {**_OPERATIONS, "/": operator.truediv}[op](a, b)
    is_new = not math.isfinite(found) and math.isfinite(a) and math.isfinite(b)
    return None if is_new else found + 0.0


@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
def test_doubles_follow_ieee_754_and_overflow_is_an_error(op: str) -> None:
    db = tidelog.open(text=_program("double", op))
    results = {(a, b): _of_doubles(op, a, b) for a in _DOUBLES for b in _DOUBLES}
    sound = {pair: found for pair, found in results.items() if found is not None}
    with db.transaction() as tx:
        tx.insert("P", list(sound))
    assert {repr(row) for row in db.query("Q(a, b, c)")} == {repr((*pair, c)) for pair, c in sound.items()}
    for pair in [pair for pair, found in results.items() if found is None]:
        with pytest.raises(EngineError, match=r"overflow|division by zero"), db.transaction() as tx:
            tx.insert("P", [pair])
    with db.transaction() as tx:
        tx.delete("P", list(sound))
    assert not list(db.query("Q(a, b, c)"))
