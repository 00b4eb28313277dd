"""Directed graphs of six shapes, as arrays of edges.

Edges are distinct and have no loops. The same arguments give the same edges: every random choice depends on
the seed. Nodes are numbered from 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Edges", "chain", "gnp", "grid", "mesh", "rmat", "tree"]

Edges = npt.NDArray[np.int64]

# probabilities of the quarters of the adjacency matrix, at every level: usual values for social networks
QUARTERS = (0.57, 0.19, 0.19, 0.05)


def rmat(nodes: int, edges: int, seed: int = 0) -> Edges:
    """A power-law graph: an edge falls into a quarter of the matrix, then a quarter of that, and so on."""
    rng = np.random.default_rng(seed)
    levels = max(nodes - 1, 1).bit_length()
    found = np.empty(0, np.int64)
    while len(found) < edges:
        quarters = rng.choice(4, size=(levels, 2 * edges), p=QUARTERS)
        source, target = np.zeros((2, 2 * edges), np.int64)
        for quarter in quarters:
            source, target = 2 * source + quarter // 2, 2 * target + quarter % 2
        fits = (source < nodes) & (target < nodes) & (source != target)
        drawn = np.concatenate([found, source[fits] * nodes + target[fits]])
        first = np.unique(drawn, return_index=True)[1]
        found = drawn[np.sort(first)]
    return _edges(np.sort(found[:edges]), nodes)


def gnp(nodes: int, degree: float, seed: int = 0) -> Edges:
    """A uniform random graph: each pair is an edge with the same probability, for this average degree."""
    rng = np.random.default_rng(seed)
    pairs = nodes * nodes
    number = rng.binomial(pairs, min(degree / nodes, 1.0))
    numbers = np.unique(rng.integers(pairs, size=number))
    return _edges(numbers[numbers // nodes != numbers % nodes], nodes)


def grid(width: int, height: int) -> Edges:
    """A grid: every cell has edges to its right and its lower neighbour."""
    cells = np.arange(width * height).reshape(height, width)
    right = np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], axis=1)
    down = np.stack([cells[:-1].ravel(), cells[1:].ravel()], axis=1)
    return np.concatenate([right, down]).astype(np.int64)


def mesh(width: int, layers: int, seed: int = 0) -> Edges:
    """Layers of triangles, in random numbers: edges to three neighbours in the next layer and one beyond."""
    nodes = np.random.default_rng(seed).permutation(width * layers).reshape(layers, width)
    upper, lower = nodes[:-1], nodes[1:]
    parts = [(upper, lower), (upper[:, 1:], lower[:, :-1]), (upper[:, :-1], lower[:, 1:])]
    parts.append((nodes[:-2], nodes[2:]))
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in parts]).astype(np.int64)


def tree(nodes: int, fan: int = 2) -> Edges:
    """A complete tree, from parents to children; the last level may be partial."""
    children = np.arange(1, nodes, dtype=np.int64)
    return np.stack([(children - 1) // fan, children], axis=1)


def chain(nodes: int) -> Edges:
    """One path through all nodes."""
    return tree(nodes, fan=1)


def _edges(numbers: npt.NDArray[np.int64], nodes: int) -> Edges:
    return np.stack([numbers // nodes, numbers % nodes], axis=1)
