"""Results of groups brought up to date by the instances that come and go.

`count`, `count_if` and exact sums are the old value plus and minus those of the changed instances. The state
of an aggregate of the program takes `insert` and `delete`. All other aggregates, and those of distinct
values, depend on the whole group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tidelog.data import types
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.expressions.folds import Folds, Instances
from tidelog.engine.local.expressions.vectors import Mask, Rows
from tidelog.engine.local.storage.table import Table
from tidelog.plan.flat import Grouping
from tidelog.program.folds import fold_of
from tidelog.program.typed import Aggregate

__all__ = ["Changed", "Trials", "can_update", "updated"]

_MOST: Final = 20_000  # instances for which the updates of an aggregate are tried out


@dataclass(frozen=True, slots=True)
class Changed:
    """The instance rows that a commit touched: their groups, and how many instances they stood for and do."""

    keys: Codes
    numbers: Codes
    rows: Rows
    before: Codes
    after: Codes

    @property
    def differences(self) -> Codes:
        """How many instances each group has more."""
        found = np.zeros(len(self.keys), np.int64)
        np.add.at(found, self.numbers, self.after - self.before)
        return found


@dataclass(slots=True)
class Trials:
    """For how many instances updates by an aggregate were compared with what they should be."""

    tried: dict[str, int] = field(default_factory=dict)

    def chosen(self, functions: Sequence[str], counts: Codes) -> Rows:
        """The groups to try out, given their numbers of instances."""
        if not functions:
            return np.empty(0, np.int64)
        done = min(self.tried.get(function, 0) for function in functions)
        found = np.flatnonzero(done + np.cumsum(counts) <= _MOST)
        for function in functions:
            self.tried[function] = self.tried.get(function, 0) + int(counts[found].sum())
        return found


def can_update(grouping: Grouping, folds: Folds) -> bool:
    """Whether the change of a group's instances says how its results change."""
    return all(_can_update(a, folds) for a in grouping.aggregates)


def _can_update(aggregate: Aggregate, folds: Folds) -> bool:
    if aggregate.distinct:
        return False
    match aggregate.function:
        case "count" | "count_if":
            return True
        case "sum":
            return types.is_integer(aggregate.args[0].type)
        case _:
            return fold_of(aggregate.function) is not None and folds.can_update(aggregate.function)


def updated(
    grouping: Grouping, table: Table, changed: Changed, chosen: Rows, old: Codes, folds: Folds
) -> tuple[Codes, Mask]:
    """The new results of the chosen groups, given the old ones, and which of them are right."""
    places = np.full(len(changed.keys), -1, np.int64)
    places[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(places[changed.numbers] >= 0)
    codes = table.codes(changed.rows[rows])
    numbers = places[changed.numbers[rows]]
    weights = changed.after[rows] - changed.before[rows]
    made, sound = old.copy(), np.ones(len(chosen), np.bool_)
    for number, (aggregate, own) in enumerate(zip(grouping.aggregates, grouping.arguments, strict=True)):
        args = tuple(np.ascontiguousarray(codes[:, i]) for i in own)
        given = Instances(len(chosen), numbers, args, weights)
        inserted = given.chosen(weights > 0, weights)
        deleted = given.chosen(weights < 0, -weights)
        column = grouping.keys + number
        made[:, column], failed = _value(aggregate, old[:, column], inserted, deleted, folds)
        sound &= ~failed
    return made, sound


def _value(
    aggregate: Aggregate, old: Codes, inserted: Instances, deleted: Instances, folds: Folds
) -> tuple[Codes, Mask]:
    old = np.ascontiguousarray(old)
    if fold_of(aggregate.function) is not None:
        return folds.updated(aggregate.function, old, inserted, deleted)
    if aggregate.function == "count":
        inserted, deleted = inserted.as_ones(), deleted.as_ones()
    return folds.total(aggregate.result.type, old, inserted, deleted)
