"""Between tables and matrices: when a relation should be kept as bits, and what its matrix is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.matrix import BitRelation, Pattern, Source, pays
from tidelog.engine.local.kernels.layout import ALIVE, OLD
from tidelog.engine.local.storage.pending import Change
from tidelog.engine.local.storage.table import Table
from tidelog.engine.protocol import Check
from tidelog.plan.flat import FlatRule

__all__ = ["WHY", "asserted_only", "domain_size", "is_cyclic", "run_whole", "with_rows"]

WHY: Final = "the relation is dense and kept as a matrix"


def domain_size(fits: Pattern, tables: Mapping[str, Table]) -> int:
    """How many values a relation can have, judging by what its recursion reads and what is there so far."""
    values = Table(1)
    for name in {*fits.below(), fits.relation}:
        values.add(tables[name].data[: tables[name].rows].reshape(-1, 1))
    return values.rows


def is_cyclic(fits: Pattern, tables: Mapping[str, Table]) -> bool:
    """Whether the steps of a recursion alone make it dense: they have a component with many of the values."""
    steps = [(tables[o.relation], o.turned) for o in (fits.bases if fits.closed else fits.steps)]
    rows = sum(table.rows for table, _ in steps)
    if not pays(rows * rows, rows):  # even if all were in one
        return False
    kept = BitRelation()
    largest = kept.largest_component([(table.data[table.alive()], turned) for table, turned in steps])
    return pays(largest * largest, kept.names.rows)


def run_whole(
    kept: BitRelation,
    fits: Pattern,
    change: Change,
    below: Mapping[str, tuple[Table, Change | None]],
    heads: Callable[[FlatRule], Codes],
    check: Check,
) -> int:
    """Bring a relation that is kept as bits to its new state; the number of rounds.

    `change` is that of what is asserted of it, `below` are the tables of all other relations with theirs;
    `heads` are what a rule outside the recursion gives.
    """
    table = change.working.table
    given = Source(
        np.concatenate([table.data[np.flatnonzero(table.given[: table.rows])], *map(heads, fits.others)]),
        table.data[change.given_inserted],
        table.data[change.given_deleted],
    )
    read = {name for rule in fits.others for name in rule.reads}
    anew = any(other is not None and other.moves for name in read for other in [below[name][1]])
    sources = {name: _source(*below[name]) for name in fits.below()}
    return kept.update(fits, given, sources, anew=anew, check=check)


def _source(table: Table, change: Change | None) -> Source:
    now = table.data[table.alive()]
    if change is None:
        return Source(now, now[:0], now[:0])
    return Source(now, table.data[change.inserted], table.data[change.deleted])


def asserted_only(table: Table) -> Table:
    """A table with what is asserted and nothing else, for a relation that is kept as bits."""
    smaller = Table(table.arity)
    rows = smaller.add(table.data[np.flatnonzero(table.given[: table.rows])])  # may make new arrays
    smaller.given[rows] = 1
    return smaller


def with_rows(table: Table, present: Codes) -> Table:
    """A table of these rows, as they were before the commit, and of what is asserted in another."""
    larger = Table(table.arity)
    rows = larger.add(present)
    larger.tags[rows] = ALIVE | OLD
    larger.live = len(rows)
    asserted = larger.add(table.data[np.flatnonzero(table.given[: table.rows])])
    larger.given[asserted] = 1
    larger.base = larger.rows
    return larger
