"""The inner loop over bit rows: runs the rest of a last level; part of the kernel `derive`."""

from __future__ import annotations

from tidelog.engine.local.kernels.bit_atoms import accept_pair, name_of, next_pair
from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.conditions import passes
from tidelog.engine.local.kernels.layout import (
    AGAIN,
    DONE,
    FIL_FROM,
    FIL_TO,
    HEAD,
    HIGHEST,
    INSTANCES,
    MOST_PENDING,
    NAMES_AT,
    PAUSE,
    PENDING_TO,
    PLACE,
    REL,
    SOURCE,
    STEPS,
    TARGET,
    UNKNOWN,
    WIDTH,
)
from tidelog.engine.local.kernels.memory import load64, store64
from tidelog.engine.local.kernels.pending import flush, next_pending, put_off

__all__ = ["sweep_pairs"]


@inlined
def _put_head(code, begins, names, x, y):
    """Store the values of a head: the name of a place, or else what is in its slot."""
    source, head = load64(code, SOURCE), load64(code, HEAD)
    for j in range(load64(code, WIDTH)):
        column = load64(code, source + j)
        if column >= 0:
            v = name_of(names, y if column else x)
        else:
            v = load64(code, load64(code, head + j))
        store64(code, begins + j, v)


@kernel
def sweep_pairs(code, level):
    """Run the rest of a last level whose columns are only bound. Each pair counts as one step."""
    target, width, above = load64(code, TARGET), load64(code, WIDTH), load64(code, level + HIGHEST)
    names = load64(load64(code, level + REL), NAMES_AT)
    conditions = load64(code, level + FIL_TO) - load64(code, level + FIL_FROM)
    steps, instances, status = load64(code, STEPS), 0, DONE
    while True:
        if load64(code, PENDING_TO) == MOST_PENDING:
            status = flush(code)
            if status != DONE:
                break
        y = next_pair(code, level)
        if y >= 0:
            passed = 1
            if conditions:
                accept_pair(code, level, y)
                passed = passes(code, level)
            if passed > 0:
                begins = next_pending(code, width)
                _put_head(code, begins, names, load64(code, level + PLACE), y)
                put_off(code, target, begins, width, above)
                instances += 1
            elif passed < 0:
                status = UNKNOWN
                break
        elif y != AGAIN:
            break
        steps -= 1
        if steps <= 0:
            status = PAUSE
            break
    store64(code, INSTANCES, load64(code, INSTANCES) + instances)
    store64(code, STEPS, steps)
    return status
