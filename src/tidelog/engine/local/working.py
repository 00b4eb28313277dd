"""A commit at work: which rows a view shows, and what was done to a table so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codec import Codes
from tidelog.engine.local.rows import ALIVE, CUR, OLD
from tidelog.engine.local.table import Rows, Table
from tidelog.maintain.script import View

__all__ = ["MASKS", "NEGATED", "Bindings", "Change", "Working"]


def _mask(visible: Callable[[int], bool]) -> int:
    return sum(1 << tag for tag in range(32) if visible(tag))


_NEW = _mask(lambda t: bool(t & ALIVE))
MASKS = {
    View.OLD: _mask(lambda t: bool(t & OLD)),
    View.MIDDLE: _mask(lambda t: t & (ALIVE | OLD) == ALIVE | OLD),
    View.NEW: _NEW,
    View.LEAVING: _mask(lambda t: t & (ALIVE | OLD) == OLD),
    View.ENTERING: _mask(lambda t: t & (ALIVE | OLD) == ALIVE),
    View.FULL: _NEW,
    View.REST: _mask(lambda t: t & (ALIVE | CUR) == ALIVE),
    View.DELTA: _mask(lambda t: t & (ALIVE | CUR) == ALIVE | CUR),
    View.SUSPECTS: _mask(lambda t: True),
}
# the rows that contradict a negated atom, or as its delta make or break it
NEGATED = {
    View.OLD: MASKS[View.OLD],
    View.MIDDLE: _mask(lambda t: bool(t & (ALIVE | OLD))),
    View.NEW: _NEW,
    View.LEAVING: MASKS[View.ENTERING],
    View.ENTERING: MASKS[View.LEAVING],
}


@dataclass(slots=True)
class Working:
    """A table in a commit: what was written down of it, and the rows listed in this round."""

    name: str
    table: Table
    undo: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((4, 64), np.int64))
    logs: int = 0
    listed: Rows = field(default_factory=lambda: np.empty(64, np.int64))
    count: int = 0
    ranked: bool = False  # whether the unit at work is this table's own

    def grow_lists(self) -> None:
        if self.logs >= self.undo.shape[1]:
            self.undo = np.concatenate([self.undo, np.empty_like(self.undo)], axis=1)
        if self.count >= len(self.listed):
            self.listed = np.concatenate([self.listed, np.empty_like(self.listed)])

    def reserve_undo(self, more: int) -> None:
        """Make room for more notes of what rows were."""
        while self.undo.shape[1] < self.logs + more:
            self.undo = np.concatenate([self.undo, np.empty_like(self.undo)], axis=1)

    def take_list(self) -> Rows:
        rows = self.listed[: self.count].copy()
        self.count = 0
        return rows


@dataclass(slots=True)
class Bindings:
    """Instances written down: a column for each slot, then the highest rank and the first atom's row."""

    slots: list[int]
    data: Codes

    @property
    def size(self) -> int:
        return int(self.data.shape[1])


_EMPTY = np.empty(0, np.int64)


@dataclass(slots=True)
class Change:
    """What a commit has done to one relation so far."""

    working: Working
    given_before: list[tuple[Rows, npt.NDArray[np.uint8]]] = field(default_factory=list)
    given_came: Rows = field(default_factory=lambda: _EMPTY)
    given_went: Rows = field(default_factory=lambda: _EMPTY)
    whole: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]] | None = None
    delta: Rows = field(default_factory=lambda: _EMPTY)
    suspects: list[Rows] = field(default_factory=list)
    entering: Rows = field(default_factory=lambda: _EMPTY)
    leaving: Rows = field(default_factory=lambda: _EMPTY)
    highest: int = 0
