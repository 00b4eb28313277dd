"""Generates facts about software, in the form that analysers extract from real code.

Code is a set of functions. Most facts stay inside one function; some cross to another, as arguments and
return values do. Sizes are proportional to the number of functions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["aliases", "dataflow", "points_to"]

Facts = dict[str, npt.NDArray[np.int64]]


def aliases(functions: int, seed: int = 0, variables: int = 24) -> Facts:
    """For CSPA: assignments (destination, source), and three times as many dereferences (pointer, value)."""
    rng = np.random.default_rng(seed)
    assigns = _flow(rng, functions, variables, per_function=variables // 2, crossing=0.04)
    pointers = _inside(rng, functions, variables, 3 * (variables // 2))
    targets = _inside(rng, functions, variables, 3 * (variables // 2))
    # a value has one home: as in real code, pointers rarely share values
    apart = functions * variables + np.where(rng.random(len(targets)) < 0.7, np.arange(len(targets)), targets)
    return {"Assign": assigns, "Dereference": _distinct(pointers, apart)}


def dataflow(functions: int, seed: int = 0, steps: int = 60) -> Facts:
    """For CSDA: control flow, mostly straight with some branches and calls, and origins of null values."""
    rng = np.random.default_rng(seed)
    points = np.arange(functions * steps)
    straight = points[points % steps != steps - 1]
    skipping = rng.choice(straight, len(straight) // 8, replace=False)
    ahead = skipping + 2 + rng.integers(5, size=len(skipping))
    inside = ahead // steps == skipping // steps
    calls = rng.choice(points, functions // 2, replace=False)
    callees = rng.integers(functions, size=len(calls)) * steps
    later = callees > calls  # callees come after their callers, so that the code is not one big loop
    arcs = _distinct(
        np.concatenate([straight, skipping[inside], calls[later]]),
        np.concatenate([straight + 1, ahead[inside], callees[later]]),
    )
    starts = rng.choice(points, max(1, len(points) // 40), replace=False)
    return {"NullEdge": _distinct(starts, starts + 1 - (starts % steps == steps - 1)), "Arc": arcs}


def points_to(functions: int, seed: int = 0, variables: int = 20, fields: int = 8) -> Facts:
    """For points-to: allocations, assignments, and loads and stores of fields."""
    rng = np.random.default_rng(seed)
    made = _inside(rng, functions, variables, variables // 5)
    accesses = variables // 4
    loads = [_inside(rng, functions, variables, accesses) for _ in range(2)]
    stores = [_inside(rng, functions, variables, accesses) for _ in range(2)]
    which = rng.integers(fields, size=(2, functions * accesses))
    return {
        "New": _distinct(made, np.arange(len(made))),
        "Assign": _flow(rng, functions, variables, per_function=variables // 2, crossing=0.05),
        "Load": _distinct(loads[0], loads[1], which[0]),
        "Store": _distinct(stores[0], which[1], stores[1]),
    }


def _flow(
    rng: np.random.Generator, functions: int, variables: int, *, per_function: int, crossing: float
) -> npt.NDArray[np.int64]:
    """Assignments: a variable takes the value of an earlier one, rarely of one in another function."""
    targets = _inside(rng, functions, variables, per_function)
    places = targets % variables
    sources = targets - places + (rng.random(len(targets)) * places).astype(np.int64)
    crosses = rng.random(len(targets)) < crossing
    sources[crosses] = rng.integers(functions * variables, size=int(crosses.sum()))
    differ = sources != targets
    return _distinct(targets[differ], sources[differ])


def _inside(rng: np.random.Generator, functions: int, variables: int, each: int) -> npt.NDArray[np.int64]:
    """`each` random variables of each function, in the order of the functions."""
    return np.repeat(np.arange(functions) * variables, each) + rng.integers(variables, size=functions * each)


def _distinct(*columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0)
