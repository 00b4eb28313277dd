"""Fused rounds: with small deltas, the cost of a round is mostly the overhead between steps.

One kernel runs the bytecodes of a repetition in turn and also ends the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tidelog.engine.local.kernels.layout import (
    DONE,
    FAILED,
    FOUND,
    LOOP_HEADER,
    LOOP_MODE,
    LOOP_RANK,
    LOOP_RELATIONS,
    LOOP_RULES,
    POSITION,
    ROUNDS,
)
from tidelog.engine.local.native.calls import address, hurry
from tidelog.engine.local.rules.bytecode import STEPS, Bytecode, make_room
from tidelog.engine.local.storage.pending import Working
from tidelog.engine.protocol import Check

__all__ = ["LARGE", "Loop"]

LARGE: Final = 4096  # rows; larger deltas are run in single rounds


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
        tables = [working.table.at for working in relations]
        rules = [bytecode.at for bytecode in bytecodes]
        self._words = np.array([*[0] * LOOP_HEADER, *tables, *rules, *[0] * len(rules)], np.int64)
        self._words[LOOP_RULES], self._words[LOOP_RELATIONS] = len(rules), len(tables)
        self._words[LOOP_RANK], self._words[LOOP_MODE] = rank, mode
        self._view = self._words.data

    def run(self, most: int, enough: int, check: Check, failed: Callable[[int], None]) -> None:
        """Run up to `most` rounds, until one finds nothing or too much, or they take too long together.

        After `enough` rows another join order may be better, so it ends with the round that finds them.
        `failed` is called with the number of a bytecode that has skipped instances with failures.
        """
        at = address(self._words)
        status = hurry(at, most, LARGE, enough, STEPS, False)
        while status != DONE:
            bytecode = self._bytecodes[self.position]
            if status == FAILED:
                check()
                failed(self.position)
                bytecode.forget_results()
            else:
                make_room(status, self._targets[self.position], check, bytecode)
            status = hurry(at, most, LARGE, enough, STEPS, True)

    @property
    def position(self) -> int:
        """The number of the bytecode that it stopped at."""
        return int(self._view[POSITION])

    @property
    def rounds(self) -> int:
        return int(self._view[ROUNDS])

    @property
    def found(self) -> int:
        """How many rows all rounds put on the worklist."""
        return int(self._view[FOUND])

    @property
    def instances(self) -> tuple[int, ...]:
        """How many instances each bytecode found."""
        return tuple(self._words[len(self._words) - len(self._bytecodes) :].tolist())
