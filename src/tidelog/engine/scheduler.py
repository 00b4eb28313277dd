"""The one walk: a commit, unit by unit, script by script.

Units run in the order of the new program, each seeing the old and the new state of those below. A unit that
nothing reaches is passed over. Otherwise it is updated if it was a unit before, and bootstrapped if it was
not, if the strategy says so, or if the update turns out to cost more than a bootstrap would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from tidelog.engine.cost import UNFINISHED, Sizes, StratumCost
from tidelog.engine.limits import Limits, Watch, memory_errors, raise_limit
from tidelog.engine.protocol import Changed, Engine, TurnDense
from tidelog.engine.statistics import Stats, StratumStats
from tidelog.errors import EngineError
from tidelog.maintain.script import (
    Aim,
    Arrive,
    Assertions,
    Clear,
    Depart,
    Derive,
    Doubt,
    EndRound,
    Examine,
    Improve,
    Iterate,
    Mode,
    Regroup,
    Repeat,
    Rest,
    Script,
    Update,
)
from tidelog.maintain.strategy import is_traced, make, name_of, update
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum
from tidelog.progress import Progress, Report

__all__ = ["Limits", "Run", "Stats", "StratumStats"]


_LATER = 1.6  # times as long an update may have taken when deletion is done: little is left by then
_ROUNDS = 1000  # that an engine may run in one go
# strategies that follow the cheaper way, also an engine's own; the others are carried out as they are
_SWITCHING = ("elastic", "recompute")


class _TooMuch(Exception):
    """An update has cost what a bootstrap would."""


class Run:
    """Carries commits out on an engine; remembers what units cost.

    An update is given up for a bootstrap once it has found more than `patience` instances and taken more than
    the fraction `switch` of the time that a bootstrap would take, or somewhat more if deletion is done; never
    if there is no such fraction. `placed` tells where a unit runs and why, for the statistics, if there are
    several places. `begun` is told of each step before it begins, with its rule, if it is about one. `clock`
    says what all work so far has cost: its seconds, or where others may hold it up, those it would take.
    """

    def __init__(
        self,
        engine: Engine,
        strategy: str = "elastic",
        switch: float | None = 0.6,
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
        self._updates: dict[frozenset[str], tuple[tuple[FlatRule, ...], Update]] = {}
        if not self.is_switching:
            engine.refrain()

    @property
    def is_switching(self) -> bool:
        """Whether whatever is cheaper is done."""
        return self.strategy in _SWITCHING and self.switch is not None

    def commit(
        self,
        old: FlatProgram,
        new: FlatProgram,
        limits: Limits,
        check: Callable[[], None] = lambda: None,
        report: Report | None = None,
    ) -> Stats:
        """Bring all units from the old to the new state; the caller commits or rolls back.

        `check` is called between steps, where the engine can be left: what it raises ends the run. So does
        what `report` raises, which is told now and then how far the run is.
        """
        stats = Stats()
        watch = Watch(limits, check, report)
        before = {stratum.relations: stratum for stratum in old.strata}
        gone: dict[str, list[FlatRule]] = {}
        for rule in old.rules.values():
            if rule.id not in new.rules:
                gone.setdefault(rule.head, []).append(rule)
        walk = _Walk(self, old, before, gone, limits, watch, stats, len(new.strata))
        self._walk = walk
        self.engine.watch(walk.pause, walk.hear)
        with memory_errors(watch.blame):
            for stratum in new.strata:
                walk.number += 1
                walk.stratum(stratum)
        stats.seconds = time.perf_counter() - watch.start
        return stats

    @property
    def instances(self) -> int:
        """How many instances the last commit has found, so far if it is at work."""
        return 0 if self._walk is None else self._walk.stats.instances + self._walk.current.instances

    def expect_time(self) -> None:
        """EngineError if the last commit has taken longer than it may, whatever else it ended with."""
        if self._walk is not None:
            self._walk.watch.expect_time()

    def memory(self, stratum: Stratum) -> StratumCost:
        return self.costs.setdefault(stratum.relations, StratumCost())

    def update(self, stratum: Stratum, rules: Changed) -> Update:
        """The scripts of an update: delete, re-derive, insert; kept while no rule of the unit changes."""
        kept, inserted, gone = rules
        known = self._updates.get(stratum.relations)
        if inserted or gone or known is None or known[0] != kept:
            known = kept, update(self.strategy, stratum, kept, inserted, gone)
        if not inserted and not gone:
            self._updates[stratum.relations] = known
        return known[1]


@dataclass(slots=True)
class _Walk:
    run: Run
    old: FlatProgram
    before: dict[frozenset[str], Stratum]
    gone: dict[str, list[FlatRule]]
    limits: Limits
    watch: Watch
    stats: Stats
    strata: int
    number: int = 0
    rank: int = 0
    rows: int = 0
    found: int = 0
    asserted: int = 0  # facts that the last step about them was about
    deadline: float | None = None
    adds: bool = False  # whether what the step at work finds is added
    current: StratumStats = field(default_factory=lambda: StratumStats("", "", ""))
    at_work: Stratum = field(default_factory=lambda: Stratum(frozenset(), (), recursive=False))

    @property
    def engine(self) -> Engine:
        return self.run.engine

    # -- units

    def stratum(self, stratum: Stratum) -> None:
        kept = tuple(r for r in stratum.rules if r.id in self.old.rules)
        inserted = tuple(r for r in stratum.rules if r.id not in self.old.rules)
        gone = tuple(r for name in sorted(stratum.relations) for r in self.gone.get(name, ()))
        before = self.before.get(stratum.relations)
        same = (before is not None and self._is_kept_alike(before, stratum)) or self._merge(stratum)
        changed = (
            inserted or gone or not same or self._is_reached(stratum) or self.engine.must_bootstrap(stratum)
        )
        if not changed:
            return
        start = time.perf_counter()
        self.current, self.at_work = StratumStats(stratum.name, "", ""), stratum
        self.rows, self.found, self.deadline, self.adds = 0, 0, None, False
        self._work_on(stratum.rules)
        self._maintain(stratum, kept, inserted, gone, same)
        self.engine.finish(stratum)
        self.current.placed = self.run.placed(stratum)
        self.current.seconds = time.perf_counter() - start
        self.stats.strata.append(self.current)
        self.current = StratumStats("", "", "")

    def _is_kept_alike(self, before: Stratum, stratum: Stratum) -> bool:
        """Whether an update finds the state that it needs."""
        strategy = self.run.strategy
        return before.best == stratum.best and is_traced(strategy, before) == is_traced(strategy, stratum)

    def _merge(self, stratum: Stratum) -> bool:
        """Whether a unit could be made of units of the old program with their states; then it is."""
        parts = [old for old in self.old.strata if old.relations & stratum.relations]
        whole = all(old.relations <= stratum.relations for old in parts)
        plain = not any(old.best or old.grouping for old in (*parts, stratum))
        if self.run.strategy not in ("elastic", "dred") or len(parts) < 2 or not whole or not plain:
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
        return any(self.engine.has_changed(n) for n in stratum.reads | stratum.relations)

    def _maintain(
        self,
        stratum: Stratum,
        kept: tuple[FlatRule, ...],
        inserted: tuple[FlatRule, ...],
        gone: tuple[FlatRule, ...],
        same: bool,
    ) -> None:
        if stratum.grouping is not None:
            self.engine.enter(stratum)
            self._explain("update" if same else "bootstrap", "groups that were touched")
            self._begin(stratum.grouping.origin)
            self._execute((Regroup(stratum.grouping, all=not same),))
            return
        claimed = self.engine.claim(stratum)
        if claimed is not None:
            self._explain(claimed.strategy, claimed.why)
            self.current.rounds, self.current.instances = claimed.rounds, claimed.instances
            self.rows = claimed.rows
            self._check_rows()
            return
        why = self._why_bootstrap(stratum, same and not self.engine.must_bootstrap(stratum))
        if why is None and not self._update(stratum, kept, inserted, gone):
            why = "the update turned out to cost more"
        if why is not None:
            self._bootstrap(stratum, why)

    def _why_bootstrap(self, stratum: Stratum, same: bool) -> str | None:
        if not same:
            return "it is new, or its relations were grouped otherwise"
        if not any(self.engine.size(name) for name in stratum.reads | stratum.relations):
            return "it and all that it reads were empty"
        if self.run.strategy == "recompute":
            return "the strategy is recompute"
        memory = self.run.memory(stratum)
        if not memory.bootstrap or not self.run.is_switching:
            return None
        why = memory.discourages(self._sizes(stratum))
        if why is not None:
            memory.doubt()
        return why

    def _sizes(self, stratum: Stratum) -> Sizes:
        """What is below a unit and in it, and what came and went there or was asserted and retracted."""
        below = stratum.reads - stratum.relations
        counts = [self.engine.changed_rows(n) for n in below]
        counts += [self.engine.asserted_changes(n) for n in stratum.relations]
        return Sizes(
            sum(map(self.engine.size, below)),
            sum(map(self.engine.size, stratum.relations)),
            sum(inserted for inserted, _ in counts),
            sum(deleted for _, deleted in counts),
        )

    def _explain(self, strategy: str, why: str) -> None:
        self.current.strategy, self.current.why = strategy, why

    def _bootstrap(self, stratum: Stratum, why: str) -> None:
        self._explain("bootstrap", why)
        self.engine.enter(stratum)
        self.rank, self.rows, self.asserted, self.deadline, self.current.instances = 0, 0, 0, None, 0
        begun = self.run.clock()
        try:
            self._execute(make(self.run.strategy, stratum))
        except TurnDense:
            self._explain("whole", "the relation turned out to be dense")
            self._work_on(stratum.rules)
            claimed = self.engine.claim(stratum, start=True)
            self.current.rounds, self.rows = (0, 0) if claimed is None else (claimed.rounds, claimed.rows)
            self._check_rows()
            return
        self.engine.highest(stratum.relations, self.rank)
        seconds, below = self.run.clock() - begun, stratum.reads - stratum.relations
        moved = sum(inserted - deleted for inserted, deleted in map(self.engine.changed_rows, below))
        self.run.memory(stratum).made(
            seconds, sum(map(self.engine.size, below)) + moved, self.asserted, self.rows
        )

    def _update(
        self,
        stratum: Stratum,
        kept: tuple[FlatRule, ...],
        inserted: tuple[FlatRule, ...],
        gone: tuple[FlatRule, ...],
    ) -> bool:
        """Whether the update came to its end."""
        memory = self.run.memory(stratum)
        sizes = self._sizes(stratum)
        changes = sizes.insertions + sizes.deletions
        self._explain(name_of(self.run.strategy, stratum), f"{changes} changes below it")
        highest = self.engine.enter(stratum)
        self.rows = sum(self.engine.size(name) for name in stratum.relations)
        begun = self.run.clock()
        patience = self._patience(memory, sizes)
        try:
            for more, script in enumerate(self.run.update(stratum, Changed(kept, inserted, gone))):
                self.rank = highest + more
                self.deadline = None if patience is None else begun + patience * (_LATER if more else 1)
                self._execute(script)
        except _TooMuch:  # it would have taken longer; how much is not known
            memory.learn(UNFINISHED * (self.run.clock() - begun), sizes)
            return False
        self.engine.highest(stratum.relations, self.rank)
        if not inserted and not gone:
            memory.learn(self.run.clock() - begun, sizes)
        return True

    def _patience(self, memory: StratumCost, sizes: Sizes) -> float | None:
        """The seconds after which an update has taken too long beside a bootstrap, if there are any."""
        if not memory.bootstrap or self.run.switch is None or not self.run.is_switching:
            return None
        return self.run.switch * memory.anew(sizes)

    # -- steps

    def _execute(self, script: Script) -> None:
        for step in script:
            match step:
                case Derive():
                    self._derive(step)
                case Assertions():
                    self.adds = not step.mode.takes_away
                    self.asserted = self.engine.assertions(step, self.rank)
                    self.current.instances += self.asserted
                case EndRound():
                    self._end_round(step)
                case Repeat(relations, steps):
                    while self.engine.delta(relations):
                        if not self._hurry(step):
                            self._execute(steps)
                case Iterate(relations, steps):
                    while self.engine.pending(relations):
                        self._execute(steps)
                case Depart(relations):
                    self.rows -= self.engine.depart(relations)
                case Arrive(relations):
                    self.rows += self.engine.arrive(relations)
                case Examine(rules):
                    self.engine.examine(rules)
                case Clear(relations, traced):
                    self.engine.clear(relations, traced)
                case Regroup():
                    self.engine.regroup(step)
                case Improve():
                    self._work_on(self.at_work.rules)
                    self.current.instances += self.engine.improve(self.at_work, step, self._count_round)
                case Doubt(relations):
                    self.engine.doubt(relations)
                case Aim(relations):
                    self.engine.aim(relations)
                case Rest(relations):
                    self.engine.rest(relations)

    def _derive(self, step: Derive) -> None:
        start = time.perf_counter()
        self._begin(step.rule.origin)
        self.adds = not step.mode.takes_away
        self.current.instances += self.engine.derive(step, self.rank)
        self._charge(step.rule, time.perf_counter() - start)
        self._check_patience()

    def _charge(self, rule: FlatRule, seconds: float) -> None:
        rules = self.current.rules
        rules[rule.origin] = rules.get(rule.origin, 0.0) + seconds

    def _check_patience(self) -> None:
        late = self.deadline is not None and self.run.clock() > self.deadline
        if late and self.current.instances > self.run.patience:
            raise _TooMuch
        self._look()

    def _hurry(self, step: Repeat) -> bool:
        """Whether the engine ran rounds in one go; their time is divided by what their rules found."""
        start = time.perf_counter()
        most = self.limits.max_iterations
        left = _ROUNDS if most is None else min(_ROUNDS, most + 1 - self.current.rounds)
        self._work_on(part.rule for part in step.steps if isinstance(part, Derive))
        end = step.steps[-1]
        assert isinstance(end, EndRound)
        self.adds = not end.mode.takes_away
        hurried = self.engine.hurry(step, self.rank, left)
        if hurried is None:
            return False
        seconds, total = time.perf_counter() - start, sum(hurried.instances)
        for part, found in zip(step.steps, hurried.instances, strict=False):
            if isinstance(part, Derive) and found:
                self._charge(part.rule, seconds * found / total)
        self.current.instances += total
        self._count_rounds(hurried.rounds, hurried.rows, end.mode)
        self._check_patience()
        return True

    def _end_round(self, step: EndRound) -> None:
        self._tell()
        self._count_rounds(1, self.engine.end_round(step), step.mode)

    def _count_rounds(self, rounds: int, found: int, mode: Mode) -> None:
        self.found = found
        self.rows += -found if mode is Mode.REMOVE else found
        self.rank += rounds
        self._count_round(rounds)
        self._check_rows()

    def _check_rows(self, more: int = 0) -> None:
        """End the commit if the unit has too many rows, with so many that the round at work has found."""
        most = self.limits.max_rows
        if most is not None and self.rows + more > most:
            raise EngineError(
                f"{self.current.name} has more than {most:,} rows, the limit; {self.watch.blame()}; "
                f"{raise_limit('max_rows')}"
            )

    def _count_round(self, rounds: int = 1) -> None:
        self.current.rounds += rounds
        self._look()
        most = self.limits.max_iterations
        if most is not None and self.current.rounds > most:
            raise EngineError(
                f"{self.current.name} still changed after {most:,} rounds, the limit of iterations; "
                f"the rule at work was `{self._slowest()}`; {raise_limit('max_iterations')}"
            )

    def pause(self, ahead: int | None = None) -> None:
        """Called inside steps; whatever made one long, an update that is late is given up there."""
        if ahead is None and self.deadline is not None and self.run.clock() > self.deadline:
            raise _TooMuch
        self.watch.look(self.progress, ahead or 0)
        if self.limits.max_rows is not None and self.adds:
            self._check_rows(self.engine.listed(self.at_work.relations))

    def hear(self, rounds: int, found: int, rows: int) -> None:
        """Called while an engine runs a unit in its own way."""
        self.current.rounds, self.found, self.rows = rounds, found, rows
        self._tell()
        self._look()

    def _slowest(self) -> str:
        rules = self.current.rules
        return max(rules, key=lambda r: rules[r]) if rules else self.current.name

    def _look(self) -> None:
        self.watch.look(self.progress)

    def progress(self) -> Progress:
        """How far the commit is."""
        return Progress(
            "derive",
            self.current.name,
            self.number,
            self.strata,
            self.current.rounds,
            self.rows,
            " ".join(self.watch.at_work[:1]),
            time.perf_counter() - self.watch.start,
            self.found,
        )

    def _work_on(self, rules: Iterable[FlatRule]) -> None:
        """Say which rules are at work from now on."""
        self._begin(*dict.fromkeys(rule.origin for rule in rules))

    def _begin(self, *rules: str) -> None:
        self.watch.at_work = rules
        self._tell(*rules)

    def _tell(self, *rules: str) -> None:
        if self.run.begun is not None:
            self.run.begun(replace(self.progress(), rule=rules[0] if len(rules) == 1 else ""))
