"""Strategies by name: the scripts that bring a unit up to date.

`recompute` has none: every unit that a change reaches is bootstrapped. Aggregates are no unit's own business:
the groups that were touched are worked out anew, whatever the strategy.
"""

from __future__ import annotations

from typing import Final

from tidelog.maintain.best import update_best
from tidelog.maintain.dred import update_dred
from tidelog.maintain.elastic import update_elastic
from tidelog.maintain.script import Mode, Update
from tidelog.plan.flat import FlatRule, Unit

__all__ = ["STRATEGIES", "name_of", "update"]

STRATEGIES: Final = ("elastic", "recompute", "dred")


def name_of(strategy: str, unit: Unit) -> str:
    """What statistics call an update of a unit."""
    return strategy if strategy == "dred" else "update"


def update(
    strategy: str,
    unit: Unit,
    kept: tuple[FlatRule, ...],
    came: tuple[FlatRule, ...],
    gone: tuple[FlatRule, ...],
) -> Update:
    """`kept` are the rules that were and are there, `came` those that came, `gone` those that went."""
    if unit.best:
        mode = Mode.OVERDELETE if strategy == "dred" else Mode.REMOVE
        return update_best(unit, kept, came, gone, mode)
    if strategy == "dred":
        return update_dred(unit, kept, came, gone)
    return update_elastic(unit, kept, came, gone)
