"""Rows of bits that several states of a relation share.

A commit that changes few steps computes few rows. The others are those of the state before: both states have
the same array, and say which of its rows each place has. A row is used again once no state that anybody still
holds has it. States are known by weak references.
"""

from __future__ import annotations

from weakref import ref

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.dense.bits import Bits, Places
from tidelog.engine.local.storage.growing import longer
from tidelog.engine.protocol import Check

__all__ = ["RowStore"]


class RowStore:
    def __init__(self, words: int) -> None:
        self.rows: npt.NDArray[np.uint64] = np.zeros((0, words), np.uint64)
        self._states: list[ref[Bits]] = []

    @property
    def words(self) -> int:
        return int(self.rows.shape[1])

    def take(self, count: int, check: Check) -> Places:
        """The numbers of so many rows that are 0 and not in use."""
        free = self._unused()[:count]
        self.rows[free] = 0
        more, used = count - len(free), len(self.rows)
        if more:
            check(8 * more * self.words)
            self.rows = longer(self.rows, used + more)
        return np.concatenate([free, np.arange(used, used + more)])

    def _unused(self) -> Places:
        is_used = np.zeros(len(self.rows), np.bool_)
        self._states = [state for state in self._states if state() is not None]
        for state in self._states:
            bits = state()
            if bits is not None:
                is_used[bits.ids] = True
        return np.flatnonzero(~is_used)

    def made(self, bits: Bits) -> Bits:
        """Note that a state has rows of this store."""
        self._states.append(ref(bits))
        return bits

    def has(self, bits: Bits) -> bool:
        """Whether a state has rows of this store."""
        return any(state() is bits for state in self._states)
