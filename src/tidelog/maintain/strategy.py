"""Strategies: how a stratum is bootstrapped, and how it is updated.

| strategy | an update |
|---|---|
| `elastic` | counts supports and re-derives suspects; falls back to a bootstrap where that is cheaper |
| `recompute` | none: every stratum that a change reaches is bootstrapped |
| `dred` | over-deletes and re-derives; needs no counts |
| `differential` | keeps the derivations of each tuple by iteration |

Every strategy recomputes the results of touched groups, and maintains recursive totals in the same way. A
relation that keeps the best value per key does not store superseded values, so `differential` maintains it as
`elastic` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.differential import bootstrap_differential, update_differential
from tidelog.maintain.dred import update_dred
from tidelog.maintain.elastic import update_elastic
from tidelog.maintain.extrema import bootstrap_best, update_best
from tidelog.maintain.script import Mode, Script, Update
from tidelog.maintain.totals import bootstrap_totals, update_totals
from tidelog.plan.flat import FlatRule, Stratum

__all__ = ["DIFFERENTIAL", "DRED", "ELASTIC", "RECOMPUTE", "STRATEGIES", "RuleChanges", "Strategy"]

Rules: TypeAlias = tuple[FlatRule, ...]


class RuleChanges(NamedTuple):
    """The rules of a stratum: those of both programs, added ones, removed ones."""

    kept: Rules
    added: Rules
    removed: Rules


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy and its properties.

    - `updates`: it updates strata; otherwise it bootstraps every stratum that a change reaches.
    - `switches`: the cheapest of the update, a bootstrap and the engine's own form of the stratum is used.
      Without it, scripts are always followed exactly.
    - `merges`: the states of several strata can be merged into one.
    - `is_traced`: it stores the derivations of recursive strata by iteration.
    - `in_frames`: Spark can run it on DataFrames; strata with other strategies run on local engines.
    - `label`: the name of an update in statistics.
    """

    name: str
    plain_update: Callable[[Stratum, Rules, Rules, Rules], Update] = update_elastic
    label: str = "update"
    deletes: Mode = Mode.REMOVE
    updates: bool = True
    switches: bool = False
    merges: bool = False
    is_traced: bool = False
    in_frames: bool = False

    def traces(self, stratum: Stratum) -> bool:
        """Whether the derivations of a stratum are stored by iteration."""
        return self.is_traced and stratum.recursive and not stratum.best and stratum.totals is None

    def label_of(self, stratum: Stratum) -> str:
        """The name of an update of a stratum in statistics."""
        if stratum.totals is not None:
            return "update"
        return "update" if self.is_traced and stratum.best else self.label

    def bootstrap(self, stratum: Stratum) -> Script:
        """The script that evaluates a stratum from nothing."""
        if stratum.totals is not None:
            return bootstrap_totals(stratum)
        if stratum.best:
            return bootstrap_best(stratum, ranked=self.updates)
        return bootstrap_differential(stratum) if self.traces(stratum) else bootstrap(stratum)

    def update(self, stratum: Stratum, rules: RuleChanges) -> Update:
        """The scripts that update a stratum after changes of lower strata, its rules and asserted facts."""
        if stratum.totals is not None:
            return update_totals(stratum, *rules)
        if stratum.best:
            return update_best(stratum, *rules, self.deletes)
        if self.is_traced and not self.traces(stratum):
            return update_elastic(stratum, *rules)
        return self.plain_update(stratum, *rules)


ELASTIC: Final = Strategy("elastic", switches=True, merges=True, in_frames=True)
RECOMPUTE: Final = Strategy("recompute", updates=False, switches=True, in_frames=True)
DRED: Final = Strategy("dred", update_dred, "dred", Mode.OVERDELETE, merges=True)
DIFFERENTIAL: Final = Strategy("differential", update_differential, "differential", is_traced=True)

STRATEGIES: Final[Mapping[str, Strategy]] = {s.name: s for s in (ELASTIC, RECOMPUTE, DRED, DIFFERENTIAL)}
