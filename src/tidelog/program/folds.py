"""The names of what an aggregate with a state becomes, and of instances of generic functions.

`aggregate mean(…)` declares the functions `mean::start`, `mean::insert`, `mean::delete` (if it has one) and
`mean::result`. The aggregate `mean::state` has the state over the instances of a group; `mean` is the result
of that state.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

__all__ = ["PARTS", "fold_of", "is_part", "part", "shown_aggregate", "written_name"]

PARTS: Final = ("state", "start", "insert", "delete", "result")


def fold_of(function: str) -> str | None:
    """The aggregate with a state whose state this aggregate is; None for a standard aggregate."""
    fold, _, last = function.rpartition("::")
    return fold if fold and last.partition("<")[0] == "state" else None


def part(state: str, name: str) -> str:
    """The function of an aggregate `fold::state` with this name; an instance keeps its types."""
    fold, _, last = state.rpartition("::")
    return f"{fold}::{name}{last.removeprefix('state')}"


def is_part(function: str, folds: Container[str]) -> bool:
    """Whether a function belongs to one of these aggregates."""
    fold, _, last = function.partition("<")[0].rpartition("::")
    return last in PARTS and fold in folds


def shown_aggregate(function: str) -> str:
    """The name of an aggregate as it is used, given it or one of its functions."""
    fold, _, last = function.partition("<")[0].rpartition("::")
    return fold if fold and last in PARTS else function


def written_name(function: str) -> str:
    """The name of a function as it is called: an instance of a generic function has its types behind it."""
    return function.partition("<")[0].partition("(")[0]
