"""The kernel `run_parts`: runs a loop in the mode REPLACE to its end, one partition after the other.

The rows of a partition have the same value in a column, and what is derived from them has it, too. So a
partition can be brought to its end before the next one begins, and its rows stay in the cache. Its
*seeds* are the rows of the first delta, which is sorted by the column.

The ranks of each partition begin with that of the loop, since no tuple depends on one of another partition.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import cell
from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.derive import run
from tidelog.engine.local.kernels.extrema import low_third, next_improved
from tidelog.engine.local.kernels.layout import (
    CELLS_AT,
    CUR,
    DELTA_FROM,
    DELTA_TO,
    DONE,
    FAILED,
    FAILURES,
    INSTANCES,
    IS_MIDWAY,
    LISTED,
    PART_COLUMN,
    PART_FROM,
    PART_ROUNDS,
    PARTS_HEADER,
    PARTS_POSITION,
    PARTS_RANK,
    PARTS_ROUNDS,
    PARTS_RULES,
    PAUSE,
    SEEDS_TO,
    STEPS,
    STRIDE,
    TAG_AT,
    WIDE,
    WORKLIST_AT,
)
from tidelog.engine.local.kernels.memory import load8, load64, store8, store64

__all__ = ["run_parts"]

_MANY = 8  # rows of which some may wait
_PATIENCE = 4  # rounds after which no row waits any longer


@inlined
def _rule_at(loop, position):
    return load64(loop, PARTS_HEADER + 1 + position)


@inlined
def _part_of(relation, at, column):
    """The value in the column of the row at a position of the worklist."""
    row = load64(load64(relation, WORKLIST_AT), at)
    return cell(load64(relation, CELLS_AT), row * load64(relation, STRIDE) + column, load64(relation, WIDE))


@kernel
def _next_part(loop, relation):
    """Make the seeds of the next partition the delta; false if there is none."""
    first, end, column = load64(loop, PART_FROM), load64(loop, SEEDS_TO), load64(loop, PART_COLUMN)
    if first == end:
        return False
    last = end
    if column >= 0:
        last, part = first + 1, _part_of(relation, first, column)
        while last < end and _part_of(relation, last, column) == part:
            last += 1
    store64(relation, DELTA_FROM, first)
    store64(relation, DELTA_TO, last)
    store64(loop, PART_FROM, last)
    store64(loop, PART_ROUNDS, 0)
    return True


@kernel
def _leave_seeds(loop, relation):
    """Go on behind the seeds, where this partition's better rows are."""
    tags, listed = load64(relation, TAG_AT), load64(relation, WORKLIST_AT)
    for i in range(load64(relation, DELTA_FROM), load64(relation, DELTA_TO)):
        row = load64(listed, i)
        store8(tags, row, load8(tags, row) & ~CUR)
    store64(relation, DELTA_FROM, load64(loop, SEEDS_TO))
    store64(relation, DELTA_TO, load64(loop, SEEDS_TO))
    return 0


@kernel
def _end_round(loop, relation):
    """Make the better rows the delta, or the best of them; returns their number."""
    rounds = load64(loop, PART_ROUNDS) + 1
    store64(loop, PART_ROUNDS, rounds)
    if rounds > load64(loop, PARTS_ROUNDS):
        store64(loop, PARTS_ROUNDS, rounds)
    if load64(relation, DELTA_FROM) < load64(loop, SEEDS_TO):
        _leave_seeds(loop, relation)
    first, last = load64(relation, DELTA_TO), load64(relation, LISTED)
    if last - first > _MANY and rounds % _PATIENCE:
        found = next_improved(relation, 1, low_third(relation, first, last))
        if found:
            return found
    return next_improved(relation, 0, 0)


@kernel
def _run_rules(loop, steps):
    """Run all rules on the delta, from the one at PARTS_POSITION on; returns the status of the last one."""
    rules, rank = load64(loop, PARTS_RULES), load64(loop, PARTS_RANK) + load64(loop, PART_ROUNDS)
    for position in range(load64(loop, PARTS_POSITION), rules):
        code, found = _rule_at(loop, position), PARTS_HEADER + 1 + rules + position
        status = run(code, rank, 0, 0, steps, load64(loop, IS_MIDWAY))
        if status == DONE:
            store64(loop, found, load64(loop, found) + load64(code, INSTANCES))
            status = FAILED if load64(code, FAILURES) else DONE
        store64(loop, IS_MIDWAY, status != DONE)
        if status != DONE:
            store64(loop, PARTS_POSITION, position)
            return status
        steps = load64(code, STEPS)
    store64(loop, PARTS_POSITION, 0)
    return DONE


@exported
def run_parts(loop, most, steps):
    """Run a loop until its end, or until a partition had `most` rounds; returns DONE then.

    Otherwise something must grow, bytecode had failures, or the steps are used up, and it is called again.
    """
    relation, rules = load64(loop, PARTS_HEADER), load64(loop, PARTS_RULES)
    while True:
        if load64(relation, DELTA_FROM) == load64(relation, DELTA_TO) and not _next_part(loop, relation):
            return DONE
        status = _run_rules(loop, steps)
        if status != DONE:
            return status
        steps = load64(_rule_at(loop, rules - 1), STEPS) - rules - _end_round(loop, relation)
        if load64(loop, PART_ROUNDS) >= most:
            return DONE
        if steps <= 0:
            return PAUSE
