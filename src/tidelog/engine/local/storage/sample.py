"""Samples of rows, from which join orders are estimated."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codes

__all__ = ["Fixed", "Sample", "sampled"]

Fixed: TypeAlias = tuple[tuple[int, int], ...]  # columns and their codes

_SIZE: Final = 1024  # rows
_SEARCHED: Final = 16 * _SIZE  # rows among which those with some codes are looked for
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


class Sample:
    """Some of the rows that have the codes `fixed`; `rows` is how many rows of any kind there were."""

    def __init__(self, data: npt.NDArray[np.signedinteger[Any]], fixed: Fixed) -> None:
        self.rows = len(data)
        searched = found = sampled(data, _SEARCHED if fixed else _SIZE)
        for column, code in fixed:
            found = found[found[:, column] == code]
        # there may be a few even if none was found
        self.share = max(len(found), 0.5) / max(len(searched), 1) if fixed else 1.0
        self._codes = sampled(found, _SIZE).astype(np.int64)
        self._alike: dict[tuple[int, ...], float] = {}

    def alike(self, columns: tuple[int, ...]) -> float:
        """How many rows share a row's values in these columns, on average over rows."""
        if columns not in self._alike:
            self._alike[columns] = self._estimate(columns)
        return self._alike[columns]

    def _estimate(self, columns: tuple[int, ...]) -> float:
        """The row itself, and as many others as pairs of rows in the sample suggest."""
        others = max(self.rows * self.share - 1, 0.0)
        pairs = len(self._codes) * (len(self._codes) - 1)
        if not pairs:
            return 1.0 + others
        _, counts = np.unique(_mixed(self._codes[:, columns]), return_counts=True)
        return 1.0 + others * float((counts * (counts - 1)).sum()) / pairs


def sampled(rows: npt.NDArray[Any], size: int = _SIZE) -> npt.NDArray[Any]:
    """At most this many rows from all parts, at uneven distances because rows may be periodic.

    They are the same rows of all arrays of a length.
    """
    if len(rows) <= size:
        return rows
    bounds = np.arange(size + 1) * len(rows) // size
    between = _mixed(bounds[:-1, None]) >> np.uint64(32)
    return rows[bounds[:-1] + (between.astype(np.int64) * np.diff(bounds) >> 32)]


def _mixed(tuples: Codes) -> npt.NDArray[np.uint64]:
    """A hash of each tuple."""
    mixed = np.full(len(tuples), _SPREAD)
    for column in range(tuples.shape[1]):
        mixed = (mixed ^ tuples[:, column].astype(np.uint64)) * _SPREAD
        mixed ^= mixed >> np.uint64(29)
    return mixed
