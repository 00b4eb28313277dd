"""Recursions with totals: in the order of their groups, or, in the threshold form, by rounds that only add.

Both begin with the instances that lower strata and rules take away and add. A key whose instances changed is
*touched*. Its row is totalled again and, if it differs, moved: what follows from the old row is taken away,
and what follows from the new one is added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.bits import Difference
from tidelog.engine.local.native.calls import end_round
from tidelog.engine.local.rules.bytecode import MODES
from tidelog.engine.local.rules.groups import distinct
from tidelog.engine.local.storage.snapshot import RowList
from tidelog.engine.local.totals.kept import KeptRows, Negative
from tidelog.engine.local.totals.order import Cone
from tidelog.errors import EngineError
from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.script import Accumulate, Assertions, Clear, Derive, EndRound, Repeat, Script, View
from tidelog.maintain.totals import bootstrap_totals
from tidelog.plan.flat import Dependencies, Stratum, Totals
from tidelog.program.typed import Match

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["LocalTotals"]

Count = Callable[[int], None]


class LocalTotals:
    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine

    def accumulate(self, stratum: Stratum, step: Accumulate, count: Count) -> int:
        """Bring a stratum to its new state; returns the number of instances found."""
        assert stratum.totals is not None
        self._engine.runner.passed_over = False
        work = _Accumulation(self._engine, stratum, stratum.totals, step, count)
        work.run()
        if self._engine.runner.passed_over:
            for rule in stratum.rules:
                own = [isinstance(x, Match) and x.relation in stratum.relations for x in rule.body]
                self._engine.examine(rule, [View.FULL if is_own else View.NEW for is_own in own])
        return work.instances


class _Accumulation:
    """The work of one step."""

    def __init__(
        self, engine: LocalEngine, stratum: Stratum, totals: Totals, step: Accumulate, count: Count
    ) -> None:
        self._engine = engine
        self._stratum = stratum
        self._totals = totals
        self._step = step
        self._count = count
        self._begin(grows=totals.is_threshold)
        self.instances = 0

    def _begin(self, *, grows: bool) -> None:
        kept = (KeptRows(self._engine, of, grows=grows) for of in self._totals.kept)
        self._kept = {of.kept.relation: of for of in kept}
        self._by_instances = {of.kept.instances: of for of in self._kept.values()}

    def run(self) -> None:
        if not self._totals.is_threshold:
            self._in_order("")
            return
        if not self._step.all and any(kept.has_negative() for kept in self._kept.values()):
            self._restart(grows=True)  # this commit may have removed what is negative
        try:
            self._grow()
        except Negative as found:
            self._restart(grows=False)
            self._on_demand(f"the contribution {found.contribution} is negative, and ")

    def _restart(self, *, grows: bool) -> None:
        """Begin again with a bootstrap."""
        for name in self._stratum.relations:
            self._engine.change(name).empty()
        self._begin(grows=grows)
        _, step = bootstrap_totals(self._stratum)
        assert isinstance(step, Accumulate)
        self._step = step

    # -- instances

    def _find(self, steps: Iterable[Derive], sign: int) -> None:
        for step in steps:
            if not self._engine.is_idle(step):
                heads = self._engine.collect(step.rule, step.driver, self._engine.driver(step), step.views)
                self._count_heads(step, heads, sign)

    def _follow(self, steps: Iterable[Derive], deltas: Mapping[str, Codes], sign: int) -> None:
        """Find the instances that use rows of the stratum."""
        for step in steps:
            assert step.driver is not None
            literal = step.rule.body[step.driver]
            assert isinstance(literal, Match)
            if len(deltas[literal.relation]):
                rows = deltas[literal.relation]
                self._count_heads(step, self._engine.collect(step.rule, step.driver, rows, step.views), sign)

    def _count_heads(self, step: Derive, heads: Codes, sign: int) -> None:
        self.instances += heads.shape[1]
        self._by_instances[step.rule.head].count(heads, sign)

    def _touched(self) -> dict[str, Codes]:
        return {name: kept.take_touched() for name, kept in self._kept.items()}

    def _move(self, steps: Iterable[Derive], *, only_delete: bool = False) -> None:
        """Move the planned rows, with what follows from them."""
        deleted = {name: kept.begin_deletion() for name, kept in self._kept.items()}
        self._follow(steps, deleted, -1)
        for kept in self._kept.values():
            kept.end_deletion()
        if not only_delete:
            inserted = {name: kept.begin_insertion() for name, kept in self._kept.items()}
            self._follow(steps, inserted, 1)
            for kept in self._kept.values():
                kept.end_insertion()
        grown = sum(kept.grown for kept in self._kept.values())
        for kept in self._kept.values():
            kept.grown = 0
        self._count(grown)

    # -- in order

    def _in_order(self, reason: str) -> None:
        """Total groups level by level. `reason` is why they need an order."""
        self._find(self._step.leaving, -1)
        self._find(self._step.entering, 1)
        if not self._step.all:
            self._drop_groups()
        touched = self._touched()
        cone = self._cone(touched, reason)
        waiting: defaultdict[int, dict[str, list[Codes]]] = defaultdict(dict)
        self._file(touched, cone, waiting)
        while waiting:
            keys = waiting.pop(min(waiting))
            for name, parts in keys.items():
                self._kept[name].plan(_together(parts))
            self._move(self._step.following)
            self._file(self._touched(), cone, waiting)

    def _drop_groups(self) -> None:
        """Delete the rows of groups that exist no longer.

        Instances of such rows need not respect the order of the groups that exist now.
        """
        gone = 0
        for kept in self._kept.values():
            _, deleted = self._engine.changes(kept.kept.groups)
            rows = kept.rows_in(deleted.codes() if isinstance(deleted, Difference | RowList) else deleted)
            kept.plan_moves(rows, rows[:0])
            gone += len(rows)
        if gone:
            self._move(self._step.following, only_delete=True)

    def _file(
        self, touched: Mapping[str, Codes], cone: Cone, waiting: defaultdict[int, dict[str, list[Codes]]]
    ) -> None:
        """Let touched keys wait for their level."""
        for name, keys in touched.items():
            levels = cone.levels(name, self._kept[name].groups(keys))
            for level in np.unique(levels).tolist():
                waiting[level].setdefault(name, []).append(keys[levels == level])

    def _cone(self, touched: Mapping[str, Codes], reason: str) -> Cone:
        arities = {name: len(kept.kept.group) for name, kept in self._kept.items()}
        cone = Cone(self._totals.dependencies, self._engine.tables, arities)
        if self._step.all:
            cone.everything()
        else:
            cone.reach(self._reached(touched))
        cycle = cone.sort()
        if cycle is not None:
            shown = [self._kept[name].shown(self._kept[name].kept.group, codes) for name, codes in cycle]
            first = shown.index(min(shown))
            shown = [*shown[first:], *shown[:first], shown[first]]
            raise EngineError(
                f"{reason}a total depends on itself: {' depends on '.join(shown)}; remove the cycle from the "
                "facts, or use totals only in comparisons such as `total > 50`"
            )
        return cone

    def _reached(self, touched: Mapping[str, Codes]) -> dict[str, Codes]:
        """The groups of touched keys, and those that depend on other groups than before."""
        found = {name: [self._kept[name].groups(keys)] for name, keys in touched.items()}
        for of in self._totals.dependencies:
            found[of.above].append(self._new_dependencies(of)[:, : of.size])
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def _new_dependencies(self, of: Dependencies) -> Codes:
        change, table = self._engine.pending.get(of.name), self._engine.tables[of.name]
        return table.codes(np.empty(0, np.int64) if change is None else change.inserted)

    # -- the threshold form

    def _grow(self) -> None:
        """Delete all that rests on lost instances, then add rows until nothing changes."""
        step = self._step
        self._find(step.leaving, -1)
        lost = self._retreat()
        self._find(step.entering, 1)
        touched = {name: [keys] for name, keys in self._touched().items()}
        for name, parts in lost.items():
            touched[name] += parts
        while any(len(keys) for parts in touched.values() for keys in parts):
            for name, parts in touched.items():
                self._kept[name].plan(_together(parts))
            self._move(step.following)
            touched = {name: [keys] for name, keys in self._touched().items()}

    def _retreat(self) -> dict[str, list[Codes]]:
        """Delete the rows of touched keys, and all that follows from them; returns the keys."""
        lost: defaultdict[str, list[Codes]] = defaultdict(list)
        while True:
            gone = 0
            for name, keys in self._touched().items():
                rows = self._kept[name].rows_of(keys)
                self._kept[name].plan_moves(rows, rows[:0])
                lost[name].append(keys)
                gone += len(rows)
            if not gone:
                return lost
            self._move(self._step.retreating, only_delete=True)

    # -- negative contributions

    def _on_demand(self, reason: str) -> None:
        """Bootstrap in the order of groups, which is found only now."""
        try:
            for stratum in self._totals.on_demand:
                self._engine.runner.inside = stratum.relations
                self._evaluate(bootstrap(stratum))
            self._engine.runner.inside = self._stratum.relations
            self._in_order(reason)
        finally:
            for name in self._totals.temporary:
                self._engine.change(name).empty()
                self._engine.change(name).settle()

    def _evaluate(self, script: Script) -> None:
        """Run the script of a bootstrap without totals."""
        engine = self._engine
        for step in script:
            match step:
                case Clear(relations):
                    for name in relations:
                        engine.change(name).empty()
                case Derive():
                    self.instances += engine.derive(step, 0)
                case EndRound(relations, mode):
                    ends = [end_round(engine.change(n).working.table.at, MODES[mode]) for n in relations]
                    self._count(sum(ends))
                case Repeat(relations, steps):
                    while engine.delta(relations):
                        self._evaluate(steps)
                case Assertions():
                    continue  # asserted facts are instances of rules
                case _:
                    raise EngineError(f"internal error: a bootstrap has a step {type(step).__name__}")


def _together(parts: list[Codes]) -> Codes:
    """The distinct keys of several parts, each of which has distinct keys."""
    return parts[0] if len(parts) == 1 else distinct(np.ascontiguousarray(np.concatenate(parts)))[0]
