"""The kernel `hurry`: runs several rounds of a loop."""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import exported, kernel
from tidelog.engine.local.kernels.derive import run
from tidelog.engine.local.kernels.extrema import next_improved
from tidelog.engine.local.kernels.layout import (
    BEGIN,
    DELTA_FROM,
    DELTA_TO,
    DONE,
    FAILED,
    FAILURES,
    FOUND,
    INSTANCES,
    LISTED,
    LOOP_HEADER,
    LOOP_MODE,
    LOOP_RANK,
    LOOP_RELATIONS,
    LOOP_STEPS,
    POSITION,
    REPEATED,
    REPLACE,
    RESUME,
    ROUNDS,
    STEP_CODE,
    STEP_INSTANCES,
    STEP_LIST,
    STEP_ROWS,
    STEP_STEPS,
    STEP_TABLE,
    STEP_WIDTH,
    STEPS,
    TARGET,
    UNBUILT,
    UNFIT,
)
from tidelog.engine.local.kernels.memory import load64, store64
from tidelog.engine.local.kernels.support import end_round

__all__ = ["hurry"]


@kernel
def _step_at(loop, position):
    """The address of a step."""
    return loop + 8 * (LOOP_HEADER + load64(loop, LOOP_RELATIONS) + STEP_WIDTH * position)


@kernel
def _starting_rows(step):
    """How many rows a derivation starts from."""
    relation, listed = load64(step, STEP_TABLE), load64(step, STEP_LIST)
    if listed:
        return load64(relation, listed + 1)
    return load64(relation, DELTA_TO) - load64(relation, DELTA_FROM)


@kernel
def _begin_loop(loop, rank, large):
    """Begin with the first step; false if a derivation starts from more than `large` rows."""
    count = load64(loop, LOOP_STEPS)
    for i in range(count):
        step = _step_at(loop, i)
        if load64(step, STEP_TABLE) and _starting_rows(step) > large:
            return False
        store64(step, STEP_INSTANCES, 0)
        store64(step, STEP_STEPS, 0)
        store64(step, STEP_ROWS, 0)
    store64(loop, POSITION, 0)
    store64(loop, ROUNDS, 0)
    store64(loop, FOUND, 0)
    store64(loop, LOOP_RANK, rank)
    return True


@kernel
def _run_step(loop, step, steps, resume):
    """Run or resume the bytecode of a step; returns its status."""
    code, relation, listed = load64(step, STEP_CODE), load64(step, STEP_TABLE), load64(step, STEP_LIST)
    if code == 0:
        return UNBUILT
    at, size = (load64(relation, listed), load64(relation, listed + 1)) if listed else (0, 0)
    target = load64(code, TARGET)
    before = load64(target, LISTED)
    store64(code, STEPS, steps)
    status = run(code, load64(loop, LOOP_RANK), at, size, steps, resume)
    store64(step, STEP_STEPS, load64(step, STEP_STEPS) + steps - load64(code, STEPS))
    store64(step, STEP_ROWS, load64(step, STEP_ROWS) + load64(target, LISTED) - before)
    if status != DONE:
        return status
    store64(step, STEP_INSTANCES, load64(step, STEP_INSTANCES) + load64(code, INSTANCES))
    return FAILED if load64(code, FAILURES) else DONE


@kernel
def _end_rounds(loop):
    """End a round of all relations; returns how many rows it found."""
    total = 0
    for i in range(load64(loop, LOOP_RELATIONS)):
        relation, mode = load64(loop, LOOP_HEADER + i), load64(loop, LOOP_MODE)
        total += next_improved(relation, 0, 0) if mode == REPLACE else end_round(relation, mode)
    store64(loop, ROUNDS, load64(loop, ROUNDS) + 1)
    store64(loop, LOOP_RANK, load64(loop, LOOP_RANK) + 1)
    store64(loop, FOUND, load64(loop, FOUND) + total)
    return total


@exported
def hurry(loop, rank, most, large, enough, steps, how):
    """Run the steps of a loop in turn, and repeat the last ones until a round finds nothing.

    It begins only if no derivation starts from more than `large` rows. It ends before another repetition if a
    round found more than `large` rows, or all of them more than `enough`, if there were `most` rounds, or if
    they took `steps` steps together. It stops at POSITION if something must grow, if bytecode had failures,
    or if a step with rows to start from has no bytecode.
    """
    if how == BEGIN and not _begin_loop(loop, rank, large):
        return UNFIT
    count, repeated, left = load64(loop, LOOP_STEPS), load64(loop, REPEATED), steps
    position, resume = load64(loop, POSITION), how == RESUME
    while position < count:
        step = _step_at(loop, position)
        position += 1
        if load64(step, STEP_TABLE):
            left -= 1
            if resume or _starting_rows(step):
                status = _run_step(loop, step, steps, resume)
                if status != DONE:
                    store64(loop, POSITION, position - 1)
                    return status
                left -= steps - load64(load64(step, STEP_CODE), STEPS)
                resume = False
            continue
        total = _end_rounds(loop)
        left -= total
        if position == repeated or position == count:
            if total == 0 or repeated == count:
                return DONE
            position = repeated
            if total > large or load64(loop, FOUND) > enough or load64(loop, ROUNDS) >= most or left <= 0:
                return DONE
    return DONE
