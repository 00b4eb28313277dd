"""Whether suspects are looked for by one variable of their head, or by all of it.

With the whole head bound, a body is searched once for each suspect, and atoms that hold only some of its
variables are searched again and again with the same values. With one variable bound, they are searched once
for each of its values, and the head that comes out is looked up among the suspects: more heads come out than
are suspects, but no search is repeated.
"""

from __future__ import annotations

import numpy as np

from tidelog.data.types import Option
from tidelog.engine.local.codec import Codes
from tidelog.engine.local.table import Rows
from tidelog.program.typed import Match, Var

__all__ = ["worth_filtering"]

_FEW = 256  # suspects below which it does not matter
_REPEATED = 8  # suspects for each value of a variable from which on filtering by it pays


def worth_filtering(head: Match, data: Codes, suspects: Rows) -> tuple[str, Codes] | None:
    """The variable of the head with the fewest values among the suspects, and those, if they are few."""
    if len(suspects) < _FEW:
        return None
    best: tuple[str, Codes] | None = None
    for column, term in enumerate(head.terms):
        # none joins nothing, so a variable that may be none cannot stand before the atoms it is matched in
        plain = isinstance(term, Var) and not isinstance(term.type, Option)
        if isinstance(term, Var) and plain and not term.name.startswith("$"):
            values = np.unique(data[suspects, column])
            if best is None or len(values) < len(best[1]):
                best = term.name, values
    return best if best is not None and len(best[1]) * _REPEATED <= len(suspects) else None
