"""The rows that come closest to a missing one: they differ in the fewest columns, and there the least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import combinations
from typing import Final

from tidelog.data.values import Value
from tidelog.proofs.model import Fact
from tidelog.proofs.state import State

__all__ = ["NEAR", "nearest"]

NEAR: Final = 3
_CANDIDATES: Final = 500
_COMBINATIONS: Final = 40
_LONGEST: Final = 100  # characters of a text that is compared


def nearest(state: State, relation: str, bound: Mapping[int, Value]) -> tuple[Fact, ...]:
    """Some rows of a relation that have most of these values; the closest first."""
    for kept in _parts(bound):
        rows = state.some(relation, kept, _CANDIDATES)
        if rows:
            ordered = sorted(
                rows, key=lambda row: (sum(_distance(row[i], v) for i, v in bound.items()), repr(row))
            )
            return tuple(Fact(relation, row) for row in ordered[:NEAR])
    return ()


def _parts(bound: Mapping[int, Value]) -> Iterator[Mapping[int, Value]]:
    """The values with one of them left out, then with two, and so on; not without all."""
    tried = 0
    for left in range(1, max(len(bound), 2)):
        for columns in combinations(bound, max(len(bound) - left, 0)):
            yield {i: bound[i] for i in columns}
            tried += 1
            if tried == _COMBINATIONS:
                return


def _distance(found: Value, wanted: Value) -> float:
    """From 0 for the same value to 1; values are only compared if they are texts or numbers."""
    if found == wanted:
        return 0.0
    match found, wanted:
        case str(), str():
            left, right = found[:_LONGEST].lower(), wanted[:_LONGEST].lower()
            return 1.0 - 0.999 * SequenceMatcher(None, left, right).ratio()
        case ((int() | float()), (int() | float())):
            apart = abs(float(found) - float(wanted)) if abs(found) < 1e300 and abs(wanted) < 1e300 else 1e300
            return apart / (1.0 + apart) if apart == apart else 1.0
        case _:
            return 1.0
