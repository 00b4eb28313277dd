"""The order of values as an order of integers.

The codes of a direct type have the order of its values. The codes of an interned type have the order of
insertion. `keys` returns integers that have the order of the values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidelog.engine.local.codes.interning import Codes, Dictionary
from tidelog.engine.local.kernels.layout import NONE

__all__ = ["arrange_sequences", "keys"]


def keys(dictionary: Dictionary | None, columns: Sequence[Codes]) -> tuple[Sequence[Codes], Codes | None]:
    """Map columns of codes to columns of integers in the order of the values; `none` comes first.

    Also returns the code of each integer from 0 on, or None if the integers are the codes.
    """
    if dictionary is None:
        return columns, None
    # sort the whole dictionary only if the columns are at least as long
    if len(dictionary) <= sum(map(len, columns)):
        codes = np.arange(len(dictionary))
        places = [np.where(c == NONE, len(dictionary), c) for c in columns]
        ranks = np.append(dictionary.ranks(), -1)
    else:
        codes, joined = np.unique(np.concatenate(columns), return_inverse=True)
        places = np.split(joined, np.cumsum([len(c) for c in columns])[:-1])
        ranks = _ranks(dictionary, codes)
    ordered = np.empty(len(codes), np.int64)
    ordered[ranks[: len(codes)]] = codes
    return [ranks[p] for p in places], ordered


def _ranks(dictionary: Dictionary, codes: Codes) -> Codes:
    """The ranks of distinct codes in ascending order, of which `none` is the first."""
    ranks = np.empty(len(codes), np.int64)
    first = int(len(codes) > 0 and codes[0] == NONE)
    ranks[:first] = 0
    ranks[first + dictionary.arrange(codes[first:])] = np.arange(first, len(codes))
    return ranks


def arrange_sequences(starts: Codes, lengths: Codes, items: Codes) -> Codes:
    """The order of distinct sequences of integers, compared item by item.

    Sequences that agree so far share a rank: the number of those before them. Each step tells them apart by
    one more item.
    """
    ranks = np.zeros(len(starts), np.int64)
    tied = np.arange(len(starts))
    position = 0
    while len(tied) > 1:
        goes_on = lengths[tied] > position
        item = np.zeros(len(tied), np.int64)
        item[goes_on] = items[starts[tied[goes_on]] + position]
        order = np.lexsort((item, goes_on, ranks[tied]))
        tied, goes_on, item = tied[order], goes_on[order], item[order]
        rank = ranks[tied]
        is_new_rank = np.append(True, rank[1:] != rank[:-1])
        is_new = is_new_rank | np.append(True, (goes_on[1:] != goes_on[:-1]) | (item[1:] != item[:-1]))
        places = np.arange(len(tied))
        begins = np.maximum.accumulate(np.where(is_new, places, 0))
        ranks[tied] = rank + begins - np.maximum.accumulate(np.where(is_new_rank, places, 0))
        is_last = np.append(is_new[1:], True)
        tied = tied[~(is_new & is_last)]
        position += 1
    order = np.empty(len(starts), np.int64)
    order[ranks] = np.arange(len(starts))
    return order
