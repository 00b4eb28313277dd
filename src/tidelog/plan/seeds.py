"""Separates recursions from their seeds.

The rules of a stratum that do not read the stratum itself derive its *seeds*. The seeds become a hidden
relation of their own, which is computed before the recursion, and one rule copies them. The recursion can
then be partitioned by the values that it passes along, without reading all of the lower strata. A rule that
only copies another relation, with its columns in any order, is left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tidelog.plan.flat import FlatProgram, FlatRule, Kind, Stored, Stratum
from tidelog.program.typed import Match, Var

__all__ = ["SEEDS", "is_inner", "taken_over", "with_seeds"]

SEEDS: Final = " [seeds]"  # ends the names of their relations


def is_inner(rule: FlatRule, stratum: Stratum) -> bool:
    """Whether a rule reads relations of its own stratum."""
    return any(isinstance(x, Match) and x.relation in stratum.relations for x in rule.body)


def taken_over(rule: FlatRule) -> tuple[str, tuple[int, ...]] | None:
    """The relation that a rule only copies, and its column for each column of the head; None otherwise."""
    if len(rule.body) != 1 or not isinstance(rule.body[0], Match) or not rule.values:
        return None
    terms, values = rule.body[0].terms, rule.values
    plain = all(isinstance(t, Var) for t in (*terms, *values)) and len(set(terms)) == len(terms)
    if not plain or len(set(values)) != len(values) or set(terms) != set(values):
        return None
    return rule.body[0].relation, tuple(terms.index(value) for value in values if isinstance(value, Var))


def with_seeds(program: FlatProgram, wanted: Callable[[Stratum], bool]) -> FlatProgram:
    """The same program, with hidden relations for the seeds of the wanted recursive strata."""
    relations, strata = dict(program.relations), list[Stratum]()
    for stratum in program.strata:
        outer = [rule for rule in stratum.rules if not is_inner(rule, stratum) and taken_over(rule) is None]
        if not stratum.recursive or stratum.grouping is not None or not outer or not wanted(stratum):
            strata.append(stratum)
            continue
        copies: list[FlatRule] = []
        for name in sorted({rule.head for rule in outer}):
            stored, seeds = program.relations[name], f"{name}{SEEDS}"
            title = f"seeds of {program.title(name)}"
            relations[seeds] = Stored(seeds, stored.types, Kind.SEEDS, columns=stored.columns, title=title)
            own = tuple(
                replace(rule, id=f"{rule.id} [seed]", head=seeds) for rule in outer if rule.head == name
            )
            strata.append(Stratum(frozenset([seeds]), own, recursive=False, name=title))
            values = tuple(Var(f"v{i}", type_) for i, type_ in enumerate(stored.types))
            body = (Match(seeds, values),)
            copies.append(FlatRule(f"{name} [from seeds]", name, values, body, own[0].origin, own[0].span))
        kept = tuple(rule for rule in stratum.rules if rule not in outer)
        strata.append(replace(stratum, rules=(*kept, *copies)))
    rules = {rule.id: rule for stratum in strata for rule in stratum.rules}
    return FlatProgram(relations, rules, program.groupings, program.functions, tuple(strata))
