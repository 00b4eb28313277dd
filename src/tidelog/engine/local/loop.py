"""Rounds in one go: while deltas are small, what a round costs is mostly going from step to step.

The frames of a repetition are run in turn inside one kernel, which also ends the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tidelog.engine.local import kernels
from tidelog.engine.local.frame import STEPS, Frame, make_room
from tidelog.engine.local.index import address
from tidelog.engine.local.working import Working

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

    def run(self, most: int, check: Callable[[], None]) -> None:
        """Up to so many rounds, until one finds nothing or much."""
        at = address(self._words)
        status = kernels.hurry(at, most, LARGE, STEPS, False)
        while status != kernels.DONE:
            position = int(self._view[kernels.POSITION])
            make_room(status, self._frames[position], self._targets[position], check)
            status = kernels.hurry(at, most, LARGE, STEPS, True)

    @property
    def rounds(self) -> int:
        return int(self._view[kernels.ROUNDS])

    @property
    def found(self) -> int:
        """How many rows all rounds listed."""
        return int(self._view[kernels.FOUND])

    @property
    def instances(self) -> tuple[int, ...]:
        """How many each frame found."""
        return tuple(self._words[len(self._words) - len(self._frames) :].tolist())
