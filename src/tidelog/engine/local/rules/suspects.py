"""Decides whether to re-derive suspects by one variable of their head or by the whole head.

With the whole head bound, the body is searched once for each suspect, and atoms with only some of its
variables are searched repeatedly with the same values. With one variable bound, they are searched once for
each of its values, and each derived head is looked up among the suspects. This derives more heads than there
are suspects but repeats no search. It pays off if a good part of the derived heads are suspects.
"""

from __future__ import annotations

import numpy as np

from tidelog.data.types import Option
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.storage.table import Cells, Rows
from tidelog.program.typed import Match, Var

__all__ = ["FEW", "worth_filtering"]

FEW = 256  # with fewer suspects it does not matter
_REPEATED = 8  # filter by a variable if there are at least this many suspects per value
_OTHER = 8  # and at most this many rows with these values per suspect
_SAMPLE = 4096


def worth_filtering(head: Match, data: Cells, suspects: Rows) -> tuple[str, Codes] | None:
    """The head variable with the fewest values among the suspects, and the values; None if not worthwhile.

    `data` holds all rows of the head's relation.
    """
    if len(suspects) < FEW:
        return None
    best: tuple[int, str, Codes] | None = None
    for column, term in enumerate(head.terms):
        # `none` joins nothing, so a variable that may be `none` cannot be bound before the atoms it occurs in
        plain = isinstance(term, Var) and not isinstance(term.type, Option)
        if isinstance(term, Var) and plain and not term.name.startswith("$"):
            values = np.unique(data[suspects, column]).astype(np.int64)
            if best is None or len(values) < len(best[2]):
                best = column, term.name, values
    if best is None:
        return None
    column, name, values = best
    pays = len(values) * _REPEATED <= len(suspects) and _rows(data[:, column], values) <= _OTHER * len(
        suspects
    )
    return (name, values) if pays else None


def _rows(column: Cells, values: Codes) -> float:
    """Estimate from a sample how many rows of a column have one of these values."""
    sample = column[:: max(1, len(column) // _SAMPLE)]
    return float(np.isin(sample, values).mean()) * len(column)
