"""Pairs of places as bit rows, and the difference of two states.

A pair is one bit, so union and difference are operations on words, sixty-four pairs at a time. The rows of a
state are never modified while it is held, so whoever reads them has to keep the state, not only its arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.native import calls
from tidelog.engine.protocol import Check

__all__ = ["NO_BITS", "Bits", "Difference", "Places"]

Places: TypeAlias = npt.NDArray[np.int64]

_LINE: Final = 8  # words of a cache line
_SAMPLE: Final = 64  # rows from which fan-outs are estimated


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Bits:
    """Pairs of places: the row of place x is `rows[ids[x]]`. Never modified while it is held."""

    rows: npt.NDArray[np.uint64]
    ids: Places
    size: int

    def pairs(self, places: Places | None = None, less: Bits | None = None) -> Codes:
        """The pairs of all or some places, without those in `less`."""
        places = np.arange(len(self.ids)) if places is None else places
        less = less or NO_BITS
        return calls.pairs(places, self.rows, self.ids, less.rows, less.ids)

    def has(self, place: int, other: int) -> bool:
        if place >= len(self.ids) or other >> 6 >= self.rows.shape[1]:
            return False
        return bool(self.rows[self.ids[place], other >> 6] >> np.uint64(other & 63) & np.uint64(1))

    def more_than(self, places: Places, less: Bits) -> int:
        """The number of pairs of some places that are not in `less`."""
        return calls.count_more(places, self.rows, self.ids, less.rows, less.ids)

    def among(self, places: Places, others: Places) -> npt.NDArray[np.bool_]:
        """Which pairs of these places are present; those with a negative place are not."""
        is_known = (places >= 0) & (places < len(self.ids))
        is_known &= (others >= 0) & (others >> 6 < self.rows.shape[1])
        found = np.zeros(len(places), np.bool_)
        x, y = places[is_known], others[is_known]
        words = self.rows[self.ids[x], y >> 6]
        found[is_known] = (words >> (y & 63).astype(np.uint64)) & np.uint64(1) != 0
        return found

    def alike(self, column: int) -> float:
        """Estimate how many pairs share a pair's place in a column, from the rows of some places."""
        if not self.size:
            return 1.0
        step = max(len(self.ids) // _SAMPLE, 1)
        sample = np.unpackbits(self.rows[self.ids[::step]].view(np.uint8), axis=1)
        counts = sample.sum(axis=1 - column, dtype=np.int64) * (step if column else 1)
        return max(float((counts * counts).sum()) / max(int(counts.sum()), 1), 1.0)

    def transposed_room(self, check: Check) -> npt.NDArray[np.uint64]:
        """Empty rows for `transposed`. Raises if memory does not suffice."""
        shape = 64 * self.rows.shape[1], max(-(-len(self.ids) // 64), 1)
        check(8 * shape[0] * shape[1])
        return np.zeros(shape, np.uint64)

    def transposed(self, rows: npt.NDArray[np.uint64], check: Check) -> Bits:
        """The same pairs, by their second place, in rows that are empty."""
        words = self.rows.shape[1]
        for first in range(0, words, _LINE):
            check()
            calls.transpose(self.rows, self.ids, first, min(first + _LINE, words), rows)
        return Bits(rows, np.arange(len(rows)), self.size)

    def described(self) -> tuple[int, ...]:
        """The words of its descriptor (see `kernels.layout`)."""
        return calls.address(self.rows), self.rows.shape[1], calls.address(self.ids), len(self.ids)

    def holds(self, place: int, other: int) -> bool:
        """Whether the row of `place` contains the row of `other`."""
        if max(place, other) >= len(self.ids):
            return False
        more = self.rows[self.ids[other]] & ~self.rows[self.ids[place]]
        return not more.any()


NO_BITS: Final = Bits(np.zeros((1, 1), np.uint64), np.empty(0, np.int64), 0)


@dataclass(frozen=True, slots=True)
class Difference:
    """The pairs of some places that are in one state and not in another, computed when they are read."""

    names: Codes
    places: Places
    bits: Bits
    less: Bits
    turned: bool

    def __len__(self) -> int:
        return self.bits.more_than(self.places, self.less)

    def codes(self) -> Codes:
        pairs = self.bits.pairs(self.places, self.less)
        return self.names[pairs[:, ::-1] if self.turned else pairs]
