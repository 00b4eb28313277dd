"""Generates what a borrow checker extracts from one large function, in the shape of Polonius' input.

The body is a tree of sections, as nested matches are: wide, so that the longest way is short. Each section
has variables of its own and is a run of points with branches, some loops, and unwinding to the last point of
the body. Every other point may define a variable from earlier ones: the origins in the source's type then
outlive those of the target, through a fresh origin for each pair. Some definitions borrow a variable, which
issues a loan. Variables begin and end with their section: with a definition at its first point, and a move or
a drop at its last. Sizes are proportional to the number of sections. The shares are those of a function of
clap with 23,000 statements, 1,300 loans and 574,000 facts, whose longest way has 1,007 edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["borrows"]

Facts = dict[str, npt.NDArray[np.int64]]
Column = npt.NDArray[np.int64]

_STEPS = 400  # points in a section
_ARMS = 16  # sections that follow a section
_VARIABLES = 54  # of a section
_DEFINES = 0.83  # the share of statements that define a variable
_REACH = 28  # a source is one of so many variables defined last
_REFERENCES = 0.5  # the share of variables with origins in their types
_ORIGINS = 3  # in the type of such a variable
_UNIVERSAL = 6  # the origins of the function's own parameters, numbered first
_CALLS = 0.7  # the share of definitions with a second source
_EQUAL = 0.6  # the share of types that are equal, rather than one below the other
_BORROWS = 0.07  # the share of definitions that borrow
_USES = 0.2  # the share of sources whose use keeps the variable live
_CLEANUPS = 220  # points of unwinding that invalidate a loan that has to be cleaned up


@dataclass(frozen=True, slots=True)
class _Definitions:
    """The definitions in order: where, of which variable, from which earlier ones."""

    points: Column
    targets: Column
    sources: npt.NDArray[np.int64]
    borrowed: Column  # the positions of definitions that borrow their first source


def borrows(sections: int, seed: int = 0) -> Facts:
    rng = np.random.default_rng(seed)
    flow, cleanups = _flow(rng, sections)
    made = _definitions(rng, sections)
    facts = {
        "Flow": flow,
        **_variables(rng, sections, made),
        **_origins(rng, sections, made),
        **_loans(rng, made, cleanups),
    }
    return {name: np.unique(rows, axis=0) for name, rows in facts.items()}


def _flow(rng: np.random.Generator, sections: int) -> tuple[Column, Column]:
    """The edges, and the points that may unwind."""
    points = np.arange(sections * _STEPS)
    straight = points[points % _STEPS != _STEPS - 1]
    skips = rng.choice(straight, len(points) // 40, replace=False)
    ahead = np.minimum(skips + rng.integers(2, 40, len(skips)), _last(skips // _STEPS))
    loops = rng.choice(straight, len(points) // 400, replace=False)
    back = np.maximum(loops - rng.integers(10, 80, len(loops)), loops - loops % _STEPS)
    arms = np.arange(1, sections)
    parents = (arms - 1) // _ARMS
    leaves = _last(np.setdiff1d(arms[:-1], parents))
    cleanups = np.sort(rng.choice(straight, len(points) // 25, replace=False))
    ends = np.concatenate([leaves, cleanups])
    sources = [straight, skips, loops, _last(parents), ends]
    targets = [straight + 1, ahead, back, arms * _STEPS, np.full(len(ends), points[-1])]
    return _rows(np.concatenate(sources), np.concatenate(targets)), cleanups


def _definitions(rng: np.random.Generator, sections: int) -> _Definitions:
    candidates = np.arange(1, sections * _STEPS, 2)
    points = candidates[rng.random(len(candidates)) < _DEFINES]
    home = points // _STEPS
    first = np.searchsorted(points, home * _STEPS)
    number = np.arange(len(points)) - first  # in its section
    back = np.minimum(rng.integers(1, _REACH, (2, len(points))), number)
    sources = (number - back) % _VARIABLES
    base = home * _VARIABLES
    borrowed = np.flatnonzero(rng.random(len(points)) < _BORROWS)
    return _Definitions(points, base + number % _VARIABLES, base + sources, borrowed)


def _variables(rng: np.random.Generator, sections: int, made: _Definitions) -> Facts:
    """Definitions, uses and drops, and the paths of variables, some with a field."""
    variables = np.arange(sections * _VARIABLES)
    home = variables // _VARIABLES
    used = rng.random(made.sources.shape) < _USES
    places = np.broadcast_to(made.points - 1, made.sources.shape)
    dropped = rng.random(len(variables)) < 0.02
    fields = rng.choice(variables, max(1, len(variables) // 50), replace=False)
    moved = rng.random(len(made.points)) < 0.4
    return {
        "Define": np.concatenate([_rows(made.targets, made.points), _rows(variables, home * _STEPS)]),
        "Use": _rows(made.sources[used], places[used]),
        "Drop": _rows(variables[dropped], _last(home[dropped])),
        "Root": _rows(variables, variables),
        "Child": _rows(len(variables) + fields, fields),
        "Assigned": _rows(made.targets, made.points),
        "Moved": _rows(
            np.concatenate([variables, made.sources[0][moved]]),
            np.concatenate([_last(home), made.points[moved] - 1]),
        ),
    }


def _origins(rng: np.random.Generator, sections: int, made: _Definitions) -> Facts:
    """The origins in types, and which outlive which where a variable is defined."""
    typed = _some(rng, sections * _VARIABLES, _REFERENCES)
    reads = np.concatenate([_rows(typed, _origin(typed, i)) for i in range(_ORIGINS)])
    pairs = []
    for place, sources in enumerate(made.sources):
        chosen = np.arange(len(made.points)) if place == 0 else _some(rng, len(made.points), _CALLS)
        for i in range(_ORIGINS):
            fresh = _fresh(sections, made, place * _ORIGINS + i)[chosen]
            below, above = _origin(sources[chosen], i), _origin(made.targets[chosen], i)
            equal = _some(rng, len(chosen), _EQUAL)
            at = made.points[chosen]
            pairs += [_rows(below, fresh, at), _rows(fresh, above, at)]
            pairs += [_rows(fresh, below, at)[equal], _rows(above, fresh, at)[equal]]
    known = np.array([[a, b] for a in range(_UNIVERSAL - 1) for b in (a + 1, _UNIVERSAL - 1)])
    return {
        "UseReads": reads,
        "DropReads": reads[reads[:, 0] % 7 == 0],
        "Universal": np.arange(_UNIVERSAL).reshape(-1, 1),
        "Known": known,
        "Outlives": np.concatenate(pairs),
    }


def _loans(rng: np.random.Generator, made: _Definitions, cleanups: Column) -> Facts:
    """A loan is killed where the borrowed variable is defined again, which also invalidates it."""
    sections = int(made.points[-1]) // _STEPS + 1
    loans = np.arange(len(made.borrowed))
    order = np.argsort(made.targets, kind="stable")
    lenders = made.sources[0][made.borrowed]
    first = np.searchsorted(made.targets[order], lenders)
    count = np.searchsorted(made.targets[order], lenders, side="right") - first
    each = np.repeat(loans, count)
    inside = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
    again = made.points[order][np.repeat(first, count) + inside]
    heavy = np.repeat(_some(rng, len(loans), 0.4), min(_CLEANUPS, len(cleanups)))
    unwinding = rng.choice(cleanups, len(heavy))
    fresh = _fresh(sections, made, 0)[made.borrowed]
    return {
        "Issued": _rows(fresh, loans, made.points[made.borrowed]),
        "Killed": _rows(each, again),
        "Invalidated": np.concatenate([_rows(each, again), _rows(heavy, unwinding)]),
    }


def _last(sections: Column) -> Column:
    """The last points of sections."""
    return sections * _STEPS + _STEPS - 1


def _origin(variables: Column, place: int) -> Column:
    return _UNIVERSAL + variables * _ORIGINS + place


def _fresh(sections: int, made: _Definitions, place: int) -> Column:
    """An origin of its own for each definition and place."""
    start = _UNIVERSAL + sections * _VARIABLES * _ORIGINS
    return start + np.arange(len(made.points)) * 2 * _ORIGINS + place


def _some(rng: np.random.Generator, count: int, share: float) -> Column:
    return np.flatnonzero(rng.random(count) < share)


def _rows(*columns: Column) -> npt.NDArray[np.int64]:
    return np.stack(columns, axis=1).astype(np.int64)
