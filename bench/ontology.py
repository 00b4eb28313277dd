"""Generates ontologies for completion, in the shape of medical terminologies.

Concepts form a hierarchy with several parents. Many have parts, causes and places: they are below "has r some
concept". Some descriptions define concepts, so more follows: what has r some w is below z, and so is what is
below both y and w. Roles are ordered, and some compose: a part of a part is a part.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ontology"]

_GENERAL = 0.02  # the share of concepts that descriptions define
_GROUP = 8  # roles in a chain of ever more general ones


def ontology(concepts: int, seed: int = 0, roles: int = 48) -> dict[str, npt.NDArray[np.int64]]:
    """The axioms in normal form, by the names of the relations that the completion rules read."""
    rng = np.random.default_rng(seed)
    ids = np.arange(1, concepts)
    # a parent has a smaller number; it is close enough that the hierarchy is deep
    parents = [(ids * share).astype(np.int64) for share in rng.uniform(0.5, 0.95, (2, concepts - 1))]
    several = rng.random(concepts - 1) < 0.1
    trees = [np.column_stack([ids, parents[0]]), np.column_stack([ids, parents[1]])[several]]
    owners = rng.integers(int(concepts * _GENERAL), concepts, size=concepts // 2)
    used = (roles * rng.random(len(owners)) ** 1.5).astype(np.int64)
    has = np.column_stack([owners, used, rng.integers(concepts, size=len(owners))])
    defined = concepts // 10
    described, other = rng.integers(concepts, size=(2, defined))
    general = rng.integers(1, int(concepts * _GENERAL) + 2, size=(2, defined))
    implied = np.column_stack([described, rng.integers(roles, size=defined), general[0]])
    both = np.column_stack([described, other, general[1]])
    specific = np.arange(roles)[np.arange(roles) % _GROUP != 0]
    composed = np.arange(roles - 1, 0, -_GROUP)[:2]  # rare ones
    found = {
        "P": np.concatenate(trees),
        "Q": has,
        "U": implied,
        "C": both,
        "S": np.column_stack([specific, specific - 1]),
        "R": np.column_stack([composed, composed, composed]),
    }
    return {name: np.unique(rows, axis=0) for name, rows in found.items()}
