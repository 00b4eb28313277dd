"""Fused rounds: with small deltas, the cost of a round is mostly the overhead between steps.

One kernel runs the bytecodes of several rounds in turn and also ends the rounds. What it reads, a loop, is
built once and used as long as the bytecodes in it are those that single steps would use.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.kernels.layout import (
    BEGIN,
    CONTINUE,
    DELETED_AT,
    DONE,
    FAILED,
    FOUND,
    INSERTED_AT,
    LOOP_HEADER,
    POSITION,
    RESUME,
    ROUNDS,
    SEARCHED_AT,
    STEP_WIDTH,
    UNBUILT,
    UNFIT,
)
from tidelog.engine.local.native.calls import address, hurry
from tidelog.engine.local.rules import suspects
from tidelog.engine.local.rules.bytecode import FIRST_STEPS, MODES, STEPS, Bytecode, Request
from tidelog.engine.local.rules.cache import Variants
from tidelog.engine.local.rules.runner import Runner
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.engine.protocol import Check
from tidelog.engine.rounds import Rounds
from tidelog.engine.statistics import Done, WhatWasDone
from tidelog.maintain.script import Derive, Mode, View
from tidelog.program.typed import Absent, Match

__all__ = ["LARGE", "Loop", "Loops", "source"]

LARGE: Final = 4096  # rows; larger deltas are run in single rounds
_DELTA: Final = 0  # in place of a list


def source(step: Derive) -> int:
    """The word of a table's descriptor with the list of rows that a step starts from; 0 for the delta."""
    assert step.driver is not None
    view = step.views[step.driver]
    if view is View.DELTA:
        return _DELTA
    if view is View.SUSPECTS:
        return SEARCHED_AT
    positive = isinstance(step.rule.body[step.driver], Match)
    return INSERTED_AT if (view is View.INSERTED) == positive else DELETED_AT


class Loop:
    """The steps of some rounds, for one kernel; their bytecodes are added when they are needed.

    `tables` are those that it refers to.
    """

    def __init__(self, rounds: Rounds, known: Mapping[str, Table]) -> None:
        relations = rounds.end.relations
        self.tables = {name: known[name] for name in (*relations, *map(_starting, rounds.derivations))}
        self._bytecodes: dict[int, Bytecode] = {}
        self._places = [i for i, step in enumerate(rounds.steps) if isinstance(step, Derive)]
        self._starts = [(number, place * STEP_WIDTH) for number, place in enumerate(self._places)]
        self._first = LOOP_HEADER + len(relations)
        words = [0] * LOOP_HEADER + [known[name].at for name in relations]
        words[layout.LOOP_STEPS], words[layout.LOOP_RELATIONS] = len(rounds.steps), len(relations)
        words[layout.REPEATED], words[layout.LOOP_MODE] = rounds.repeated, MODES[rounds.end.mode]
        for step in rounds.steps:
            if isinstance(step, Derive):
                words += [known[_starting(step)].at, source(step), *[0] * (STEP_WIDTH - 2)]
            else:
                words += [0] * STEP_WIDTH
        self._words = np.array(words, np.int64)
        self._view = self._words.data
        self._at = address(self._words)

    def _word(self, number: int, field: int) -> int:
        """Where a field of a derivation is."""
        return self._first + self._places[number] * STEP_WIDTH + field

    def bytecode(self, number: int) -> Bytecode:
        return self._bytecodes[number]

    def built(self) -> list[int]:
        """The numbers of the derivations that have bytecode."""
        return list(self._bytecodes)

    def fits(self, tables: Mapping[str, Table], bits: Mapping[str, BitRelation]) -> bool:
        """Whether the bytecodes that read bit rows refer to the current ones."""
        return all(b.fits(tables, bits) for b in self._bytecodes.values() if b.bits)

    def transpose(self, check: Check) -> None:
        """Transpose bit rows whose columns were searched for as long as that takes."""
        for bytecode in self._bytecodes.values():
            if bytecode.bits:
                bytecode.transpose(check)

    def add(self, number: int, bytecode: Bytecode) -> None:
        """Use this bytecode for a derivation."""
        self._bytecodes[number] = bytecode
        self.tables.update(bytecode.tables)
        self._view[self._word(number, layout.STEP_CODE)] = bytecode.at

    def hurry(self, rank: int, most: int, large: int, enough: int, steps: int, how: int) -> int:
        return hurry(self._at, rank, most, large, enough, steps, how)

    def skip(self, found: int, rows: int) -> None:
        """Go on after the step that it stopped at, which has been done.

        It found so many instances, and put so many rows on the worklist.
        """
        number = self.at_work
        self._view[self._word(number, layout.STEP_INSTANCES)] += found
        self._view[self._word(number, layout.STEP_STEPS)] += found
        self._view[self._word(number, layout.STEP_ROWS)] += rows
        self._view[POSITION] += 1

    @property
    def at_work(self) -> int:
        """The number of the derivation that it stopped at."""
        return bisect_left(self._places, self._view[POSITION])

    @property
    def rank(self) -> int:
        return int(self._view[layout.LOOP_RANK])

    @property
    def rounds(self) -> int:
        return int(self._view[ROUNDS])

    @property
    def replaces(self) -> bool:
        """Whether better heads replace others, so that not every row found is one more."""
        return int(self._view[layout.LOOP_MODE]) == layout.REPLACE

    @property
    def found(self) -> int:
        """How many rows all rounds put on the worklist."""
        return int(self._view[FOUND])

    def done(self) -> tuple[int, WhatWasDone]:
        """How many instances were found, and a function that tells what each derivation did."""
        words = self._words[self._first :].tolist()
        return sum(words[layout.STEP_INSTANCES :: STEP_WIDTH]), partial(_done, self._starts, words)


class _Built(NamedTuple):
    """A loop, and what it was built for."""

    loop: Loop
    version: int
    relations: list[str]
    magnitudes: list[int]


class Loops:
    """The loops of a program. `derive` and `driver` are those of the engine, for steps that are run alone."""

    def __init__(
        self,
        variants: Variants,
        runner: Runner,
        derive: Callable[[Derive, int], int],
        driver: Callable[[Derive], Rows | None],
    ) -> None:
        self._variants = variants
        self._runner = runner
        self._derive = derive
        self._driver = driver
        self._known: WeakKeyDictionary[Rounds, _Built] = WeakKeyDictionary()
        self.at_work: Loop | None = None

    def clear(self) -> None:
        self._known.clear()

    def run(self, rounds: Rounds, rank: int, most: int, enough: int) -> Loop | None:
        """Run up to `most` rounds, until one finds nothing or too much, or they take too long together.

        After `enough` rows another join order may be better, so they end with the round that finds them.
        Returns None, without effect, if there are too many rows to start from.
        """
        if rounds.end.mode is Mode.REDERIVE:
            self._count_suspects(rounds)
        loop, threads = self._get(rounds), self._runner.threads
        loop.transpose(self._runner.check)
        # many suspects may be better re-derived by one variable of their head
        large = suspects.FEW - 1 if rounds.end.mode is Mode.REDERIVE else LARGE
        steps = min(FIRST_STEPS, STEPS) if threads > 1 else STEPS
        self.at_work = loop
        try:
            status = loop.hurry(rank, most, large, enough, steps, BEGIN)
            while status not in (DONE, UNFIT):
                how = self._serve(loop, rounds.derivations[loop.at_work], status)
                status = loop.hurry(rank, most, large, enough, STEPS, how)
        finally:
            self.at_work = None
        return None if status == UNFIT else loop

    def _serve(self, loop: Loop, step: Derive, status: int) -> int:
        """Do what a loop stopped for at a step; returns how to go on."""
        runner, number = self._runner, loop.at_work
        if status == UNBUILT:
            bytecode = self._bytecode(step)
            if bytecode is None:
                runner.check()
                target = runner.working(step.rule.head)
                before = target.found_since
                loop.skip(self._derive(step, loop.rank), target.found_since - before)
            else:
                loop.add(number, bytecode)
            return CONTINUE
        bytecode = loop.bytecode(number)
        if status == FAILED:
            runner.check()
            runner.judge(bytecode.variant, step.views, self._driver(step), step.mode)
            bytecode.forget_results()
        else:
            target = runner.working(step.rule.head)
            bytecode.serve(status, target, runner.check, runner.threads if source(step) else 1)
        return RESUME

    def _bytecode(self, step: Derive) -> Bytecode | None:
        """The bytecode of a step; None if a part of it is computed on columns."""
        suspects = self._driver(step) if step.mode is Mode.REDERIVE else None
        variant = self._variants.first(step.rule, step.driver, None if suspects is None else len(suspects))
        if len(variant.stages) > 1 or variant.head is None:
            return None
        first = layout.LIST if source(step) else layout.DELTA
        request = Request(0, step.views, first, MODES[step.mode], self._runner.inside, ())
        return self._runner.bytecode_for(variant, request)

    def _count_suspects(self, rounds: Rounds) -> None:
        """Count the suspects that a loop starts from, since an index for them may pay off by now."""
        built = self._known.get(rounds)
        for number in () if built is None else built.loop.built():
            step = rounds.derivations[number]
            suspects = self._driver(step)
            if suspects is not None and len(suspects):
                self._variants.first(step.rule, step.driver, len(suspects))

    def _get(self, rounds: Rounds) -> Loop:
        """The loop of some rounds, built unless there is one for the current variants and tables."""
        built, tables = self._known.get(rounds), self._runner.tables
        if (
            built is None
            or built.version != self._variants.version
            or self._variants.magnitudes(built.relations) != built.magnitudes
            or any(tables.get(name) is not table for name, table in built.loop.tables.items())
            or not built.loop.fits(tables, self._runner.bits)
        ):
            read = sorted(frozenset().union(*(step.rule.reads for step in rounds.derivations)))
            magnitudes = self._variants.magnitudes(read)
            built = _Built(Loop(rounds, tables), self._variants.version, read, magnitudes)
            self._known[rounds] = built
        return built.loop


def _starting(step: Derive) -> str:
    """The relation whose rows a step starts from."""
    assert step.driver is not None
    literal = step.rule.body[step.driver]
    assert isinstance(literal, Match | Absent)
    return literal.relation


def _done(starts: Sequence[tuple[int, int]], words: Sequence[int]) -> list[tuple[int, Done]]:
    """The derivations that did anything, by their numbers, and what they did."""
    return [
        (number, Done._make((*words[at + layout.STEP_INSTANCES : at + STEP_WIDTH], True)))
        for number, at in starts
        if words[at + layout.STEP_STEPS]
    ]
