"""The kernel `hurry`: runs several rounds of a loop."""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import exported
from tidelog.engine.local.kernels.derive import run
from tidelog.engine.local.kernels.extrema import next_improved
from tidelog.engine.local.kernels.layout import (
    DELTA_FROM,
    DELTA_TO,
    DONE,
    FAILED,
    FAILURES,
    FOUND,
    HEADER,
    INSTANCES,
    LOOP_HEADER,
    LOOP_MODE,
    LOOP_RANK,
    LOOP_RELATIONS,
    LOOP_RULES,
    POSITION,
    REL,
    REPLACE,
    ROUNDS,
    STEPS,
)
from tidelog.engine.local.kernels.memory import load64, store64
from tidelog.engine.local.kernels.support import end_round

__all__ = ["hurry"]


@exported
def hurry(loop, most, large, enough, steps, resume):
    """Run rounds of a loop until one finds nothing or more than `large` rows, or there were `most` rounds.

    Except for the last round, they find at most `enough` rows and take at most `steps` steps together. It
    returns between rounds, or when something must grow or bytecode had failures; then the bytecode at
    POSITION must be resumed.
    """
    rules, relations, mode = load64(loop, LOOP_RULES), load64(loop, LOOP_RELATIONS), load64(loop, LOOP_MODE)
    first = LOOP_HEADER + relations
    left = steps
    while True:
        position, rank = load64(loop, POSITION), load64(loop, LOOP_RANK)
        while position < rules:
            code = load64(loop, first + position)
            relation = load64(code, HEADER + REL)
            if resume or load64(relation, DELTA_FROM) < load64(relation, DELTA_TO):
                status = run(code, rank, 0, 0, steps, resume)
                if status != DONE:
                    store64(loop, POSITION, position)
                    return status
                resume = 0
                left -= steps - load64(code, STEPS)
                found = first + rules + position
                store64(loop, found, load64(loop, found) + load64(code, INSTANCES))
                if load64(code, FAILURES):
                    store64(loop, POSITION, position)
                    return FAILED
            position += 1
        total = 0
        for i in range(relations):
            relation = load64(loop, LOOP_HEADER + i)
            total += next_improved(relation, 0, 0) if mode == REPLACE else end_round(relation, mode)
        store64(loop, POSITION, 0)
        store64(loop, ROUNDS, load64(loop, ROUNDS) + 1)
        store64(loop, LOOP_RANK, rank + 1)
        store64(loop, FOUND, load64(loop, FOUND) + total)
        left -= rules + total
        if total == 0 or total > large or load64(loop, FOUND) > enough:
            return DONE
        if load64(loop, ROUNDS) >= most or left <= 0:
            return DONE
