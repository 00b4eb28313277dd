"""Groups: brings the results of touched groups up to date, or computes them from their instances.

An instance row has a count of the instances that it stands for, and a result row the number of instances of
its group. Groups are found through an index over their keys, so the cost of a commit depends on the groups
that it touches, not on all groups. Of groups much larger than their change, sums and the like are brought up
to date by the change alone (see `increments`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.expressions.aggregates import aggregate
from tidelog.engine.local.expressions.folds import Folds, Instances
from tidelog.engine.local.expressions.vectors import Outcome
from tidelog.engine.local.kernels.layout import ALIVE, INSTANCE, OLD, UNDO_COUNT, UNDO_TAG
from tidelog.engine.local.rules.increments import Changed, Trials, can_update, updated
from tidelog.engine.local.storage.lookup import lookup
from tidelog.engine.local.storage.pending import Change
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.errors import EngineError
from tidelog.plan.flat import Grouping
from tidelog.program.folds import fold_of
from tidelog.program.library.catalog import constant_argument
from tidelog.program.typed import Aggregate, Constant

__all__ = ["Groups", "distinct", "results"]

FEW: Final = 32  # smaller groups are recomputed
SHARE: Final = 4  # and so are those of which more than 1/4 of the rows changed
_NONE: Final[Rows] = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a grouping in one commit.

    `source` has the changes of the instances, `table` the results.
    """

    grouping: Grouping
    source: Change
    table: Table
    folds: Folds
    trials: Trials
    check: Callable[[], None]

    def regroup(self, *, everything: bool) -> tuple[Rows, Rows, Codes]:
        """The rows of the old and the new results, and the numbers of instances of the new ones."""
        instances = self.source.working.table
        if everything or self.source.whole is not None:
            codes, counts = self._computed(instances.alive())
            return self.table.alive(), self.table.add(codes), counts
        touched = self.source.touched()
        keys, numbers = distinct(instances.codes(touched)[:, : self.grouping.keys])
        which, old = _lookup(self.table, keys)
        is_alive = (self.table.tags[old] & ALIVE) != 0
        which, old = which[is_alive], old[is_alive]
        before = np.zeros(len(keys), np.int64)
        before[which] = self.table.counts(old) // INSTANCE
        if before.max(initial=0) < FEW or not can_update(self.grouping, self.folds):
            codes, counts = self._computed(_members(instances, keys))
            return old, self.table.add(codes), counts
        rows = np.full(len(keys), -1, np.int64)
        rows[which] = old
        after = _counts(instances, touched)
        known, codes, counts = self._updated(
            Changed(keys, numbers, touched, _counts_before(self.source), after), before, rows
        )
        others, more = self._computed(_members(instances, keys[~known]))
        new = self.table.add(np.concatenate([codes, others]))
        return old, new, np.concatenate([counts, more])

    def _computed(self, rows: Rows) -> tuple[Codes, Codes]:
        return _results(self.grouping, self.source.working.table, rows, self.folds, self.check)

    def _updated(
        self, changed: Changed, before: Codes, old: Rows
    ) -> tuple[npt.NDArray[np.bool_], Codes, Codes]:
        """The groups that need not be computed, their results, and their numbers of instances.

        `before` are the numbers of instances before, and `old` the rows of the old results, or -1.
        """
        after = before + changed.differences
        sizes = np.bincount(changed.numbers, minlength=len(old))
        chosen = np.flatnonzero((old >= 0) & (after > 0) & (before >= FEW) & (sizes * SHARE <= before))
        known = np.zeros(len(old), np.bool_)
        if not len(chosen):
            return known, np.empty((0, self.table.arity), np.int64), _NONE
        instances, results = self.source.working.table, self.table.codes(old[chosen])
        codes, sound = updated(self.grouping, instances, changed, chosen, results, self.folds)
        chosen, codes = chosen[sound], codes[sound]
        self._try(codes, changed.keys[chosen], after[chosen])
        known[chosen] = True
        return known, codes, after[chosen]

    def _try(self, codes: Codes, keys: Codes, counts: Codes) -> None:
        """Compute some of the updated groups, if an aggregate of the program may be wrong about itself."""
        doubtful = [
            a.function
            for a in self.grouping.aggregates
            if fold_of(a.function) is not None and not self.folds.is_certain(a.function)
        ]
        places = self.trials.chosen(doubtful, counts)
        if not len(places):
            return
        found, _ = self._computed(_members(self.source.working.table, keys[places]))
        if sorted(map(tuple, found.tolist())) != sorted(map(tuple, codes[places].tolist())):
            names = " and ".join(f"`{fold_of(function)}`" for function in doubtful)
            raise EngineError(
                f"{names} gives another result for a whole group than `insert` and `delete` for its change: "
                "`delete` must undo `insert`, and the order of instances must not matter, "
                f"in the rule `{self.grouping.origin}`"
            )


def _counts(table: Table, rows: Rows) -> Codes:
    """How many instances rows stand for."""
    return np.where(table.tags[rows] & ALIVE != 0, table.counts(rows) // INSTANCE, 0)


def _counts_before(source: Change) -> Codes:
    """How many instances the touched rows stood for before the commit."""
    log, table = source.working.undo_log, source.working.table
    counts = np.where(log[:, UNDO_TAG] & OLD != 0, log[:, UNDO_COUNT] // INSTANCE, 0)
    return np.concatenate([counts, np.zeros(table.rows - table.base, np.int64)])


def _lookup(table: Table, keys: Codes) -> tuple[Rows, Rows]:
    """The numbers of keys and the rows, also dead ones, whose first columns are these keys."""
    if len(keys) == 0:
        return _NONE, _NONE
    if keys.shape[1] == 0:
        return np.zeros(table.rows, np.int64), np.arange(table.rows)
    return lookup(table, tuple(range(keys.shape[1])), keys)


def _members(table: Table, keys: Codes) -> Rows:
    """The live rows whose first columns equal one of these keys."""
    rows = _lookup(table, keys)[1]
    return np.asarray(rows[(table.tags[rows] & ALIVE) != 0])


def results(
    grouping: Grouping, table: Table, rows: Rows, folds: Folds, check: Callable[[], None] = lambda: None
) -> Codes:
    """The keys and aggregates of the groups that these rows form, one row per group."""
    return _results(grouping, table, rows, folds, check)[0]


def _results(
    grouping: Grouping, table: Table, rows: Rows, folds: Folds, check: Callable[[], None]
) -> tuple[Codes, Codes]:
    """The keys and aggregates of groups, and how many instances they have."""
    codes = table.codes(rows)
    keys, numbers = distinct(codes[:, : grouping.keys])
    columns = [keys]
    weights = table.counts(rows) // INSTANCE
    for agg, places in zip(grouping.aggregates, grouping.arguments, strict=True):
        check()
        args = [np.ascontiguousarray(codes[:, i]) for i in places]
        outcome = _aggregated(agg, args, numbers, weights, len(keys), folds, check)
        if outcome.failures is not None and outcome.failures.any():
            failure = outcome.failures[np.flatnonzero(outcome.failures)[0]]
            raise EngineError(f"{outcome.reason(int(failure))}, in the rule `{grouping.origin}`")
        columns.append(outcome.codes[:, None])
    counts = np.zeros(len(keys), np.int64)
    np.add.at(counts, numbers, weights)
    return np.ascontiguousarray(np.concatenate(columns, axis=1)), counts


def _aggregated(
    agg: Aggregate,
    args: Sequence[Codes],
    numbers: Codes,
    weights: Codes,
    count: int,
    folds: Folds,
    check: Callable[[], None],
) -> Outcome:
    """One aggregate of all groups. `args` are the columns of its arguments but the constant one."""
    if fold_of(agg.function) is not None:
        given = Instances(count, numbers, tuple(args), weights)
        return folds.states(agg.function, given.once() if agg.distinct else given)
    columns, codec = list(args), folds.codec
    types = [a.type for a in agg.args]
    constant = constant_argument(agg.function)
    if constant is not None and len(columns) < len(types):
        extra = agg.args[constant]
        assert isinstance(extra, Constant)
        columns.insert(constant, np.full(len(numbers), codec.encode(extra.type, extra.value)))
    return aggregate(
        agg.function,
        numbers,
        columns,
        types,
        agg.result.type,
        weights,
        agg.distinct,
        count,
        codec,
        check=check,
    )


def distinct(keys: Codes) -> tuple[Codes, npt.NDArray[np.int64]]:
    """The distinct rows, and for each row the number of its distinct row."""
    if keys.shape[1] == 0:
        return keys[: min(len(keys), 1)], np.zeros(len(keys), np.int64)
    if keys.shape[1] == 1:
        values, numbers = np.unique(keys[:, 0], return_inverse=True)
        return values[:, None], numbers
    numbering = Table(keys.shape[1])
    numbers = numbering.add(np.ascontiguousarray(keys))
    return numbering.codes(), numbers
