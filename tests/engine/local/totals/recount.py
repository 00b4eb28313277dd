"""Counts the instances of recursions with totals again, and compares them with the engine's state."""

from __future__ import annotations

import numpy as np

from conformance.reasoners import LocalReasoner
from tidelog.engine.local.kernels.layout import ALIVE, CUR, INSTANCE
from tidelog.maintain.script import View

__all__ = ["check_totals"]


def check_totals(reasoner: LocalReasoner) -> None:
    """Every instance is counted once, asserted rows are those of the relation, and nothing is left over."""
    engine = reasoner.engine
    for stratum in reasoner.flat.strata:
        if stratum.totals is None:
            continue
        for kept in stratum.totals.kept:
            counted: dict[tuple[int, ...], int] = {}
            for rule in (r for r in stratum.rules if r.head == kept.instances):
                for head in engine.collect(rule, None, None, [View.NEW] * len(rule.body)).T.tolist():
                    counted[tuple(head)] = counted.get(tuple(head), 0) + 1
            table = engine.tables[kept.instances]
            rows = table.alive()
            found = zip(table.codes(rows).tolist(), (table.counts(rows) // INSTANCE).tolist(), strict=True)
            assert {tuple(codes): number for codes, number in found} == counted
            own = engine.tables[kept.relation]
            assert not (own.tags[: own.rows] & CUR).any()
            copy = engine.tables[f"{kept.relation} [asserted]"]
            given = {tuple(row) for row in own.codes(np.flatnonzero(own.given[: own.rows])).tolist()}
            assert given == {tuple(row) for row in copy.codes(copy.alive()).tolist()}
        for name in stratum.totals.temporary:
            assert not (engine.tables[name].tags[: engine.tables[name].rows] & ALIVE).any()
