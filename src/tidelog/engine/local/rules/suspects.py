"""Whether suspects are looked for by one variable of their head, or by all of it.

With the whole head bound, a body is searched once for each suspect, and atoms that hold only some of its
variables are searched again and again with the same values. With one variable bound, they are searched once
for each of its values, and the head that comes out is looked up among the suspects: more heads come out than
are suspects, but no search is repeated. It pays where a good part of what comes out are suspects.
"""

from __future__ import annotations

import numpy as np

from tidelog.data.types import Option
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.storage.table import Rows
from tidelog.program.typed import Match, Var

__all__ = ["worth_filtering"]

_FEW = 256  # suspects below which it does not matter
_REPEATED = 8  # suspects for each value of a variable from which on filtering by it may pay
_OTHER = 8  # rows with these values, for each suspect, up to which it does
_SAMPLE = 4096


def worth_filtering(head: Match, data: Codes, suspects: Rows) -> tuple[str, Codes] | None:
    """The variable of the head with the fewest values among the suspects, and those, if filtering pays.

    `data` are all rows of the head's relation.
    """
    if len(suspects) < _FEW:
        return None
    best: tuple[int, str, Codes] | None = None
    for column, term in enumerate(head.terms):
        # none joins nothing, so a variable that may be none cannot stand before the atoms it is matched in
        plain = isinstance(term, Var) and not isinstance(term.type, Option)
        if isinstance(term, Var) and plain and not term.name.startswith("$"):
            values = np.unique(data[suspects, column])
            if best is None or len(values) < len(best[2]):
                best = column, term.name, values
    if best is None:
        return None
    column, name, values = best
    pays = len(values) * _REPEATED <= len(suspects) and _rows(data[:, column], values) <= _OTHER * len(
        suspects
    )
    return (name, values) if pays else None


def _rows(column: Codes, values: Codes) -> float:
    """About how many rows of a column have one of these values, judging by a sample."""
    sample = column[:: max(1, len(column) // _SAMPLE)]
    return float(np.isin(sample, values).mean()) * len(column)
