"""The end of a round in which better values were found.

If many values were improved, the worse half of them waits, since it may be superseded soon, but not in every
round: with negative weights, say, going on with the best values only could take exponential time.
"""

from __future__ import annotations

from typing import Final

from tidelog.engine.local.native.calls import next_improved
from tidelog.engine.local.storage.pending import Working

__all__ = ["next_delta"]

_MANY: Final = 4096  # rows of which half may wait
_PATIENCE: Final = 4  # rounds after which no row waits any longer


def next_delta(working: Working, number: int) -> None:
    """Make the better rows the delta of this round, or about half of them if there are many."""
    if working.best is not None:
        working.best.prepare()
    waiting, cut = working.listed_since, None
    if number % _PATIENCE and working.best is not None and len(waiting) > _MANY:
        cut = working.best.middle(waiting)
    if not next_improved(working.table.at, cut) and cut is not None:
        next_improved(working.table.at, None)
