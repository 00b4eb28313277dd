"""How much a test does: little with every change, least while working on one, much in the nightly size."""

from __future__ import annotations

import os

__all__ = ["size"]


def size(small: int, nightly: int) -> int:
    """The number for this run: `nightly` with TIDELOG_NIGHTLY set, a fifth of `small` with TIDELOG_QUICK."""
    if os.environ.get("TIDELOG_NIGHTLY"):
        return nightly
    if os.environ.get("TIDELOG_QUICK"):
        return min(small, max(1, small // 5))
    return small
