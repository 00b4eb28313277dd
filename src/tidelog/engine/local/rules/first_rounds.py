"""What is known of the first round of a recursion that is loaded: all rows of its relations are in the delta.

Then no row is before the delta, so a rule that reads such rows finds nothing. And a rule that begins with
the delta would look at all rows, although its first atom may have constants. If an index that other rules
use finds these, the rule begins with the rows found there.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.calls import collect
from tidelog.engine.local.rules.compiler import Level
from tidelog.engine.local.storage.pending import Change, Working
from tidelog.engine.local.storage.table import Rows
from tidelog.maintain.script import Derive, Mode, View
from tidelog.program.typed import Match

__all__ = ["reads_nothing", "with_constants"]

_MANY: Final = 4096  # rows that are worth a lookup


def _are_all_new(working: Working) -> bool:
    """Whether all rows are in the delta or later on the worklist, while rows are only inserted."""
    words = working.table.words
    return bool(words[layout.LISTED] - words[layout.DELTA_FROM] >= words[layout.ROWS])


def reads_nothing(step: Derive, pending: Mapping[str, Change], as_bits: Container[str]) -> bool:
    """Whether an atom reads the rows before the delta where there are none."""
    if step.mode is not Mode.INSERT or View.REST not in step.views:
        return False
    read = [x for x, view in zip(step.rule.body, step.views, strict=True) if view is View.REST]
    names = [x.relation for x in read if isinstance(x, Match) and x.relation not in as_bits]
    return any(name in pending and _are_all_new(pending[name].working) for name in names)


def with_constants(level: Level, working: Working, slots: Codes, delta: Rows) -> Rows:
    """The rows of a delta that can match the first atom of a rule; all of them if no index finds these.

    Later rows may be among them, which the atom does not show, and rows with other constants.
    """
    if not level.keys or len(delta) < _MANY or not _are_all_new(working):
        return delta
    values, last = {column: slots[slot] for column, slot, _ in level.keys}, int(delta.max())
    indexes = working.table.indexes.items()
    found = [columns for columns, index in indexes if values.keys() >= set(columns) and index.covered > last]
    if not found:
        return delta
    columns = max(found, key=len)
    key = np.array([[values[column] for column in columns]], np.int64)
    return collect(working.table.at, working.table.indexes[columns].at, key)[1]
