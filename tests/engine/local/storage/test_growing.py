"""Hash tables that grow in place find the same rows as before."""

from __future__ import annotations

import numpy as np
import pytest

from tidelog.engine.local.native.calls import enlarge, spread
from tidelog.engine.local.storage import growing
from tidelog.engine.local.storage.table import Table

_LOWER = 0xFFFFFFFF


def homes(slots: np.ndarray, size: int) -> dict[int, int]:
    """Where each slot belongs."""
    return {int(s): int(((int(s) >> 32) & _LOWER) * size >> 32) for s in slots if s}


def expect_found(slots: np.ndarray) -> None:
    """Every slot is reached from its place without passing a free one."""
    places = {int(s): i for i, s in enumerate(slots) if s}
    for slot, home in homes(slots, len(slots)).items():
        at = home
        while at != places[slot]:
            assert slots[at] != 0
            at = (at + 1) % len(slots)


@pytest.mark.parametrize("seed", range(40))
def test_a_table_that_was_spread_has_every_slot_where_it_is_found(seed: int) -> None:
    random = np.random.default_rng(seed)
    size, larger = 64, 64 + int(random.integers(1, 100))
    # few different hashes, and some at both ends, make long runs that also wrap around
    some = random.integers(0, 2**32, 6)
    halves = np.concatenate([random.choice(some, 20), [0, 0, 2**32 - 1, 2**32 - 1, 2**32 - 2], some])
    entries = np.array(
        [(int(h) << 32 | (i + 1)) - (2**64 if h >= 2**31 else 0) for i, h in enumerate(halves)], np.int64
    )
    small = np.zeros(size, np.int64)
    enlarge(small, entries)
    slots = np.concatenate([small, np.zeros(larger - size, np.int64)])
    spread(slots, size)
    assert sorted(slots[slots != 0]) == sorted(entries)
    expect_found(slots)


def test_a_large_table_grows_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "IN_PLACE", 1024)
    table = Table(2)
    data = np.random.default_rng(0).integers(0, 2**40, (30_000, 2))
    for first in range(0, len(data), 1000):
        table.add(data[first : first + 1000])
    assert (table.find(data) == np.arange(len(data))).all()
    assert (table.find(data + 2**41) < 0).all()
