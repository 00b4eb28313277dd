"""Formats plans for people: the output of `tidelog show plan` and `show indexes`.

Without statistics, all relations count as equally large, so an engine, which knows the sizes, may choose
another join order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, assert_never

from tidelog.plan.cost import SizesOnly, Statistics
from tidelog.plan.flat import FlatLiteral, FlatProgram, FlatRule, Stratum
from tidelog.plan.join_order import Compute, Expand, Filter, Join, Order, Refute, Step, order, rows_expected
from tidelog.program.folds import shown_aggregate
from tidelog.program.text import print_body_literal, print_value
from tidelog.program.typed import Absent, Binary, Bind, Each, Match, Test

__all__ = ["demanded_indexes", "describe_indexes", "describe_plan", "print_flat_literal"]


def describe_plan(
    program: FlatProgram,
    statistics: Statistics | None = None,
    found: Mapping[str, tuple[int, float]] | None = None,
    only: Collection[str] | None = None,
) -> str:
    """Each stratum with its rules, and each rule's join order from nothing and from each of its atoms.

    With statistics, each order has an estimate of its instances. `found` are the instances of rules that a
    commit found, and those that were expected. With `only`, rules are left out that were not made from these,
    which are identities of the typed program.
    """
    strata = (stratum for stratum in program.strata if stratum.rules or stratum.grouping)
    parts: list[str] = []
    for stratum in strata:
        rules = [rule for rule in stratum.rules if only is None or _is_from(rule, only)]
        if rules or only is None:
            parts.append("\n".join(_unit(program, stratum, rules, statistics, found or {})))
    return "\n\n".join(parts)


def _is_from(rule: FlatRule, rules: Collection[str]) -> bool:
    return any(rule.id.startswith(f"{id_} [") for id_ in rules)


def _unit(
    program: FlatProgram,
    stratum: Stratum,
    rules: Iterable[FlatRule],
    statistics: Statistics | None,
    found: Mapping[str, tuple[int, float]],
) -> Iterator[str]:
    yield f"{stratum.name}{' (recursive)' if stratum.recursive else ''}"
    for name, best in stratum.best:
        yield f"  keeps the {best.function} of {program.columns(name, [best.column])} of {name} per key"
    for kept in () if stratum.totals is None else stratum.totals.kept:
        if kept.total is not None:
            column = program.columns(kept.relation, [kept.total])
            yield f"  keeps the total {column} of {kept.relation} per key"
    if stratum.grouping is not None:
        functions = ", ".join(shown_aggregate(a.function) for a in stratum.grouping.aggregates)
        instances = stratum.grouping.instances
        keys = program.columns(instances, range(stratum.grouping.keys))
        yield f"  {functions} of the {program.title(instances)}{f', by {keys}' if keys else ''}"
    for rule in rules:
        yield f"  {rule.origin}"
        for first in (None, *_atoms(rule)):
            start = "nothing" if first is None else print_flat_literal(program, rule.body[first])
            chosen = order(rule, first, statistics or _EQUAL)
            steps = [_step(program, rule, step) for step in chosen]
            about = "" if statistics is None else _estimate(rule, chosen, first, statistics)
            yield f"    from {start}: {', '.join(steps) or 'nothing to look up'}{about}"
        if rule.origin in found:
            number, expected = found[rule.origin]
            yield f"    last commit: {_instances(number)} found, {_number(expected)} estimated"


def _estimate(rule: FlatRule, chosen: Order, first: int | None, statistics: Statistics) -> str:
    """How many instances an order is expected to find."""
    expected = rows_expected(rule, chosen, first, statistics)
    return f" (about {_instances(expected)}{'' if first is None else ' per row'})"


def _instances(number: float) -> str:
    return f"{_number(number)} {'instance' if _number(number) == '1' else 'instances'}"


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{round(value):,}"


def print_flat_literal(program: FlatProgram, literal: FlatLiteral) -> str:
    """A literal, with the titles of hidden relations."""
    match literal:
        case Match(relation) | Absent(relation) if program.relations[relation].title:
            text = print_body_literal(replace(literal, relation="Hidden"))
            return text.replace("Hidden(", f"{program.title(relation)} (", 1)
        case Test(Binary("is", left, right)):  # not in the language
            return f"{print_value(left)} is {print_value(right)}"
        case Match() | Absent() | Test() | Bind() | Each():
            return print_body_literal(literal)
        case _:
            assert_never(literal)


_EQUAL: Final = SizesOnly(lambda _: 1000)


def _atoms(rule: FlatRule) -> Iterator[int]:
    return (i for i, x in enumerate(rule.body) if isinstance(x, Match | Absent))


def _step(program: FlatProgram, rule: FlatRule, step: Step) -> str:
    text = print_flat_literal(program, rule.body[step.position])
    match step:
        case Join(relation=relation, key=(), bounds=(bound, *_)):
            return f"look up {text} by a range of {program.columns(relation, [bound.column])}"
        case Join(key=()):
            return f"scan {text}"
        case Join(relation=relation, key=key):
            return f"look up {text} by {program.columns(relation, key)}"
        case Refute():
            return f"check {text}"
        case Compute(variable, _, _):
            return f"compute {variable.name}"
        case Filter():
            return f"test {text}"
        case Expand():
            return f"expand {text}"
        case _:
            assert_never(step)


# -- indexes


def demanded_indexes(program: FlatProgram) -> dict[str, set[tuple[tuple[int, ...], int | None]]]:
    """For each relation, the columns that join orders look it up by, and the column of range lookups."""
    found: dict[str, set[tuple[tuple[int, ...], int | None]]] = {}
    for rule in program.rules.values():
        for first in (None, *_atoms(rule)):
            for number, step in enumerate(order(rule, first, _EQUAL)):
                is_driver = number == 0 and first is not None
                if isinstance(step, Join) and not is_driver and len(step.key) < len(step.terms):
                    wanted = found.setdefault(step.relation, set())
                    if step.key:
                        wanted.add((step.key, None))
                    if step.bounds:
                        wanted.add((step.key, step.bounds[0].column))
    return found


def describe_indexes(program: FlatProgram) -> str:
    """One line per index: the relation and the columns."""
    return "\n".join(
        f"{program.title(relation)} {_index(program, relation, key, ordered)}"
        for relation, wanted in sorted(demanded_indexes(program).items())
        for key, ordered in sorted(wanted, key=lambda w: (w[0], -1 if w[1] is None else w[1]))
    )


def _index(program: FlatProgram, relation: str, key: tuple[int, ...], ordered: int | None) -> str:
    by = f"by {program.columns(relation, key)}"
    if ordered is None:
        return by
    sorted_by = f"sorted by {program.columns(relation, [ordered])}"
    return f"{by} {sorted_by}, if keys have many rows" if key else sorted_by
