"""The alternatives of a body: disjunctions expanded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

from tidelog.syntax import tree

__all__ = ["MAX_ALTERNATIVES", "Simple", "alternatives"]

MAX_ALTERNATIVES = 256

Simple: TypeAlias = (
    tree.Atom
    | tree.Negation
    | tree.Condition
    | tree.Assignment
    | tree.Destructuring
    | tree.Generator
    | tree.NegatedBody
)


def alternatives(literals: Sequence[tree.Literal]) -> list[tuple[Simple, ...]] | None:
    """The alternatives after expanding disjunctions; None if there are too many."""
    choices: list[list[tuple[Simple, ...]]] = []
    total = 1
    for literal in literals:
        assert not isinstance(literal, tree.Row), "rows are elaborated before"
        if not isinstance(literal, tree.Disjunction):
            choices.append([(literal,)])
            continue
        inner = [alternatives(a) for a in literal.alternatives]
        flat = [a for some in inner if some is not None for a in some]
        total *= len(flat)
        if None in inner or total > MAX_ALTERNATIVES:
            return None
        choices.append(flat)
    return [tuple(literal for part in choice for literal in part) for choice in product(*choices)]
