"""Between tables and matrices: when a relation should be kept as bits, and what its matrix is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tidelog.engine.local.bits import BitRelation, Pattern
from tidelog.engine.local.codec import Codes
from tidelog.engine.local.rows import ALIVE, OLD
from tidelog.engine.local.table import Rows, Table
from tidelog.plan.flat import FlatRule
from tidelog.program.typed import Absent, Match

__all__ = ["any_left", "asserted_only", "domain_size", "run_whole", "taken_as_given", "with_rows"]


def domain_size(fits: Pattern, tables: Mapping[str, Table]) -> int:
    """How many values a relation can have, judging by what its recursion reads."""
    sources = [tables[o.relation] for o in fits.below() if o.relation]
    values = [np.unique(source.data[: source.rows]) for source in sources]
    return len(np.unique(np.concatenate([np.empty(0, np.int64), *values])))


def any_left(fits: Pattern, left: set[str], changed: set[str]) -> bool:
    """Whether something that the relation may rest on is gone.

    What a chain reads is gone if it left; of what other rules read, any change may take something away.
    """
    read = {x.relation for rule in fits.others for x in rule.body if isinstance(x, Match | Absent)}
    return bool(read & changed) or any(o.relation in left for o in fits.below())


def taken_as_given(table: Table, fits: Pattern, heads: Callable[[FlatRule], Codes]) -> Codes:
    """What is asserted of a relation, and what rules outside its recursion give."""
    asserted = table.data[np.flatnonzero(table.given[: table.rows])]
    return np.concatenate([asserted, *(heads(rule) for rule in fits.others)])


def run_whole(
    kept: BitRelation,
    fits: Pattern,
    given: Codes,
    tables: Mapping[str, Table],
    entering: Mapping[str, Rows],
    something_left: bool,
) -> int:
    """Bring a matrix to its new state, from what came below or from nothing; the number of rounds."""
    old: dict[str, Codes] = {}
    came: dict[str, Codes] = {}
    for name in {o.relation for o in fits.below() if o.relation}:
        source = tables[name]
        stays = source.tags[: source.rows] & (ALIVE | OLD) == ALIVE | OLD
        old[name] = source.data[: source.rows][stays]
        came[name] = source.data[entering[name]] if name in entering else source.data[:0]
    return kept.update(fits, given, old, came, kept.pattern == fits and not something_left)


def asserted_only(table: Table) -> Table:
    """A table with what is asserted and nothing else, for a relation whose rows are in a matrix."""
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
