"""The scheduler runs a commit: stratum by stratum, script by script.

Strata run in the order of the new program. Each sees the old and new states of the strata below it. A stratum
that no change reaches is skipped. Otherwise it is updated if it was a stratum before. It is bootstrapped if
it was not, if the strategy requires it, or if the update turns out to cost more than a bootstrap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, TypeVar, assert_never

from tidelog.engine.agenda import Agenda
from tidelog.engine.cost import UNFINISHED, Sizes, StratumCost
from tidelog.engine.limits import Limits, Watch, memory_errors, raise_limit
from tidelog.engine.protocol import Claimed, Engine, Extrema
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
    Step,
    Update,
)
from tidelog.maintain.strategy import ELASTIC, RuleChanges, Strategy
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum
from tidelog.progress import Progress, Report

__all__ = ["SWITCH", "Scheduler"]


SWITCH: Final = 0.6  # an update's time budget, as a fraction of the time of a bootstrap
_LATER: Final = 1.6  # times the budget is allowed once deletion is done, since little work is left then
_ROUNDS: Final = 1000  # the most rounds that an engine may run in one call


class _TooCostly(Exception):
    """An update exceeded its budget. Raised and caught here; engines must let it propagate."""


class _End(Enum):
    """How a script ended."""

    DONE = "done"
    CLAIM = "the engine wants to claim the stratum"


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
        self._updates: dict[frozenset[str], tuple[tuple[FlatRule, ...], Update]] = {}
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
        for id_ in sorted(new.since(old).removed):
            removed.setdefault(old.rules[id_].head, []).append(old.rules[id_])
        walk = _Walk(self, old, removed, limits, watch, stats, len(new.strata))
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

    def update(self, stratum: Stratum, rules: RuleChanges) -> Update:
        """The scripts of an update; cached while no rule of the stratum changes."""
        known = self._updates.get(stratum.relations)
        if rules.added or rules.removed or known is None or known[0] != rules.kept:
            known = rules.kept, self.strategy.update(stratum, rules)
        if not rules.added and not rules.removed:
            self._updates[stratum.relations] = known
        return known[1]


@dataclass(slots=True)
class _Walk:
    run: Scheduler
    old: FlatProgram
    removed: dict[str, list[FlatRule]]
    limits: Limits
    watch: Watch
    stats: Stats
    strata: int
    number: int = 0
    rank: int = 0
    rows: int = 0
    found: int = 0
    asserted: int = 0  # facts in the last `Assertions` step
    deadline: float | None = None
    adds: bool = False  # whether the current step adds rows
    current: StratumStats = field(default_factory=lambda: StratumStats("", "", ""))
    at_work: Stratum = field(default_factory=lambda: Stratum(frozenset(), (), recursive=False))

    @property
    def engine(self) -> Engine:
        return self.run.engine

    # -- strata

    def maintain(self, stratum: Stratum) -> None:
        """Bring a stratum to its new state, if a change reaches it."""
        rules = RuleChanges(
            tuple(r for r in stratum.rules if r.id in self.old.rules),
            tuple(r for r in stratum.rules if r.id not in self.old.rules),
            tuple(r for name in sorted(stratum.relations) for r in self.removed.get(name, ())),
        )
        before = self.old.stratum_of(next(iter(stratum.relations)))
        same = self._is_kept_alike(before, stratum) or self._merge(stratum)
        changed = rules.added or rules.removed or not same
        if not (changed or self._is_reached(stratum) or self.engine.must_bootstrap(stratum)):
            return
        start = time.perf_counter()
        self.current, self.at_work = StratumStats(stratum.name, "", ""), stratum
        self.rows, self.found, self.deadline, self.adds = 0, 0, None, False
        self._work_on(stratum.rules)
        self._bring_up_to_date(stratum, rules, same)
        self.engine.finish(stratum)
        self.current.placed = self.run.placed(stratum)
        self.current.seconds = time.perf_counter() - start
        self.stats.strata.append(self.current)
        self.current = StratumStats("", "", "")

    def _is_kept_alike(self, before: Stratum | None, stratum: Stratum) -> bool:
        """Whether the stratum has the state that an update needs."""
        strategy = self.run.strategy
        if before is None or before.relations != stratum.relations:
            return False
        return before.best == stratum.best and strategy.traces(before) == strategy.traces(stratum)

    def _merge(self, stratum: Stratum) -> bool:
        """Merge strata of the old program, with their states, into this stratum; false if not possible."""
        numbers = {self.old.index.order.number.get(name) for name in stratum.relations}
        parts = [self.old.strata[number] for number in sorted(n for n in numbers if n is not None)]
        whole = all(old.relations <= stratum.relations for old in parts)
        plain = not any(old.best or old.grouping for old in (*parts, stratum))
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
        return any(self.engine.has_changed(n) for n in stratum.reads | stratum.relations)

    def _bring_up_to_date(self, stratum: Stratum, rules: RuleChanges, same: bool) -> None:
        if stratum.grouping is not None:
            self.engine.enter(stratum)
            self._explain("update" if same else "bootstrap", "only touched groups")
            self._begin(stratum.grouping.origin)
            self._execute((Regroup(stratum.grouping, all=not same),))
            return
        claimed = None if self.engine.claims is None else self.engine.claims.claim(stratum)
        if claimed is not None:
            self._take_claimed(claimed)
            return
        why = self._why_bootstrap(stratum, same and not self.engine.must_bootstrap(stratum))
        if why is None and not self._update(stratum, rules):
            why = "the update turned out to cost more"
        if why is not None:
            self._bootstrap(stratum, why)

    def _take_claimed(self, claimed: Claimed) -> None:
        self._explain(claimed.strategy, claimed.why)
        self.current.rounds, self.current.instances = claimed.rounds, claimed.instances
        self.rows = claimed.rows
        self._check_rows()

    def _why_bootstrap(self, stratum: Stratum, same: bool) -> str | None:
        if not same:
            return "it is new or its set of relations changed"
        if not any(self.engine.size(name) for name in stratum.reads | stratum.relations):
            return "it and all relations that it reads were empty"
        if not self.run.strategy.updates:
            return f"the strategy is {self.run.strategy.name}"
        memory = self.run.memory(stratum)
        if not memory.bootstrap or not self.run.is_switching:
            return None
        why = memory.discourages(self._sizes(stratum))
        if why is not None:
            memory.doubt()
        return why

    def _sizes(self, stratum: Stratum) -> Sizes:
        """The sizes of a stratum and its inputs, and how many rows changed or were asserted or retracted."""
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
        if self._execute(self.run.strategy.bootstrap(stratum)) is _End.CLAIM:
            self._work_on(stratum.rules)
            claimed = None if self.engine.claims is None else self.engine.claims.claim(stratum, start=True)
            if claimed is None:
                raise EngineError(f"internal error: {stratum.name} was claimed but not evaluated")
            self._take_claimed(claimed._replace(why="the relation turned out to be dense"))
            return
        self.engine.raise_highest(stratum.relations, self.rank)
        seconds, below = self.run.clock() - begun, stratum.reads - stratum.relations
        moved = sum(inserted - deleted for inserted, deleted in map(self.engine.changed_rows, below))
        self.run.memory(stratum).made(
            seconds, sum(map(self.engine.size, below)) + moved, self.asserted, self.rows
        )

    def _update(self, stratum: Stratum, rules: RuleChanges) -> bool:
        """Update a stratum; false if the update exceeded its budget."""
        memory = self.run.memory(stratum)
        sizes = self._sizes(stratum)
        changes = sizes.insertions + sizes.deletions
        self._explain(self.run.strategy.label_of(stratum), f"{changes} changes below it")
        highest = self.engine.enter(stratum)
        self.rows = sum(self.engine.size(name) for name in stratum.relations)
        begun = self.run.clock()
        patience = self._patience(memory, sizes)
        try:
            for more, script in enumerate(self.run.update(stratum, rules)):
                self.rank = highest + more
                self.deadline = None if patience is None else begun + patience * (_LATER if more else 1)
                self._execute(script)
        except _TooCostly:  # the full cost is unknown
            memory.learn(UNFINISHED * (self.run.clock() - begun), sizes)
            return False
        self.engine.raise_highest(stratum.relations, self.rank)
        if not rules.added and not rules.removed:
            memory.learn(self.run.clock() - begun, sizes)
        return True

    def _patience(self, memory: StratumCost, sizes: Sizes) -> float | None:
        """The time budget of an update in seconds; None if it has none."""
        if not memory.bootstrap or self.run.switch is None or not self.run.is_switching:
            return None
        return self.run.switch * memory.anew(sizes)

    # -- steps

    def _execute(self, script: Script) -> _End:
        for step in script:
            end = self._do(step)
            if end is not _End.DONE:
                return end
        return _End.DONE

    def _do(self, step: Step) -> _End:
        match step:
            case Derive():
                self._derive(step)
            case Assertions():
                self.adds = not step.mode.takes_away
                self.asserted = self.engine.assertions(step, self.rank)
                self.current.instances += self.asserted
            case EndRound():
                return self._end_round(step)
            case Repeat():
                return self._repeat(step)
            case Iterate(relations, steps):
                traces = _able(self.engine.traces, "keep derivations by iteration")
                while traces.pending(relations):
                    self._execute(steps)
            case Depart(relations):
                self.rows -= _able(self.engine.traces, "keep derivations by iteration").depart(relations)
            case Arrive(relations):
                self.rows += _able(self.engine.traces, "keep derivations by iteration").arrive(relations)
            case Examine(rules):
                _able(self.engine.traces, "keep derivations by iteration").examine(rules)
            case Clear(relations, traced):
                if self.engine.clear(relations, traced):
                    return _End.CLAIM
            case Regroup():
                self.engine.regroup(step)
            case Improve() | Doubt() | Aim() | Rest():
                self._improve(step, _able(self.engine.extrema, "keep the best value per key"))
            case _:
                assert_never(step)
        return _End.DONE

    def _improve(self, step: Improve | Doubt | Aim | Rest, extrema: Extrema) -> None:
        match step:
            case Improve():
                self._work_on(self.at_work.rules)
                self.current.instances += extrema.improve(self.at_work, step, self._count_round)
            case Doubt(relations):
                extrema.doubt(relations)
            case Aim(relations):
                extrema.aim(relations)
            case Rest(relations):
                extrema.rest(relations)
            case _:
                assert_never(step)

    def _repeat(self, step: Repeat) -> _End:
        while self.engine.delta(step.relations):
            end = self._run_rounds(step) or self._execute(step.steps)
            if end is not _End.DONE:
                return end
        return _End.DONE

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
            raise _TooCostly
        self._look()

    def _run_rounds(self, step: Repeat) -> _End | None:
        """Run rounds in one call, if the engine can; their time is divided among rules by instances found."""
        if self.engine.fusion is None:
            return None
        start = time.perf_counter()
        most = self.limits.max_iterations
        left = _ROUNDS if most is None else min(_ROUNDS, most + 1 - self.current.rounds)
        self._work_on(part.rule for part in step.steps if isinstance(part, Derive))
        end = step.steps[-1]
        assert isinstance(end, EndRound)
        self.adds = not end.mode.takes_away
        fused = self.engine.fusion.run_rounds(step, self.rank, left)
        if fused is None:
            return None
        seconds, total = time.perf_counter() - start, sum(fused.instances)
        for part, found in zip(step.steps, fused.instances, strict=False):
            if isinstance(part, Derive) and found:
                self._charge(part.rule, seconds * found / total)
        self.current.instances += total
        self._count_rounds(fused.rounds, fused.rows, end.mode)
        self._check_patience()
        return _End.CLAIM if fused.wants_claim else _End.DONE

    def _end_round(self, step: EndRound) -> _End:
        self._tell()
        found = self.engine.end_round(step)
        if found is None:
            return _End.CLAIM
        self._count_rounds(1, found, step.mode)
        return _End.DONE

    def _count_rounds(self, rounds: int, found: int, mode: Mode) -> None:
        self.found = found
        self.rows += -found if mode is Mode.REMOVE else found
        self.rank += rounds
        self._count_round(rounds)
        self._check_rows()

    def _check_rows(self, more: int = 0) -> None:
        """Raise if the stratum exceeds the row limit, counting `more` rows found in the current round."""
        most = self.limits.max_rows
        if most is not None and self.rows + more > most:
            raise EngineError(
                f"{self.current.name} exceeded the limit of {most:,} rows; {self.watch.blame()}; "
                f"{raise_limit('max_rows')}"
            )

    def _count_round(self, rounds: int = 1) -> None:
        self.current.rounds += rounds
        self._look()
        most = self.limits.max_iterations
        if most is not None and self.current.rounds > most:
            raise EngineError(
                f"{self.current.name} exceeded the iteration limit: it still changed after {most:,} rounds; "
                f"the slowest rule was `{self._slowest()}`; {raise_limit('max_iterations')}"
            )

    def pause(self, ahead: int | None = None) -> None:
        """Called by engines inside steps: check the limits, and abandon an update that exceeds its budget."""
        if ahead is None and self.deadline is not None and self.run.clock() > self.deadline:
            raise _TooCostly
        self.watch.look(self.progress, ahead or 0)
        if self.limits.max_rows is not None and self.adds:
            self._check_rows(self.engine.found_so_far(self.at_work.relations))

    def hear(self, rounds: int, found: int, rows: int) -> None:
        """Called with the progress while an engine evaluates a claimed stratum."""
        self.current.rounds, self.found, self.rows = rounds, found, rows
        self._tell()
        self._look()

    def _slowest(self) -> str:
        rules = self.current.rules
        return max(rules, key=lambda r: rules[r]) if rules else self.current.name

    def _look(self) -> None:
        self.watch.look(self.progress)

    def progress(self) -> Progress:
        """The progress of the commit."""
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
        """Record which rules run from now on."""
        self._begin(*dict.fromkeys(rule.origin for rule in rules))

    def _begin(self, *rules: str) -> None:
        self.watch.at_work = rules
        self._tell(*rules)

    def _tell(self, *rules: str) -> None:
        if self.run.begun is not None:
            self.run.begun(replace(self.progress(), rule=rules[0] if len(rules) == 1 else ""))


_Able = TypeVar("_Able")


def _able(operators: _Able | None, what: str) -> _Able:
    """Return the operators, or raise EngineError if the engine lacks them, and thus the strategy."""
    if operators is None:
        raise EngineError(f"this engine does not {what}; use another strategy or placement")
    return operators
