"""Recursions apart from what they begin with.

The rules of a unit that do not read the unit itself give it its *seeds*. Made a hidden relation of their own,
with one rule that takes them over, they are worked out before the recursion, which can then be divided by
what it passes through without looking at what is below it in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidelog.plan.flat import FlatProgram, FlatRule, Kind, Stored, Unit
from tidelog.program.typed import Match, Var

__all__ = ["is_inner", "seeds_of", "with_seeds"]


def is_inner(rule: FlatRule, unit: Unit) -> bool:
    """Whether a rule reads relations of its own unit."""
    return any(isinstance(x, Match) and x.relation in unit.relations for x in rule.body)


def seeds_of(relation: str) -> str:
    """The name of the hidden relation that holds the seeds of a relation."""
    return f"{relation} [seeds]"


def with_seeds(program: FlatProgram, wanted: Callable[[Unit], bool]) -> FlatProgram:
    """The same program, in which the recursive units that are wanted have relations for their seeds."""
    relations, units = dict(program.relations), list[Unit]()
    for unit in program.units:
        outer = [rule for rule in unit.rules if not is_inner(rule, unit)]
        if not unit.recursive or unit.grouping is not None or not outer or not wanted(unit):
            units.append(unit)
            continue
        copies: list[FlatRule] = []
        for name in sorted({rule.head for rule in outer}):
            stored, seeds = program.relations[name], seeds_of(name)
            title = f"seeds of {program.title(name)}"
            relations[seeds] = Stored(seeds, stored.types, Kind.SEEDS, columns=stored.columns, title=title)
            own = tuple(
                replace(rule, id=f"{rule.id} [seed]", head=seeds) for rule in outer if rule.head == name
            )
            units.append(Unit(frozenset([seeds]), own, recursive=False, name=title))
            values = tuple(Var(f"v{i}", type_) for i, type_ in enumerate(stored.types))
            body = (Match(seeds, values),)
            copies.append(FlatRule(f"{name} [from seeds]", name, values, body, own[0].origin, own[0].span))
        inner = tuple(rule for rule in unit.rules if is_inner(rule, unit))
        units.append(replace(unit, rules=(*inner, *copies)))
    rules = {rule.id: rule for unit in units for rule in unit.rules}
    return FlatProgram(relations, rules, program.groupings, program.functions, tuple(units))
