"""Rounds in one go: while deltas are small, what a round costs is mostly going from step to step.

The frames of a repetition are run in turn inside one kernel, which also ends the rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tidelog.engine.local.compiled import njit
from tidelog.engine.local.frame import STEPS, Frame, make_room
from tidelog.engine.local.heads import DONE, end_round
from tidelog.engine.local.index import address
from tidelog.engine.local.kernels import run
from tidelog.engine.local.layout import (
    FOUND,
    FRAMES,
    HEADER,
    INSTANCES,
    LOOP_HEADER,
    LOOP_MODE,
    LOOP_RANK,
    POSITION,
    REL,
    RELATIONS,
    ROUNDS,
)
from tidelog.engine.local.layout import STEPS as STEPS_LEFT
from tidelog.engine.local.memory import load64, store64
from tidelog.engine.local.rows import DELTA_FROM, DELTA_TO
from tidelog.engine.local.working import Working
from tidelog.engine.protocol import Check

__all__ = ["LARGE", "Loop"]

LARGE: Final = 4096  # rows of a delta that are worth a round of their own


class Loop:
    """`targets` are the tables that the heads of the frames go to."""

    def __init__(
        self,
        frames: Sequence[Frame],
        targets: Sequence[Working],
        relations: Sequence[Working],
        mode: int,
        rank: int,
    ) -> None:
        self._frames = frames
        self._targets = targets
        tables = [working.table.at for working in relations]
        header = [len(frames), len(relations), 0, 0, rank, mode, 0]
        self._words = np.array(
            [*header, *tables, *(frame.at for frame in frames), *(0 for _ in frames)], np.int64
        )
        self._view = self._words.data

    def run(self, most: int, check: Check) -> None:
        """Up to so many rounds, until one finds nothing or much, or all together took long."""
        at = address(self._words)
        status = hurry(at, most, LARGE, STEPS, False)
        while status != DONE:
            position = int(self._view[POSITION])
            make_room(status, self._frames[position], self._targets[position], check)
            status = hurry(at, most, LARGE, STEPS, True)

    @property
    def rounds(self) -> int:
        return int(self._view[ROUNDS])

    @property
    def found(self) -> int:
        """How many rows all rounds listed."""
        return int(self._view[FOUND])

    @property
    def instances(self) -> tuple[int, ...]:
        """How many each frame found."""
        return tuple(self._words[len(self._words) - len(self._frames) :].tolist())


@njit(cache=True, nogil=True)
def hurry(loop, most, large, steps, resume):  # type: ignore[no-untyped-def]
    """Rounds of a loop, until one finds nothing, or more than is `large`, or there were so many.

    Together they take no more than so many steps, but for the last round. It ends between rounds, or where
    something has to grow: then the frame at POSITION is to be resumed.
    """
    frames, relations, mode = load64(loop, FRAMES), load64(loop, RELATIONS), load64(loop, LOOP_MODE)
    first = LOOP_HEADER + relations
    left = steps
    while True:
        position, rank = load64(loop, POSITION), load64(loop, LOOP_RANK)
        while position < frames:
            frame = load64(loop, first + position)
            relation = load64(frame, HEADER + REL)
            if resume or load64(relation, DELTA_FROM) < load64(relation, DELTA_TO):
                status = run(frame, rank, 0, 0, steps, resume)
                if status != DONE:
                    store64(loop, POSITION, position)
                    return status
                resume = False
                left -= steps - load64(frame, STEPS_LEFT)
                found = first + frames + position
                store64(loop, found, load64(loop, found) + load64(frame, INSTANCES))
            position += 1
        total = 0
        for i in range(relations):
            total += end_round(load64(loop, LOOP_HEADER + i), mode)
        store64(loop, POSITION, 0)
        store64(loop, ROUNDS, load64(loop, ROUNDS) + 1)
        store64(loop, LOOP_RANK, rank + 1)
        store64(loop, FOUND, load64(loop, FOUND) + total)
        left -= frames + total
        if total == 0 or total > large or load64(loop, ROUNDS) >= most or left <= 0:
            return DONE
