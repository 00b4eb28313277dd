"""Functions that call themselves: how deep and how often, and what happens beyond."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.engine.local.expressions import recursion
from tidelog.errors import EngineError

_PROGRAM = """
input relation Given(n: int)
output relation Out(n: int, value: int)
"""


def _values(function: str, *given: int, condition: str = "true") -> list[tuple[object, ...]]:
    db = tidelog.open(text=f"{_PROGRAM}{function}\nOut(n, f(n)) :- Given(n), {condition}.")
    with db.transaction() as tx:
        tx.insert("Given", [(n,) for n in given])
    return sorted(db["Out"])


def test_equal_calls_are_evaluated_once() -> None:
    found = _values("function f(n: int): int { if (n < 2) n else f(n - 1) + f(n - 2) }", 90, 10)
    assert found == [(10, 55), (90, 2880067194370816120)]


def test_the_limit_is_the_depth_of_calls() -> None:
    text = "function f(n: int): int { if (n == 1) 0 else 1 + f(n - 1) }"
    assert _values(text, 1000) == [(1000, 999)]
    with pytest.raises(EngineError, match=r"`f` calls itself more than 1,000 levels deep"):
        _values(text, 1001)


def test_an_endless_recursion_fails_only_where_its_value_is_needed() -> None:
    text = "function f(n: int): int { if (n == 0) 0 else 1 + f(n - 1) }"
    assert _values(text, -1, 2, condition="n >= 0") == [(2, 2)]
    unread = (
        "function g(n: int): int { g(n) }\n"
        "function f(n: int): int { var x = g(n); for (y in [n]) { x = y; } x }"
    )
    assert _values(unread, 7) == [(7, 7)]


def test_too_many_calls_end_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recursion, "MOST_CALLS", 100)
    text = (
        "function f(n: int): int { g(n, 1) }\n"
        "function g(n: int, s: int): int { if (n == 0) s else g(n - 1, s * 2) + g(n - 1, s * 2 + 1) }"
    )
    assert _values(text, 3) == [(3, 92)]
    with pytest.raises(EngineError, match="the function `g` calls itself too often"):
        _values(text, 9)
