"""The join orders of rules with their fan-outs, for profiles.

The *fan-out* of an atom is how many rows it matches for each row so far, after the conditions and negations
that follow it. Estimates come from the statistics that chose the order; measurements come from an engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.plan.cost import Statistics
from tidelog.plan.describe import print_flat_literal
from tidelog.plan.flat import FlatProgram, FlatRule
from tidelog.plan.join_order import Join, Order, rows_after_each

__all__ = ["FanOut", "Measured", "Start", "fan_outs"]

Start: TypeAlias = tuple[str, int | None]  # the id of a rule, and the position of its first literal


@dataclass(frozen=True, slots=True)
class Measured:
    """The fan-out in a sample; `rows` is a lower bound if there were too many rows to count."""

    rows: float
    probes: int
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class FanOut:
    """An atom in a join order, by its position in the body. `by` are the columns that it is looked up by.

    A literal that rows start from has neither an estimate nor a measurement.
    """

    position: int
    literal: str
    by: str
    estimated: float | None
    measured: Measured | None
    scans: bool  # whether no column is equal to anything before, so that many rows match


def fan_outs(
    program: FlatProgram,
    rule: FlatRule,
    steps: Order,
    first: int | None,
    statistics: Statistics,
    measured: Sequence[Measured | None] = (),
) -> tuple[FanOut, ...]:
    """The atoms of an order. `measured` are those that are looked up, as far as they were measured."""
    rows = rows_after_each(rule, steps, first, statistics)
    found: list[FanOut] = []
    number = 0
    for step in steps:
        if not isinstance(step, Join):
            continue
        text = print_flat_literal(program, rule.body[step.position])
        by = program.columns(step.relation, step.key)
        if step.bounds:
            by = f"{f'{by}, ' * bool(by)}a range of {program.columns(step.relation, [step.bounds[0].column])}"
        if step.position == first:
            found.append(FanOut(step.position, text, by, None, None, scans=False))
            continue
        known = measured[number] if number < len(measured) else None
        estimated = rows[number + 1] / rows[number] if rows[number] else 0.0
        scans = not step.key and bool(found)
        found.append(FanOut(step.position, text, by, estimated, known, scans))
        number += 1
    return tuple(found)
