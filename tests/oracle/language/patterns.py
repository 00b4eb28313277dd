"""Rules that do something together: recursions and what is asked of them, over types that a case draws."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from oracle.language.case import RuleText
from oracle.language.rules import RelationText
from tidelog.data import types
from tidelog.data.types import Type

__all__ = ["pattern"]

Pattern = tuple[list[RelationText], list[RuleText]]


def pattern(random: Random, item: Type, number: Type) -> Pattern:
    """Relations and rules of one pattern; `item` is what its graph is about, `number` what is measured."""
    return random.choice(_PATTERNS)(random, item, number)


def _rule(head: str, *body: str) -> RuleText:
    return RuleText((head,), body)


def _closure(random: Random, item: Type, number: Type) -> Pattern:
    relations = [
        RelationText("Edge", (item, item), "input", 0),
        RelationText("Path", (item, item), "output", 1),
        RelationText("Out", (item,), "output", 2),
    ]
    step = random.choice(
        [
            _rule("Path(x, z)", "Path(x, y)", "Edge(y, z)"),
            _rule("Path(x, z)", "Edge(x, y)", "Path(y, z)"),
            _rule("Path(x, z)", "Path(x, y)", "Path(y, z)"),
            _rule("Path(x, y)", "Edge(z, x)", "Path(z, w)", "Edge(w, y)"),
        ]
    )
    question = random.choice(
        [
            _rule("Out(x)", "Edge(x, _)", "not Path(x, x)"),
            _rule("Out(x)", "Edge(_, x)", "not Path(_, x)"),
            _rule("Out(x)", "Path(x, y)", "not Edge(x, y)"),
            _rule("Out(m)", "Path(x, y)", "var m = y.group_by(x).max()"),
        ]
    )
    return relations, [_rule("Path(x, y)", "Edge(x, y)"), step, question]


def _best(random: Random, item: Type, number: Type) -> Pattern:
    function = random.choice(["min", "max"])
    relations = [
        RelationText("Road", (item, item, number), "input", 0),
        RelationText("Best", (item, item, number), "output", 1),
        RelationText("Near", (item,), "output", 2),
    ]
    values = ["max(a, k)", "min(a, k)", "a"]
    if types.is_number(number) and function == "min":
        # the last one is known before the next road is looked up
        values += ["(a + k)", "(a + abs(k))", "(a + abs(k))", "max(a + a, a)"]
    rules = [
        _rule("Best(x, y, d)", "Road(x, y, k)", f"var d = k.group_by(x, y).{function}()"),
        _rule(
            "Best(x, z, d)",
            "Best(x, y, a)",
            "Road(y, z, k)",
            f"var d = {random.choice(values)}.group_by(x, z).{function}()",
        ),
        random.choice(
            [
                _rule("Near(x)", "Best(x, _, d)", "Road(x, _, d)"),
                _rule("Near(x)", "Road(x, y, k)", "not Best(x, y, k)"),
                _rule("Near(x)", "Best(x, y, d)", "Best(y, x, e)", "d < e"),
            ]
        ),
    ]
    return relations, rules


def _total(random: Random, item: Type, number: Type) -> Pattern:
    """Recursive sums and counts; where groups depend on themselves, all reasoners refuse alike."""
    sums = types.is_number(number) and not isinstance(number, types.Float)
    kept: Type = number if sums else types.INT
    relations = [
        RelationText("Road", (item, item, number), "input", 0),
        RelationText("Sum", (item, item, kept), "output", 1),
        RelationText("Far", (item, item), "output", 1),
    ]
    function, values = ("sum", ["k", "a", "(a + k)", "(a * k)"]) if sums else ("count", ["k"])
    rules = [_rule("Sum(x, y, d)", "Road(x, y, k)", f"var d = k.group_by(x, y).{function}()")]
    if random.random() < 0.5:
        body = ["Sum(x, y, a)", "Road(y, z, k)", *random.choice([(), ("a > 1",), ("Far(x, y)",)])]
        value = random.choice(values)
    else:
        body, value = ["Far(x, y)", "Road(y, z, k)"], "k"
    rules += [
        _rule("Sum(x, z, d)", *body, f"var d = {value}.group_by(x, z).{function}()"),
        random.choice(
            [
                _rule("Far(x, y)", "Sum(x, y, a)", "a > 1"),
                _rule("Far(x, y)", "Sum(x, y, a)", "a >= 2", "x != y"),
                _rule("Far(x, y)", "Sum(x, y, _)"),
                _rule("Far(x, y)", "Sum(x, y, a)", "Sum(y, x, b)", "a != b"),
            ]
        ),
    ]
    return relations, rules


def _count(random: Random, item: Type, number: Type) -> Pattern:
    """Counts up until a fact says that it is enough: it may never end."""
    relations = [
        RelationText("First", (types.INT,), "input", 0),
        RelationText("Limit", (types.INT,), "input", 0),
        RelationText("Conf", (types.INT,), "output", 1),
    ]
    step = random.choice(
        [
            _rule("Conf(x + 1)", "Conf(x)", "not Limit(x)", "x < 6"),
            _rule("Conf(y)", "Conf(x)", "var y = x + 1", "not Limit(y)", "y < 6"),
            _rule("Conf(y)", "not Limit(x + 1)", "x < 6", "y == x + 2", "var y = x + 2", "Conf(x)"),
        ]
    )
    return relations, [_rule("Conf(x)", "First(x)"), step]


def _mutual(random: Random, item: Type, number: Type) -> Pattern:
    relations = [
        RelationText("Start", (item,), "input", 0),
        RelationText("Edge", (item, item), "input", 0),
        RelationText("Even", (item,), "output", 1),
        RelationText("Odd", (item,), "output", 1),
        RelationText("Flag", (), "output", 2),
    ]
    rules = [
        _rule("Even(x)", "Start(x)"),
        _rule("Odd(y)", "Even(x)", "Edge(x, y)"),
        _rule("Even(y)", "Odd(x)", "Edge(x, y)"),
        random.choice([_rule("Flag()", "Even(x)", "Odd(x)"), _rule("Flag()", "Start(_)", "not Odd(_)")]),
    ]
    return relations, rules


def _tested(random: Random, item: Type, number: Type) -> Pattern:
    """A recursion in which nested bodies test what the recursion finds."""
    relations = [
        RelationText("Start", (item,), "input", 0),
        RelationText("Edge", (item, item), "input", 0),
        RelationText("Limit", (item, types.INT), "input", 0),
        RelationText("Reach", (item, types.INT), "output", 1),
        RelationText("Out", (item,), "output", 2),
    ]
    nested = random.choice(
        [
            ("var n = count { Limit(_, k), k < m }",),
            ("var n = count { Limit(y, k), k != m }",),
            ("var n = min(k) { Limit(z, k), z != y, k >= m }",),
            ("var n = max(k) { Limit(x, k), k <= m; Limit(y, k), k > m }",),
            ("not (Limit(z, _), z > x)", "var n = m"),
            ("not (Limit(z, k), z != x, not Edge(z, y), k <= m)", "var n = m"),
            ("var n = count { Limit(z, k), not (Edge(w, z), w < y), k != m }",),
            ("var n = count { Limit(z, _), var j = count { Limit(z, k), k < m }, j > 0 }",),
            ("not (Edge(y, z), var j = count { Limit(z, k), k > m }, j > 0)", "var n = m"),
        ]
    )
    rules = [
        _rule("Reach(x, 1)", "Start(x)"),
        _rule("Reach(x, n)", "Reach(y, m)", "Edge(y, x)", *nested),
        _rule("Out(x)", "Reach(x, n)", "not (Reach(x, k), k > n)"),
    ]
    return relations, rules


_PATTERNS: Final[tuple[Callable[[Random, Type, Type], Pattern], ...]] = (
    _closure,
    _closure,
    _best,
    _best,
    _total,
    _total,
    _count,
    _mutual,
    _tested,
)
