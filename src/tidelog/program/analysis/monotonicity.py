"""`min` and `max` in recursion: which relations keep the best value per key, and when that is sound.

A relation derived by `min` or `max` from itself keeps one row per key, the best over all its rules. The
recursion then has a unique result, independent of the evaluation order, if a better value never makes
anything worse: it gives an equal or better head and never falsifies a condition. This is checked by following
the value through the rule. Each expression has a *direction*: 1 if it rises or stays as the values it depends
on get better, -1 if it falls or stays, 0 if it does not depend on them. A value of `min` gets better
downwards (-1), a value of `max` upwards (1).

Floating-point operations preserve this order with one exception: ∞ - ∞ and 0 · ∞ are NaN, which is ordered
after every number. So inside the recursion a NaN result is an error, like a division by zero (`NUMBER`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import assert_never

from tidelog.data.types import is_float, is_number
from tidelog.errors import Span
from tidelog.program import traversal, typed
from tidelog.program.elaborate.problems import Problems
from tidelog.program.library.catalog import NUMBER
from tidelog.program.typed import (
    Absent,
    Best,
    Bind,
    Body,
    Each,
    Expr,
    Group,
    Match,
    Nested,
    Rule,
    Stage,
    Test,
    Var,
    Without,
)

__all__ = ["best_relations", "check_monotone", "in_order"]

_BETTER = {"min": -1, "max": 1}
_MONOTONE_CALLS = frozenset(["min", "max", "floor", "ceil", "round"])


# -- which relations


def best_relations(
    relations: Iterable[str], rules: tuple[Rule, ...], through: frozenset[str], problems: Problems
) -> dict[str, Best]:
    """The relations among `through` that keep the best value per key."""
    best: dict[str, Best] = {}
    by_head: dict[str, list[Rule]] = {}
    for rule in rules:
        for head in () if rule.is_fact else {h.relation for h in rule.heads}:
            by_head.setdefault(head, []).append(rule)
    for name in sorted(through):
        deriving = by_head.get(name, [])
        forms = [_form(r, name) for r in deriving]
        chosen = next((f for f in forms if f is not None), None)
        if chosen is None:
            continue
        best[name] = chosen
        for rule, form in zip(deriving, forms, strict=True):
            if form != chosen:
                problems.report(
                    "E503",
                    rule.span,
                    f"`{name}` keeps the {chosen.function} of its column {chosen.column + 1} per key, "
                    "so every rule for it must end in that aggregate",
                    hint=f"end the body with `var v = ….group_by(…).{chosen.function}()` "
                    f"and use `v` as column {chosen.column + 1}",
                )
    return best


def _form(rule: Rule, name: str) -> Best | None:
    """The column and function if the rule's last step is one `min` or `max` that fills one column."""
    if rule.group is None or rule.after != ((),) or len(rule.group.aggregates) != 1:
        return None
    aggregate = rule.group.aggregates[0]
    if aggregate.function not in _BETTER:
        return None
    forms = set()
    for head in (h for h in rule.heads if h.relation == name):
        columns = [i for i, v in enumerate(head.values) if aggregate.result in traversal.variables(v)]
        if len(columns) != 1 or head.values[columns[0]] != aggregate.result:
            return None
        forms.add(Best(columns[0], aggregate.function))
    return forms.pop() if len(forms) == 1 else None


# -- when it is sound


class _NotMonotone(Exception):
    def __init__(self, what: str) -> None:
        self.what = what


def check_monotone(
    relations: frozenset[str], rules: tuple[Rule, ...], best: Mapping[str, Best], problems: Problems
) -> bool:
    """Report each rule of a recursive stratum in which a better value could lead to a worse result.

    Returns whether there is no such rule.
    """
    is_sound = True
    for rule in rules:
        try:
            _check_rule(rule, relations, best)
        except _NotMonotone as failure:
            is_sound = False
            _report(rule.span, failure.what, best, problems)
    return is_sound


def in_order(rule: Rule, best: Mapping[str, Best]) -> Rule:
    """A rule of the recursion that `check_monotone` accepts, rewritten so that a NaN result is an error."""
    bodies = tuple(_in_order(body, _follow(body, best)) for body in rule.bodies)
    if rule.group is None:
        return replace(rule, bodies=bodies)
    names = {name for body in rule.bodies for name in _follow(body, best)}
    aggregates = tuple(
        replace(a, args=tuple(_numbers(arg, names) for arg in a.args)) for a in rule.group.aggregates
    )
    return replace(rule, bodies=bodies, group=replace(rule.group, aggregates=aggregates))


def _in_order(body: Body, names: Iterable[str]) -> Body:
    followed = frozenset(names)

    def changed(literal: typed.Literal) -> typed.Literal:
        match literal:
            case Bind(variable, value):
                return Bind(variable, _numbers(value, followed))
            case Test(condition):
                return Test(_numbers(condition, followed))
            case Match() | Absent() | Each() | Nested() | Without() | Stage():
                return literal
            case _ as never:
                assert_never(never)

    return tuple(map(changed, body))


def _numbers(expr: Expr, names: Iterable[str]) -> Expr:
    """The expression with checks that no float computed from these variables is NaN."""
    followed = frozenset(names)
    if not any(v.name in followed for v in traversal.variables(expr)):
        return expr
    match expr:
        case typed.Constant() | Var():
            return expr
        case typed.Unary(op, operand, type_):
            return typed.Unary(op, _numbers(operand, followed), type_)
        case typed.Binary(op, left, right, type_):
            made = typed.Binary(op, _numbers(left, followed), _numbers(right, followed), type_)
            return typed.Call(NUMBER, (made,), type_) if is_float(type_) else made
        case typed.If(condition, then, otherwise, type_):
            then, otherwise = _numbers(then, followed), _numbers(otherwise, followed)
            return typed.If(_numbers(condition, followed), then, otherwise, type_)
        case typed.Let(name, value, body, type_):
            return typed.Let(name, _numbers(value, followed), _numbers(body, followed | {name}), type_)
        case typed.Call(args=args):
            return replace(expr, args=tuple(_numbers(a, followed) for a in args))
        case typed.Cast(operand, type_):
            return typed.Cast(_numbers(operand, followed), type_)
        case typed.Make() | typed.Get() | typed.Is() | typed.Listing() | typed.Block() | typed.Over():
            return expr  # no value of the recursion passes through them
        case _ as never:
            assert_never(never)


def _report(span: Span, what: str, best: Mapping[str, Best], problems: Problems) -> None:
    kept = ", ".join(f"`{name}` ({b.function})" for name, b in sorted(best.items()))
    problems.report(
        "E504",
        span,
        f"{what}, so a better value could lead to a worse result",
        note=f"relations that keep the best value per key: {kept}",
        hint="in the recursion, values can be added to, compared in one direction, and passed to min and max",
    )


def _check_rule(rule: Rule, relations: frozenset[str], best: Mapping[str, Best]) -> None:
    if rule.group is None:
        for body in rule.bodies:
            _check_heads(rule, relations, best, _follow(body, best))
        return
    for body in rule.bodies:
        _check_group(rule.group, _follow(body, best))
    given = {k.name for k in rule.group.keys} | {a.result.name for a in rule.group.aggregates}
    for body in rule.after:
        _check_heads(rule, relations, best, _follow(body, best, frozenset(given)))


def _follow(body: Body, best: Mapping[str, Best], given: frozenset[str] = frozenset()) -> dict[str, int]:
    """The directions of the variables of a body; raises _NotMonotone. `given` variables are already bound."""
    directions: dict[str, int] = {}
    occurrences = _occurrences(body)
    for literal in body:
        if isinstance(literal, Match) and literal.relation in best:
            kept = best[literal.relation]
            match literal.terms[kept.column]:
                case Var(name):
                    if name in given or occurrences[name] > 1:
                        raise _NotMonotone(f"`{name}` must equal another value")
                    directions[name] = _BETTER[kept.function]
                case typed.Constant():
                    raise _NotMonotone(f"the value of `{literal.relation}` must equal a constant")
    for literal in body:
        if isinstance(literal, Bind):
            directions[literal.variable.name] = _direction(literal.value, directions)
    for literal in body:
        if isinstance(literal, Test) and _direction(literal.condition, directions) < 0:
            raise _NotMonotone("a condition becomes false as a value gets better")
        if isinstance(literal, Absent | Each | Nested | Without):
            _check_use(literal, directions)
    return {name: d for name, d in directions.items() if d}


def _check_use(literal: Absent | Each | Nested | Without, directions: Mapping[str, int]) -> None:
    """Raise _NotMonotone if a literal depends on a value in a way that has no direction."""
    if not any(_direction(e, directions) for e in traversal.expressions(literal)):
        return
    match literal:
        case Absent(relation):
            raise _NotMonotone(f"a value is looked up in `{relation}` under `not`")
        case Each():
            raise _NotMonotone("`var … in` ranges over a value")
        case Nested(function=function):
            raise _NotMonotone(f"a value is used inside `{function} {{ … }}`")
        case Without():
            raise _NotMonotone("a value is used inside `not (…)`")
        case _:
            assert_never(literal)


def _occurrences(body: Body) -> Counter[str]:
    """How often each variable occurs in the atoms of the body and in the stage before it."""
    atoms = (x for x in body if isinstance(x, Match | Absent))
    found = Counter(t.name for x in atoms for t in x.terms if isinstance(t, Var))
    found.update(v.name for x in body if isinstance(x, Stage) for v in x.columns)
    return found


def _check_group(group: Group, directions: Mapping[str, int]) -> None:
    for key in group.keys:
        if key.name in directions:
            raise _NotMonotone(f"`{key.name}` is a key of `group_by`")
    for aggregate in group.aggregates:
        direction = _direction(aggregate.args[0], directions)
        if direction not in (0, _BETTER.get(aggregate.function, 0)):
            raise _NotMonotone(_turning(aggregate.args[0], directions, aggregate.function))


def _check_heads(
    rule: Rule, relations: frozenset[str], best: Mapping[str, Best], directions: Mapping[str, int]
) -> None:
    for head in (h for h in rule.heads if h.relation in relations and h.relation not in best):
        for value in head.values:
            if _direction(value, directions):
                raise _NotMonotone(f"a value becomes a column of `{head.relation}`, which keeps every row")


def _direction(expr: Expr, directions: Mapping[str, int]) -> int:
    """The direction of an expression as the values get better; raises _NotMonotone if it is unknown."""
    if not any(v.name in directions and directions[v.name] for v in traversal.variables(expr)):
        return 0
    match expr:
        case Var(name):
            return directions[name]
        case typed.Binary(op, left, right):
            return _binary(op, left, right, directions)
        case typed.Unary("-" | "not", operand):
            return -_direction(operand, directions)
        case typed.If(condition, then, otherwise) if not _direction(condition, directions):
            return _same(_direction(then, directions), _direction(otherwise, directions), "`if`")
        case typed.Let(name, value, body):
            return _direction(body, {**directions, name: _direction(value, directions)})
        case typed.Call(function, args) if function in _MONOTONE_CALLS:
            first, *rest = (_direction(a, directions) for a in args)
            if function == "round" and any(rest):
                raise _NotMonotone("the digits of `round` depend on a value")
            for other in rest:
                first = _same(first, other, f"`{function}`")
            return first
        case typed.Cast(operand, type_) if is_number(operand.type) and is_number(type_):
            return _direction(operand, directions)
        case typed.Constant() | typed.Unary() | typed.If() | typed.Call() | typed.Cast():
            raise _NotMonotone(f"{_operation(expr)} does not preserve the order of values")
        case typed.Make() | typed.Get() | typed.Is() | typed.Listing() | typed.Block() | typed.Over():
            raise _NotMonotone(f"{_operation(expr)} does not preserve the order of values")
        case _:
            assert_never(expr)


def _binary(op: str, left: Expr, right: Expr, directions: Mapping[str, int]) -> int:
    lhs, rhs = _direction(left, directions), _direction(right, directions)
    match op:
        case "+" | "and" | "or":
            return _same(lhs, rhs, f"`{op}`")
        case "-" | ">" | ">=":
            return _same(lhs, -rhs, f"`{op}`")
        case "<" | "<=":
            return _same(-lhs, rhs, f"`{op}`")
        case "*" if not rhs and (sign := _sign(right)) is not None:
            return lhs * sign
        case "*" if not lhs and (sign := _sign(left)) is not None:
            return rhs * sign
        case "/" if not rhs and (sign := _sign(right)):
            return lhs * sign
        case _:
            raise _NotMonotone(f"`{op}` does not preserve the order of values")


def _same(first: int, second: int, what: str) -> int:
    if first and second and first != second:
        raise _NotMonotone(f"{what} combines a rising and a falling value")
    return first or second


def _sign(expr: Expr) -> int | None:
    """The sign of a constant number: -1, 0 or 1; None for anything else."""
    if not isinstance(expr, typed.Constant) or not isinstance(expr.value, int | float | Decimal):
        return None
    return (expr.value > 0) - (expr.value < 0)


def _turning(expr: Expr, directions: Mapping[str, int], function: str) -> str:
    """Why an aggregated expression gets worse as the values it depends on get better."""
    for sub in traversal.subexpressions(expr):
        direction = _direction(sub, directions) if not isinstance(expr, typed.Let) else 0
        if direction == -_direction(expr, directions):
            return f"{_operation(expr)} reverses the order of values"
        if direction:
            return _turning(sub, directions, function)
    return f"a better value for `{function}` is a worse value for the relation it comes from"


def _operation(expr: Expr) -> str:
    match expr:
        case typed.Unary(op) | typed.Binary(op):
            return f"`{op}`"
        case typed.If():
            return "`if` on the value"
        case typed.Call(function):
            return f"`{function}`"
        case typed.Cast(_, type_):
            return f"`as {type_}`"
        case typed.Make(""):
            return "a tuple"
        case typed.Make(constructor) | typed.Is(_, constructor):
            return f"`{constructor}{{…}}`"
        case typed.Get():
            return "taking a part of a value"
        case typed.Listing():
            return "`[…]`"
        case typed.Block():
            return "a block of statements"
        case typed.Over():
            return "an aggregate over a body"
        case typed.Constant() | typed.Var() | typed.Let():
            return "this expression"
        case _:
            assert_never(expr)
