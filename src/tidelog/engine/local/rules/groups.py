"""Groups: recomputes the results of touched groups from their current instances.

An instance row has a count of the instances that it stands for. Groups are found through an index over their
keys, so the cost of a commit depends on the groups that it touches, not on all groups.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.expressions.aggregates import aggregate
from tidelog.engine.local.kernels.layout import ALIVE, INSTANCE
from tidelog.engine.local.storage.lookup import lookup
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.errors import EngineError
from tidelog.plan.flat import Grouping
from tidelog.program.library.catalog import constant_argument
from tidelog.program.typed import Constant

__all__ = ["distinct", "regroup", "results"]


def regroup(
    grouping: Grouping,
    instances: Table,
    touched: Rows | None,
    table: Table,
    codec: Codec,
    check: Callable[[], None],
) -> tuple[Rows, Rows]:
    """The rows of the old and the new results of the touched groups, or of all groups."""
    keys = None if touched is None else distinct(instances.codes(touched)[:, : grouping.keys])[0]
    found = results(grouping, instances, _members(instances, keys), codec, check)
    return _members(table, keys), table.add(found)


def _members(table: Table, keys: Codes | None) -> Rows:
    """The live rows whose first columns equal one of these keys; all live rows if `keys` is None."""
    if keys is None or keys.shape[1] == 0:
        return table.alive() if keys is None or len(keys) else np.empty(0, np.int64)
    if len(keys) == 0:
        return np.empty(0, np.int64)
    _, rows = lookup(table, tuple(range(keys.shape[1])), keys)
    return np.asarray(rows[(table.tags[rows] & ALIVE) != 0])


def results(
    grouping: Grouping, table: Table, rows: Rows, codec: Codec, check: Callable[[], None] = lambda: None
) -> Codes:
    """The keys and aggregates of the groups that these rows form, one row per group."""
    codes = table.codes(rows)
    keys, numbers = distinct(codes[:, : grouping.keys])
    columns = [keys]
    weights = table.counts(rows) // INSTANCE
    for agg, places in zip(grouping.aggregates, grouping.arguments, strict=True):
        args = [np.ascontiguousarray(codes[:, i]) for i in places]
        types = [a.type for a in agg.args]
        constant = constant_argument(agg.function)
        if constant is not None and len(args) < len(types):
            extra = agg.args[constant]
            assert isinstance(extra, Constant)
            args.insert(constant, np.full(len(rows), codec.encode(extra.type, extra.value)))
        check()
        outcome = aggregate(
            agg.function,
            numbers,
            args,
            types,
            agg.result.type,
            weights,
            agg.distinct,
            len(keys),
            codec,
            check=check,
        )
        if outcome.failures is not None and outcome.failures.any():
            failure = outcome.failures[np.flatnonzero(outcome.failures)[0]]
            raise EngineError(f"{outcome.reason(int(failure))}, in the rule `{grouping.origin}`")
        columns.append(outcome.codes[:, None])
    return np.ascontiguousarray(np.concatenate(columns, axis=1))


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
