"""A store stays small: its segments in proportion to its relations, its states in proportion to the rows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from bench.store_size import measured

from sizes import size


def test_a_store_stays_in_proportion_to_what_it_holds(tmp_path: Path) -> None:
    """Not of a few rows: a Parquet file without rows takes a kilobyte."""
    found = list(measured(tmp_path, nodes=size(5000, 50_000), commits=size(12, 50)))
    assert max(sizes.segments / sizes.parquet for sizes in found) < 3
    assert max(sizes.newest_state / sizes.rows for sizes in found) < 60
    for before, sizes in pairwise(found):
        assert sizes.states <= before.newest_state + sizes.newest_state
