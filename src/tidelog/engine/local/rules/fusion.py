"""Fused rounds: those whose deltas are small run in one call of a kernel, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tidelog.engine.local.rules.first_rounds import reads_nothing
from tidelog.engine.local.rules.rounds import LARGE, Loops
from tidelog.engine.local.rules.sharing import cover_shared
from tidelog.engine.local.storage.index import Buckets
from tidelog.engine.local.storage.table import Table
from tidelog.engine.protocol import FusedRounds
from tidelog.engine.rounds import Rounds
from tidelog.maintain.script import Mode

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["FusedLoops"]

_GROWTH: Final = 7  # a loop ends when relations have grown so many times, to plan joins again
_ROUNDS: Final = 1000  # rounds in one call
_LITTLE: Final = 512  # rows that never end a loop


class FusedLoops:
    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._loops = Loops(engine.variants, engine.runner, engine.derive, engine.driver)

    def clear(self) -> None:
        """Forget the loops of earlier programs."""
        self._loops.clear()

    def run_rounds(self, rounds: Rounds, rank: int, most: int | None) -> FusedRounds | None:
        """Run rounds in one call, if deltas are small, or if better heads replace others."""
        engine, relations = self._engine, rounds.end.relations
        if rounds.end.mode is Mode.REPLACE:
            if rounds.repeated:
                return None
            if len(relations) == 1:
                return engine.extrema.replacing.run_rounds(rounds, rank, most)
        waiting, size = 0, 0
        for name in relations:
            change = engine.change(name)
            waiting, size = waiting + change.working.unfinished, size + change.size
        if waiting > LARGE:
            self._cover_ahead(rounds)
            return None
        if rounds.end.mode is Mode.REDERIVE:
            for name in relations:
                engine.change(name).search()
        if not waiting and not any(n in engine.pending and not engine.is_idle(s) for n, s in rounds.starts):
            engine.list_suspects(rounds.end)
            return FusedRounds(rounds.ends)
        if any(name in engine.dense.bits for name, _ in rounds.starts):  # which are read by places
            return None
        before = engine.delta(relations)
        engine.extrema.replacing.prepare(relations)
        left = _ROUNDS if most is None else min(most, _ROUNDS)
        loop = self._loops.run(rounds, rank, left, enough=max(_LITTLE, _GROWTH * size))
        if loop is None:
            return None
        engine.list_suspects(rounds.end)
        started = before + loop.found - engine.delta(relations)
        rows = engine.extrema.replacing.new_keys(relations) if loop.replaces else loop.found
        return FusedRounds(loop.rounds, rows, *loop.done(), started, engine.dense.wants(relations))

    def _cover_ahead(self, rounds: Rounds) -> None:
        """Bring the indexes up to date that the rules of a large round look up, on several threads.

        A rule by itself would do so with one after the other.
        """
        engine, indexes = self._engine, dict[int, tuple[Buckets, Table]]()
        if engine.runner.threads == 1 or rounds.end.mode is not Mode.INSERT:
            return
        for step in rounds.derivations:
            driver = engine.driver(step)
            if driver is None or not len(driver) or reads_nothing(step, engine.pending, engine.dense.bits):
                continue
            variant = engine.variants.first(step.rule, step.driver, len(driver))
            found = engine.runner.first_bytecode(variant, step.views, driver, step.mode)
            for index, table in () if found is None else found.indexes:
                if isinstance(index, Buckets):
                    indexes[index.at] = index, table
        cover_shared(indexes.values(), engine.runner.threads)

    def running(self) -> tuple[int, int]:
        """The number of the running derivation of fused rounds, and how many of them have ended."""
        parts, loop = self._engine.extrema.replacing.at_work, self._loops.at_work
        if parts is not None:
            return parts.position, parts.rounds
        return (0, 0) if loop is None else (loop.at_work, loop.rounds)

    def found_so_far(self) -> int:
        """How many rows the rounds that have ended in the running call put on the worklist."""
        loop = self._loops.at_work
        return 0 if loop is None or loop.replaces else loop.found
