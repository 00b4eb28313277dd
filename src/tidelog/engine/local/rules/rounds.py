"""Fused rounds: with small deltas, the cost of a round is mostly the overhead between steps.

One kernel runs the bytecodes of a repetition in turn and also ends the rounds. If better heads replace
others, it runs one partition after the other (see `kernels.partitions`), also with large deltas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tidelog.engine.local.kernels.layout import (
    DELTA_FROM,
    DELTA_TO,
    DONE,
    FAILED,
    FOUND,
    LOOP_HEADER,
    LOOP_MODE,
    LOOP_RANK,
    LOOP_RELATIONS,
    LOOP_RULES,
    PART_COLUMN,
    PART_FROM,
    POSITION,
    REPLACE,
    ROUNDS,
    SEEDS_TO,
)
from tidelog.engine.local.native.calls import address, hurry, run_parts
from tidelog.engine.local.rules.bytecode import STEPS, Bytecode, make_room
from tidelog.engine.local.storage.pending import Working
from tidelog.engine.protocol import Check

__all__ = ["LARGE", "Loop"]

LARGE: Final = 4096  # rows; larger deltas are run in single rounds
_MOST: Final = 1000  # rounds in one call


class Loop:
    """A loop of bytecodes; `targets` are the tables of their heads."""

    def __init__(
        self,
        bytecodes: Sequence[Bytecode],
        targets: Sequence[Working],
        relations: Sequence[Working],
        mode: int,
        rank: int,
    ) -> None:
        self._bytecodes = bytecodes
        self._targets = targets
        self._relations = relations
        tables = [working.table.at for working in relations]
        rules = [bytecode.at for bytecode in bytecodes]
        self._words = np.array([*[0] * LOOP_HEADER, *tables, *rules, *[0] * len(rules)], np.int64)
        self._words[LOOP_RULES], self._words[LOOP_RELATIONS] = len(rules), len(tables)
        self._words[LOOP_RANK], self._words[LOOP_MODE] = rank, mode
        self._view = self._words.data

    def run(self, most: int | None, enough: int, check: Check, failed: Callable[[int], None]) -> None:
        """Run up to `most` rounds, until one finds nothing or too much, or they take too long or are many.

        After `enough` rows another join order may be better, so it ends with the round that finds them.
        `failed` is called with the number of a bytecode that has skipped instances with failures.
        """
        at, left = address(self._words), _MOST if most is None else min(most, _MOST)
        status = hurry(at, left, LARGE, enough, STEPS, False)
        while status != DONE:
            self._resolve(status, check, failed)
            status = hurry(at, left, LARGE, enough, STEPS, True)

    def run_parts(
        self, column: int | None, most: int | None, check: Check, failed: Callable[[int], None]
    ) -> None:
        """Run all rounds, one partition after the other, or until a partition had `most` rounds.

        A partition has the rows with the same value in a column, by which the delta must be sorted. There is
        one relation.
        """
        words, table = self._words, self._relations[0].table.words
        words[PART_COLUMN] = -1 if column is None else column
        words[PART_FROM], words[SEEDS_TO] = table[DELTA_FROM], table[DELTA_TO]
        table[DELTA_FROM] = table[DELTA_TO]
        left = 2**62 if most is None else most
        status = run_parts(address(words), left, STEPS)
        while status != DONE:
            self._resolve(status, check, failed)
            status = run_parts(address(words), left, STEPS)

    def _resolve(self, status: int, check: Check, failed: Callable[[int], None]) -> None:
        """Do what a kernel stopped for."""
        bytecode = self._bytecodes[self.position]
        if status == FAILED:
            check()
            failed(self.position)
            bytecode.forget_results()
        else:
            make_room(status, self._targets[self.position], check, bytecode)

    @property
    def position(self) -> int:
        """The number of the bytecode that it stopped at."""
        return int(self._view[POSITION])

    @property
    def rounds(self) -> int:
        return int(self._view[ROUNDS])

    @property
    def replaces(self) -> bool:
        """Whether better heads replace others, so that not every row found is one more."""
        return int(self._view[LOOP_MODE]) == REPLACE

    @property
    def found(self) -> int:
        """How many rows all rounds put on the worklist."""
        return int(self._view[FOUND])

    @property
    def instances(self) -> tuple[int, ...]:
        """How many instances each bytecode found."""
        return tuple(self._words[len(self._words) - len(self._bytecodes) :].tolist())
