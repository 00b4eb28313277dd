"""The interpreter of scripts: runs their steps on an engine, one by one.

It counts rounds, instances and rows, compares them with the limits, and reports the progress. Which scripts
run is decided by the scheduler.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NamedTuple, TypeVar, assert_never

from tidelog.engine.cost import AGAIN
from tidelog.engine.limits import Limits, Watch, raise_limit
from tidelog.engine.protocol import Engine, Extrema
from tidelog.engine.rounds import Part, Rounds, in_rounds
from tidelog.engine.statistics import Done, StratumStats, WhatWasDone, shares
from tidelog.errors import EngineError
from tidelog.maintain.script import (
    Accumulate,
    Aim,
    Arrive,
    Assertions,
    Clear,
    Compare,
    Conclude,
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
    View,
)
from tidelog.plan.flat import Stratum
from tidelog.progress import Progress, Report

__all__ = ["End", "Interpreter", "Tolerance", "TooCostly"]

_NO_STRATUM: Final = Stratum(frozenset(), (), recursive=False)
_NOTICED: Final = 0.001  # seconds of a step from which on it is compared with an estimate


class TooCostly(Exception):
    """An update exceeded its budget. Raised and caught here; engines must let it propagate."""


class Tolerance(NamedTuple):
    """When a deletion costs more than to start over.

    It began with so many tuples of the stratum, which could all be derived in the time `all_again`. A
    bootstrap after the change takes the time `bootstrap`.
    """

    begun: float
    tuples: int
    all_again: float
    bootstrap: float

    def is_exceeded(self, now: float, left: int) -> bool:
        """Whether too few tuples are left.

        To delete those that are gone and to look for them again takes `AGAIN` times as long as deriving them.
        """
        gone = 1 - left / self.tuples
        return AGAIN * gone * self.all_again - (now - self.begun) > self.bootstrap


class End(Enum):
    """How a script ended."""

    DONE = "done"
    CLAIM = "the engine wants to claim the stratum"


@dataclass(slots=True, kw_only=True)
class Interpreter:
    """The state of a commit at work; `current` are the statistics of the stratum `at_work`.

    An update that has found more than `patience` instances is given up after `deadline`, on `clock`, or when
    a deletion has taken more with it than its `tolerance` allows.
    """

    engine: Engine
    limits: Limits
    watch: Watch
    strata: int
    clock: Callable[[], float] = time.perf_counter
    patience: int = 10_000
    begun: Report | None = None
    number: int = 0
    rank: int = 0
    rows: int = 0
    found: int = 0
    asserted: int = 0  # facts in the last `Assertions` step
    deadline: float | None = None
    tolerance: Tolerance | None = None
    fused: tuple[str, ...] = ()  # the rules of the repetition whose rounds run in one call
    adds: bool = False  # whether the current step adds rows
    current: StratumStats = field(default_factory=lambda: StratumStats("", "", ""))
    at_work: Stratum = _NO_STRATUM

    # -- steps

    def execute(self, parts: Iterable[Part]) -> End:
        for part in parts:
            end = self._do(part)
            if end is not End.DONE:
                return end
        return End.DONE

    def _do(self, step: Part) -> End:
        match step:
            case Rounds():
                return self._run_rounds(step)
            case Derive():
                self._derive(step)
            case Assertions():
                self.adds = not step.mode.takes_away
                self.asserted = self.engine.assertions(step, self.rank)
                self.current.instances += self.asserted
            case EndRound():
                return self._end_round(step)
            case Repeat():
                return self.execute(in_rounds((step,)))
            case Iterate(relations, steps):
                traces = _able(self.engine.traces, "keep derivations by iteration")
                while traces.pending(relations):
                    end = self.execute(steps)
                    if end is not End.DONE:
                        return end
            case Depart(relations):
                self.rows -= _able(self.engine.traces, "keep derivations by iteration").depart(relations)
            case Arrive(relations):
                self.rows += _able(self.engine.traces, "keep derivations by iteration").arrive(relations)
            case Examine(rules):
                _able(self.engine.traces, "keep derivations by iteration").examine(rules)
            case Clear(relations, traced):
                if self.engine.clear(relations, traced):
                    return End.CLAIM
            case Regroup():
                self.engine.regroup(step)
            case Accumulate():
                self.begin(self.at_work.origins)
                totals = _able(self.engine.totals, "keep recursive totals")
                self.current.instances += totals.accumulate(self.at_work, step, self._count_total)
            case Improve() | Doubt() | Aim() | Rest() | Compare() | Conclude():
                self._improve(step, _able(self.engine.extrema, "keep the best value per key"))
            case _:
                assert_never(step)
        return End.DONE

    def _improve(self, step: Improve | Doubt | Aim | Rest | Compare | Conclude, extrema: Extrema) -> None:
        match step:
            case Improve():
                self.adds = False  # most of what it finds is superseded
                self.begin(self.at_work.origins)
                self.current.instances += extrema.improve(self.at_work, step, self._count_round)
            case Doubt(relations):
                extrema.doubt(relations)
            case Aim(relations):
                extrema.aim(relations)
            case Rest(relations):
                extrema.rest(relations)
            case Compare():
                extrema.compare(self.at_work, step)
            case Conclude():
                extrema.conclude(step)
            case _:
                assert_never(step)

    def _count_total(self, grown: int) -> None:
        """Count a round of totals, by which the stratum has grown so many rows."""
        self.adds = False  # rows are counted here
        self._count_rounds(1, grown, Mode.INSERT)
        self._check_patience()

    def _run_rounds(self, rounds: Rounds) -> End:
        end = End.DONE
        if rounds.repeated:
            end = self._fuse(rounds) or self.execute(rounds.once)
        again = rounds.repetition
        while again is not None and end is End.DONE and self.engine.delta(again.end.relations):
            end = self._fuse(again) or self.execute(again.steps)
        return end

    def _derive(self, step: Derive) -> None:
        if self.engine.is_idle(step):
            return
        start = time.perf_counter()
        self.begin((step.rule.origin,))
        self.adds = not step.mode.takes_away
        before = self.engine.done_so_far(step.rule.head)
        found = self.engine.derive(step, self.rank)
        seconds = time.perf_counter() - start
        self.current.instances += found
        after = self.engine.done_so_far(step.rule.head)
        if before is None or after is None:
            done = Done(found, 0, None, is_counted=False)
        else:
            done = Done(found, max(after[0] - before[0], found), after[1] - before[1])
        self._charge(step, seconds, 0.0, done)
        self._check_patience()
        self._look()

    def _charge(
        self, step: Derive, seconds: float, divided: float, done: Done, rows: int | None = None
    ) -> None:
        """Record the work of a rule. An estimate takes time, so quick steps count as expected."""
        expected = self.engine.expected(step, rows) if seconds > _NOTICED and rows != 0 else None
        self.current.charge(step, seconds, divided, done, expected)

    def _check_patience(self) -> None:
        if self.current.instances > self.patience and self._is_too_costly():
            raise TooCostly

    def _is_too_costly(self, found: int = 0) -> bool:
        """Whether to give up an update; `found` more tuples are to be deleted than `rows` says."""
        if self.deadline is None:
            return False
        now = self.clock()
        tolerance = self.tolerance
        return now > self.deadline or (
            tolerance is not None and tolerance.is_exceeded(now, self.rows - found)
        )

    def _fuse(self, rounds: Rounds) -> End | None:
        """Run rounds in one call, if the engine can; their time is divided among rules by rows examined."""
        fusion, most = self.engine.fusion, self.limits.max_iterations
        if fusion is None:
            return None
        start = time.perf_counter()
        left = None if most is None else most + 1 - self.current.rounds
        self.begin(rounds.rules)
        self.adds = not rounds.end.mode.takes_away
        self.fused = rounds.rules
        try:
            fused = fusion.run_rounds(rounds, self.rank, left)
        finally:
            self.fused = ()
        if fused is None:
            return None
        if fused.wants_claim:  # all of it is computed again
            return End.CLAIM
        self.current.instances += fused.instances
        if fused.done is not None:
            self._charge_each(rounds, fused.done, fused.started, time.perf_counter() - start)
        self._count_rounds(fused.rounds, fused.rows, rounds.end.mode)
        self._check_patience()
        return End.DONE

    def _charge_each(self, rounds: Rounds, done: WhatWasDone, started: int, seconds: float) -> None:
        """Record the work of the rules of fused rounds."""
        if seconds <= _NOTICED:
            self.current.charge_together(rounds.derivations, done, seconds)
            return
        # how many rows each of several relations had is not known, so there is no estimate
        rows = started if len(rounds.end.relations) == 1 else 0
        for step, part, share, divided in shares(rounds.derivations, done(), seconds):
            self._charge(step, share, divided, part, rows if View.DELTA in step.views else None)

    def _end_round(self, step: EndRound) -> End:
        self._tell()
        found = self.engine.end_round(step)
        if found is None:
            return End.CLAIM
        self._count_rounds(1, found, step.mode)
        return End.DONE

    def _count_rounds(self, rounds: int, found: int, mode: Mode) -> None:
        self.found = found
        self.rows += -found if mode is Mode.REMOVE else found
        self.rank += rounds
        self._count_round(rounds)
        self.check_rows()

    def check_rows(self, more: int = 0) -> None:
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
        if ahead is None and self.deadline is not None:
            leaves = self.tolerance is not None and not self.adds
            if self._is_too_costly(self.engine.found_so_far(self.at_work.relations) if leaves else 0):
                raise TooCostly
        if self.fused and self.engine.fusion is not None:
            self.watch.at_work = (self.fused[self.engine.fusion.running()[0]],)
        self.watch.look(self.progress, ahead or 0)
        if self.limits.max_rows is not None and self.adds:
            self.check_rows(self.engine.found_so_far(self.at_work.relations))

    def hear(self, rounds: int, found: int, rows: int) -> None:
        """Called with the progress while an engine evaluates a claimed stratum."""
        self.current.rounds, self.found, self.rows = rounds, found, rows
        self._tell()
        self._look()

    def _slowest(self) -> str:
        rules = self.current.rules
        return max(rules, key=lambda rule: rules[rule].seconds) if rules else self.current.name

    def _look(self) -> None:
        self.watch.look(self.progress)

    def progress(self) -> Progress:
        """The progress of the commit."""
        ended = self.engine.fusion.running()[1] if self.fused and self.engine.fusion is not None else 0
        return Progress(
            "derive",
            self.current.name,
            self.number,
            self.strata,
            self.current.rounds + ended,
            self.rows,
            " ".join(self.watch.at_work[:1]),
            time.perf_counter() - self.watch.start,
            self.found,
        )

    def begin(self, rules: tuple[str, ...]) -> None:
        """Record which rules run from now on."""
        self.watch.at_work = rules
        self._tell(rules)

    def _tell(self, rules: tuple[str, ...] = ()) -> None:
        if self.begun is not None:
            self.begun(replace(self.progress(), rule=rules[0] if len(rules) == 1 else ""))


_Able = TypeVar("_Able")


def _able(operators: _Able | None, what: str) -> _Able:
    """Return the operators, or raise EngineError if the engine lacks them, and thus the strategy."""
    if operators is None:
        raise EngineError(f"this engine does not {what}; use another strategy or placement")
    return operators
