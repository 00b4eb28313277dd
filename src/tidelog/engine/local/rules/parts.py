"""Runs the rounds of a recursion in which better heads replace others, one partition after the other.

One kernel does it all (see `kernels.partitions`), also with large deltas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tidelog.engine.local.kernels import layout
from tidelog.engine.local.kernels.layout import DONE, FAILED, PARTS_HEADER
from tidelog.engine.local.native.calls import address, run_parts
from tidelog.engine.local.rules.bytecode import STEPS, Bytecode, make_room
from tidelog.engine.local.storage.pending import Working
from tidelog.engine.protocol import Check
from tidelog.engine.statistics import Done, WhatWasDone

__all__ = ["Parts"]


class Parts:
    """The bytecodes of the rules of one relation, whose delta is partitioned."""

    def __init__(self, bytecodes: Sequence[Bytecode], relation: Working, rank: int) -> None:
        self._bytecodes = bytecodes
        self._relation = relation
        rules = [bytecode.at for bytecode in bytecodes]
        words = [*[0] * PARTS_HEADER, relation.table.at, *rules, *[0] * len(rules)]
        words[layout.PARTS_RULES], words[layout.PARTS_RANK] = len(rules), rank
        self._words = np.array(words, np.int64)
        self._view = self._words.data

    def run(self, column: int | None, most: int | None, check: Check, failed: Callable[[int], None]) -> None:
        """Run all rounds, or until a partition had `most` rounds.

        A partition has the rows with the same value in a column, by which the delta must be sorted. `failed`
        is called with the number of a bytecode that has skipped instances with failures.
        """
        words, table = self._view, self._relation.table.words
        words[layout.PART_COLUMN] = -1 if column is None else column
        words[layout.PART_FROM], words[layout.SEEDS_TO] = table[layout.DELTA_FROM], table[layout.DELTA_TO]
        table[layout.DELTA_FROM] = table[layout.DELTA_TO]
        at, left = address(self._words), 2**62 if most is None else most
        status = run_parts(at, left, STEPS)
        while status != DONE:
            bytecode = self._bytecodes[self.position]
            if status == FAILED:
                check()
                failed(self.position)
                bytecode.forget_results()
            else:
                make_room(status, self._relation, check, bytecode)
            status = run_parts(at, left, STEPS)

    @property
    def position(self) -> int:
        """The number of the bytecode that it stopped at."""
        return int(self._view[layout.PARTS_POSITION])

    @property
    def rounds(self) -> int:
        """How many rounds the partition with the most of them had."""
        return int(self._view[layout.PARTS_ROUNDS])

    def done(self) -> tuple[int, WhatWasDone]:
        """How many instances were found, and a function that tells what is known of each bytecode."""
        found = self._words[len(self._words) - len(self._bytecodes) :].tolist()
        done = [(number, Done(count, count)) for number, count in enumerate(found) if count]
        return sum(found), lambda: done
