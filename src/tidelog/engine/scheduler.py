"""The scheduler runs a commit: stratum by stratum, script by script.

Strata run in the order of the new program. Each sees the old and new states of the strata below it. A stratum
that no change reaches is skipped. Otherwise it is updated if it was a stratum before. It is bootstrapped if
it was not, if the strategy requires it, or if the update turns out to cost more than a bootstrap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

from tidelog.engine.agenda import Agenda
from tidelog.engine.cost import UNFINISHED, Sizes, StratumCost
from tidelog.engine.interpreter import End, Interpreter, Tolerance, TooCostly
from tidelog.engine.limits import Limits, Watch, memory_errors
from tidelog.engine.protocol import Claimed, Engine
from tidelog.engine.rounds import Part, in_rounds
from tidelog.engine.statistics import Stats, StratumStats
from tidelog.errors import EngineError
from tidelog.maintain.script import Regroup
from tidelog.maintain.strategy import ELASTIC, RuleChanges, Strategy
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum
from tidelog.progress import Report

__all__ = ["SWITCH", "Scheduler"]

Scripts: TypeAlias = tuple[tuple[Part, ...], ...]

SWITCH: Final = 0.6  # an update's time budget, as a fraction of the time of a bootstrap
_ANEW: Final = 8  # an update by which a stratum grows so many times is taken for a bootstrap
_LATER: Final = 2.5  # times the budget is allowed once deletion is done, since about as much work is left


class Scheduler:
    """Runs commits on an engine and records the cost of strata.

    An update falls back to a bootstrap once it has found more than `patience` instances and has taken more
    than the fraction `switch` of the predicted time of a bootstrap, or `_LATER` times that once deletion is
    done. If `switch` is None, it never falls back.

    - `placed` returns where a stratum runs and why, for the statistics, if there are several places.
    - `begun` is called with the progress before each step.
    - `clock` returns the cost of all work so far, in seconds or, where other work may interfere, an estimate.
    """

    def __init__(
        self,
        engine: Engine,
        strategy: Strategy = ELASTIC,
        switch: float | None = SWITCH,
        patience: int = 10_000,
        placed: Callable[[Stratum], str] = lambda _: "",
        begun: Report | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.engine = engine
        self.strategy = strategy
        self.switch = switch
        self.patience = patience
        self.placed = placed
        self.begun = begun
        self.clock = clock
        self._walk: _Walk | None = None
        self.costs: dict[frozenset[str], StratumCost] = {}
        self._updates: dict[frozenset[str], tuple[tuple[FlatRule, ...], Scripts]] = {}
        if not self.is_switching:
            engine.follow_scripts()

    @property
    def is_switching(self) -> bool:
        """Whether the scheduler chooses the cheaper of update and bootstrap."""
        return self.strategy.switches and self.switch is not None

    def run(
        self,
        old: FlatProgram,
        new: FlatProgram,
        limits: Limits,
        check: Callable[[], None] = lambda: None,
        report: Report | None = None,
    ) -> Stats:
        """Bring all strata from the old to the new state.

        `check` is called at points where the engine can stop. `report` is called regularly with the progress.
        What either raises ends the run.
        """
        stats = Stats()
        watch = Watch(limits, check, report)
        removed: dict[str, list[FlatRule]] = {}
        for id_ in () if new is old else sorted(new.since(old).removed):
            removed.setdefault(old.rules[id_].head, []).append(old.rules[id_])
        walk = _Walk(
            engine=self.engine,
            limits=limits,
            watch=watch,
            strata=len(new.strata),
            clock=self.clock,
            patience=self.patience,
            begun=self.begun,
            run=self,
            old=old,
            removed=removed,
            stats=stats,
        )
        self._walk = walk
        self.engine.watch(walk.pause, walk.hear)
        agenda = Agenda(old, new, self.engine.changed_relations())
        with memory_errors(watch.blame):
            for number in agenda:
                walk.number = number + 1
                stratum = new.strata[number]
                walk.maintain(stratum)
                for name in stratum.relations:
                    if self.engine.has_changed(name) or self.engine.was_touched(name):
                        agenda.add_readers(name)
        stats.seconds = time.perf_counter() - watch.start
        return stats

    @property
    def instances(self) -> int:
        """How many instances the last commit found, or the current one so far."""
        return 0 if self._walk is None else self._walk.stats.instances + self._walk.current.instances

    def expect_time(self) -> None:
        """Raise EngineError if the last commit exceeded its time limit, however it ended."""
        if self._walk is not None:
            self._walk.watch.expect_time()

    def memory(self, stratum: Stratum) -> StratumCost:
        return self.costs.setdefault(stratum.relations, StratumCost())

    def update(self, stratum: Stratum, rules: RuleChanges) -> Scripts:
        """The scripts of an update; cached while no rule of the stratum changes."""
        known = self._updates.get(stratum.relations)
        if rules.added or rules.removed or known is None or known[0] != rules.kept:
            known = rules.kept, tuple(map(in_rounds, self.strategy.update(stratum, rules)))
        if not rules.added and not rules.removed:
            self._updates[stratum.relations] = known
        return known[1]


@dataclass(slots=True, kw_only=True)
class _Walk(Interpreter):
    """A commit at work: which strata are updated, which are bootstrapped."""

    run: Scheduler
    old: FlatProgram
    removed: dict[str, list[FlatRule]]
    stats: Stats

    # -- strata

    def maintain(self, stratum: Stratum) -> None:
        """Bring a stratum to its new state, if a change reaches it."""
        before = self.old.stratum_of(next(iter(stratum.relations)))
        rules = self._rules(stratum, before)
        same = self._is_kept_alike(before, stratum) or self._merge(stratum)
        changed = rules.added or rules.removed or not same
        if not (changed or self._is_reached(stratum) or self.engine.must_bootstrap(stratum)):
            return
        start = time.perf_counter()
        self.current, self.at_work = StratumStats(stratum.name, "", ""), stratum
        self.rows, self.found, self.deadline, self.adds = 0, 0, None, False
        self.begin(stratum.origins)
        self._bring_up_to_date(stratum, rules, same)
        self.engine.finish(stratum)
        self.current.placed = self.run.placed(stratum)
        self.current.relations, self.current.origins = stratum.relations, stratum.origins
        for name in stratum.relations:
            inserted, deleted = self.engine.changed_rows(name)
            self.current.inserted += inserted
            self.current.deleted += deleted
        self.current.seconds = time.perf_counter() - start
        self.stats.strata.append(self.current)
        self.current = StratumStats("", "", "")

    def _rules(self, stratum: Stratum, before: Stratum | None) -> RuleChanges:
        if stratum is before:
            return RuleChanges(stratum.rules, (), ())
        return RuleChanges(
            tuple(r for r in stratum.rules if r.id in self.old.rules),
            tuple(r for r in stratum.rules if r.id not in self.old.rules),
            tuple(r for name in sorted(stratum.relations) for r in self.removed.get(name, ())),
        )

    def _is_kept_alike(self, before: Stratum | None, stratum: Stratum) -> bool:
        """Whether the stratum has the state that an update needs."""
        if stratum is before:
            return True
        strategy = self.run.strategy
        if before is None or before.relations != stratum.relations:
            return False
        if before.best != stratum.best or before.totals != stratum.totals:
            return False
        return strategy.traces(before) == strategy.traces(stratum)

    def _merge(self, stratum: Stratum) -> bool:
        """Merge strata of the old program, with their states, into this stratum; false if not possible."""
        numbers = {self.old.index.order.number.get(name) for name in stratum.relations}
        parts = [self.old.strata[number] for number in sorted(n for n in numbers if n is not None)]
        whole = all(old.relations <= stratum.relations for old in parts)
        plain = not any(old.best or old.grouping or old.totals for old in (*parts, stratum))
        if not self.run.strategy.merges or len(parts) < 2 or not whole or not plain:
            return False
        if self.engine.must_bootstrap(stratum):
            return False
        memories = [self.run.memory(old) for old in parts]
        self.engine.merge([old.relations for old in parts])
        self.run.memory(stratum).bootstrap = sum(m.bootstrap for m in memories)
        return True

    def _is_reached(self, stratum: Stratum) -> bool:
        if stratum.grouping is not None:
            return self.engine.was_touched(stratum.grouping.instances)
        return any(map(self.engine.has_changed, chain(stratum.relations, stratum.below)))

    def _bring_up_to_date(self, stratum: Stratum, rules: RuleChanges, same: bool) -> None:
        if stratum.grouping is not None:
            self.engine.enter(stratum)
            self._explain("update" if same else "bootstrap", "only touched groups")
            self.begin((stratum.grouping.origin,))
            self.execute((Regroup(stratum.grouping, all=not same),))
            return
        claimed = None if self.engine.claims is None else self.engine.claims.claim(stratum)
        if claimed is not None:
            self._take_claimed(claimed)
            return
        sizes = self._sizes(stratum)
        why = self._why_bootstrap(stratum, same and not self.engine.must_bootstrap(stratum), sizes)
        if why is None and not self._update(stratum, rules, sizes):
            why = "the update turned out to cost more"
        if why is not None:
            self._bootstrap(stratum, why)
        if same:
            self.run.memory(stratum).follow(sizes, self.rows)

    def _take_claimed(self, claimed: Claimed) -> None:
        self._explain(claimed.strategy, claimed.why)
        self.current.rounds, self.current.instances = claimed.rounds, claimed.instances
        self.current.jobs, self.current.steps = claimed.jobs, claimed.steps
        self.current.written, self.current.hot = claimed.written, claimed.hot
        self.current.take(claimed.rules)
        self.rows = claimed.rows
        self.check_rows()

    def _why_bootstrap(self, stratum: Stratum, same: bool, sizes: Sizes) -> str | None:
        if not same:
            return "it is new or its set of relations changed"
        if not sizes.below and not sizes.tuples:
            return "it and all relations that it reads were empty"
        if not self.run.strategy.updates:
            return f"the strategy is {self.run.strategy.name}"
        memory = self.run.memory(stratum)
        if not memory.bootstrap or not self.run.is_switching:
            return None
        why = memory.discourages(sizes)
        if why is not None:
            memory.doubt()
        return why

    def _sizes(self, stratum: Stratum) -> Sizes:
        """The sizes of a stratum and its inputs, and how many rows changed or were asserted or retracted."""
        engine, below, inserted, deleted = self.engine, 0, 0, 0
        for name in stratum.below:
            more, fewer = engine.changed_rows(name)
            below, inserted, deleted = below + engine.size(name), inserted + more, deleted + fewer
        tuples = 0
        for name in stratum.relations:
            more, fewer = engine.asserted_changes(name)
            tuples, inserted, deleted = tuples + engine.size(name), inserted + more, deleted + fewer
        return Sizes(below, tuples, inserted, deleted)

    def _explain(self, strategy: str, why: str) -> None:
        self.current.strategy, self.current.why = strategy, why

    def _bootstrap(self, stratum: Stratum, why: str) -> None:
        self._explain("bootstrap", why)
        self.engine.enter(stratum)
        self.rank, self.rows, self.asserted, self.deadline, self.current.instances = 0, 0, 0, None, 0
        begun = self.run.clock()
        if self.execute(in_rounds(self.run.strategy.bootstrap(stratum))) is End.CLAIM:
            self.begin(stratum.origins)
            claimed = None if self.engine.claims is None else self.engine.claims.claim(stratum, start=True)
            if claimed is None:
                raise EngineError(f"internal error: {stratum.name} was claimed but not evaluated")
            self._take_claimed(
                claimed._replace(why="the relation turned out to be dense", instances=self.current.instances)
            )
            return
        self.engine.raise_highest(stratum.relations, self.rank)
        self._record(stratum, self.run.clock() - begun)

    def _record(self, stratum: Stratum, seconds: float) -> None:
        """Record the cost of a bootstrap, or of an update that was most of one."""
        below = sum(map(self.engine.size, stratum.below))
        moved = sum(more - fewer for more, fewer in map(self.engine.changed_rows, stratum.below))
        depth = 1 + self.engine.mean_rank(stratum.relations) if stratum.recursive else 1.0
        self.run.memory(stratum).made(seconds, below + moved, self.asserted, self.rows, depth)

    def _update(self, stratum: Stratum, rules: RuleChanges, sizes: Sizes) -> bool:
        """Update a stratum; false if the update exceeded its budget."""
        memory = self.run.memory(stratum)
        self.patience = self.run.patience
        changes = sizes.insertions + sizes.deletions
        self._explain(self.run.strategy.label_of(stratum), f"{changes} changes below it")
        highest = self.engine.enter(stratum)
        self.rows, self.asserted = sizes.tuples, 0
        begun, prepared = self.run.clock(), self.engine.prepared()
        patience = self._patience(memory, sizes)
        try:
            for more, script in enumerate(self.run.update(stratum, rules)):
                self.rank = highest + more
                self.deadline = None if patience is None else begun + patience * (_LATER if more else 1)
                self.tolerance = None if more else self._tolerance(stratum, memory, sizes, begun)
                self.execute(script)
                if not more:
                    self._measure(stratum, memory, sizes)
        except TooCostly:  # the full cost is unknown
            self._measure(stratum, memory, sizes)
            memory.learn(UNFINISHED * (self.run.clock() - begun), sizes)
            return False
        seconds = self.run.clock() - begun
        self.engine.raise_highest(stratum.relations, self.rank)
        if self.rows >= _ANEW * sizes.tuples:
            self._record(stratum, seconds)
        elif not rules.added and not rules.removed and prepared == self.engine.prepared():
            memory.learn(seconds, sizes)
        return True

    def _measure(self, stratum: Stratum, memory: StratumCost, sizes: Sizes) -> None:
        """Learn how many tuples the deletions took with them, if that was found out."""
        if self.tolerance is not None:
            memory.measure(sizes, sizes.tuples - self.rows)

    def _tolerance(
        self, stratum: Stratum, memory: StratumCost, sizes: Sizes, begun: float
    ) -> Tolerance | None:
        """How much of a stratum may lose its support before its update is given up; None if that says little.

        The best values of keys are not looked for again, and totals are not deleted.
        """
        if self.deadline is None or stratum.best or stratum.totals or not (sizes.tuples and sizes.deletions):
            return None
        return Tolerance(begun, sizes.tuples, memory.predict_now(sizes), memory.predict_bootstrap(sizes))

    def _patience(self, memory: StratumCost, sizes: Sizes) -> float | None:
        """The time budget of an update in seconds; None if it has none.

        One that only inserts finds a part of what a bootstrap would find, so giving it up saves nothing.
        """
        if (
            not sizes.deletions
            or not memory.bootstrap
            or self.run.switch is None
            or not self.run.is_switching
        ):
            return None
        return self.run.switch * memory.predict_bootstrap(sizes)
