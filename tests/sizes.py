"""How much a test does: little with every change, much in the nightly size."""

from __future__ import annotations

import os

__all__ = ["size"]


def size(small: int, nightly: int) -> int:
    """The number for this run: `nightly` if TIDELOG_NIGHTLY is set."""
    return nightly if os.environ.get("TIDELOG_NIGHTLY") else small
