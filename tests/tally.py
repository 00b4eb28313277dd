"""What a run of the tests has tried: numbers that tests add to, and that are printed at the end.

Tests call `tally("programs", 200)`. Processes that share the work send their numbers to the first one.
"""

from __future__ import annotations

from collections import Counter

__all__ = ["TALLY", "tally"]

TALLY: Counter[str] = Counter()


def tally(what: str, number: int = 1) -> None:
    """Add to how many of something this run has tried."""
    TALLY[what] += number
