"""Strategies by name: the scripts that make a unit and bring it up to date.

`recompute` only makes: every unit that a change reaches is bootstrapped. Groups that were touched are worked
out anew, whatever the strategy. `differential` has nothing of its own for the best value per key, since a
value that was superseded has no weight to keep; there it does what `elastic` does, and says so.
"""

from __future__ import annotations

from typing import Final

from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.differential import bootstrap_differential, update_differential
from tidelog.maintain.dred import update_dred
from tidelog.maintain.elastic import update_elastic
from tidelog.maintain.extrema import bootstrap_best, update_best
from tidelog.maintain.script import Mode, Script, Update
from tidelog.plan.flat import FlatRule, Stratum

__all__ = ["STRATEGIES", "is_traced", "make", "name_of", "update"]

STRATEGIES: Final = ("elastic", "recompute", "dred", "differential")


def name_of(strategy: str, stratum: Stratum) -> str:
    """What statistics call an update of a unit."""
    if strategy == "differential" and stratum.best:
        return "update"
    return strategy if strategy in ("dred", "differential") else "update"


def is_traced(strategy: str, stratum: Stratum) -> bool:
    """Whether derivations of a unit are kept by iteration."""
    return strategy == "differential" and stratum.recursive and not stratum.best


def make(strategy: str, stratum: Stratum) -> Script:
    """A unit from nothing."""
    if stratum.best:
        return bootstrap_best(stratum, ranked=strategy != "recompute")
    return bootstrap_differential(stratum) if is_traced(strategy, stratum) else bootstrap(stratum)


def update(
    strategy: str,
    stratum: Stratum,
    kept: tuple[FlatRule, ...],
    added: tuple[FlatRule, ...],
    removed: tuple[FlatRule, ...],
) -> Update:
    """`kept` are the rules that were and are there, `came` those that came, `gone` those that went."""
    if stratum.best:
        mode = Mode.OVERDELETE if strategy == "dred" else Mode.REMOVE
        return update_best(stratum, kept, added, removed, mode)
    if strategy == "dred":
        return update_dred(stratum, kept, added, removed)
    if is_traced(strategy, stratum):
        return update_differential(stratum, kept, added, removed)
    return update_elastic(stratum, kept, added, removed)
