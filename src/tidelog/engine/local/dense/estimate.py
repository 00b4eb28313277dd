"""Estimates the size of a recursion before its first round, to decide whether it begins as bits.

The largest strongly connected component is a lower bound, and the number of paths an upper one. If these do
not decide, the number of pairs is estimated as in Cohen's size-estimation framework: every value draws random
ranks, and each component keeps the smallest rank of all values that it is paired with, which takes one pass
over the steps. The smallest of n uniform ranks is 1 / (n + 1) on average. So an estimate takes time and space
by the steps, not by the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.matrix import pays
from tidelog.engine.local.dense.patterns import Operand, Pattern
from tidelog.engine.local.native import calls
from tidelog.engine.local.storage.table import Table
from tidelog.engine.protocol import Check

__all__ = ["begins_dense"]

# ranks drawn in a pass, and how many times above or below the limit an estimate decides at once
_PASSES: Final = ((2, 16), (6, 4), (8, 4), (8, 4), (8, 4))
_LARGEST: Final = 2**62  # ranks are below
_NO_PAIRS: Final = np.empty((2, 0), np.int64)


def begins_dense(
    fits: Pattern,
    size: Callable[[str], int],
    pairs: Callable[[str], Codes],
    asserted: Codes,
    check: Check,
) -> bool:
    """Whether a recursion will be dense, given the sizes and the pairs of the relations that it reads."""
    operands = fits.bases if fits.closed else fits.steps
    rows = sum(size(o.relation) for o in operands) + len(asserted) * fits.closed
    if not pays(rows * rows, rows):  # not even if all values were paired
        return False
    names = Table(1)
    known = {name: _places(names, pairs(name)) for name in fits.below()}
    given = _turned(_places(names, asserted), fits.turned)

    def grouped(operands: tuple[Operand, ...], *more: Codes) -> calls.Grouped:
        parts = [_turned(known[o.relation], o.turned) for o in operands]
        first, second = np.concatenate([*parts, *more, _NO_PAIRS], axis=1)
        return calls.grouped(first, second, names.rows)

    base = grouped(fits.bases, given)
    is_shared = fits.closed or (fits.bases == fits.steps and not len(asserted))
    step = base if is_shared else grouped(fits.steps)
    check()
    component, count = calls.components(step)
    largest = int(np.bincount(component, minlength=1).max()) if count else 0
    places = names.rows
    return pays(largest * largest, places) or _is_expected(step, base, component, count, places, check)


def _places(names: Table, pairs: Codes) -> Codes:
    """The pairs as two columns of places, which are the rows of their values among the names."""
    return names.add(pairs.reshape(-1, 1)).reshape(-1, 2).T


def _turned(columns: Codes, turned: bool) -> Codes:
    return columns[::-1] if turned else columns


def _is_expected(
    step: calls.Grouped, base: calls.Grouped, component: Codes, count: int, places: int, check: Check
) -> bool:
    """Whether the number of pairs, estimated with more and more ranks, is enough."""
    random, sums, drawn = np.random.default_rng(0), np.zeros(count), 0
    members = calls.grouped(component, np.arange(len(component)), count)
    if not pays(calls.most_pairs(step, base, component, members, places), places):
        return False
    for more, sure in _PASSES:
        check(8 * more * (places + count))
        ranks = random.integers(_LARGEST, size=(places, more))
        sums += (calls.lowest_ranks(step, base, component, members, ranks, _LARGEST) / _LARGEST).sum(axis=1)
        drawn += more
        each = np.minimum(drawn / np.maximum(sums, 1 / _LARGEST) - 1, places)
        expected = int(np.maximum(each, 0)[component].sum())
        if pays(expected, places) is pays(expected // sure, places) is pays(expected * sure, places):
            break
    return pays(expected, places)
