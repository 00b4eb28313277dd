"""Directed graphs as inline SVG, drawn in layers from left to right.

An edge leads from a layer to a later one; those that close a cycle lead back and are drawn below. What is
drawn is bounded, and all text is escaped and cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

__all__ = ["MOST", "Edge", "Graph", "Node", "Picture", "text_picture"]

MOST: Final = 60  # nodes
_MOST_EDGES: Final = 240
_MOST_LINES: Final = 80
_LETTERS: Final = 40  # of a label
_LONGEST: Final = 200  # letters of a title
_CHARACTER: Final = 7  # pixels
_HEIGHT, _ACROSS, _DOWN, _MARGIN = 26, 70, 16, 4


@dataclass(frozen=True, slots=True)
class Node:
    """`title` is shown when the pointer rests on it."""

    label: str
    title: str = ""
    is_bold: bool = False
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    source: int
    target: int
    label: str = ""
    is_dashed: bool = False


class Picture:
    """An `svg` element that notebooks show."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<picture: {len(self.svg):,} characters of SVG>"


@dataclass(frozen=True, slots=True)
class Graph:
    """`more` says what was left out before the graph was made."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    name: str
    more: str = ""

    def picture(self) -> Picture:
        nodes = self.nodes[:MOST]
        fitting = [e for e in self.edges if e.source < len(nodes) and e.target < len(nodes)]
        edges = fitting[:_MOST_EDGES]
        notes = [self.more] if self.more else []
        if len(nodes) < len(self.nodes):
            notes.append(f"{len(self.nodes) - len(nodes):,} more nodes not shown")
        if len(edges) < len(fitting):
            notes.append(f"{len(fitting) - len(edges):,} more arrows not shown")
        return Picture(_drawn(nodes, edges, self.name, "; ".join(notes)))


def text_picture(text: str, name: str) -> Picture:
    """A text as a picture, line by line."""
    lines = text.split("\n")
    shown = [_cut(line, _LONGEST) for line in lines[:_MOST_LINES]]
    if len(lines) > len(shown):
        shown.append(f"… {len(lines) - len(shown):,} more lines not shown")
    rows = "".join(
        f'<text x="{_MARGIN}" y="{18 * (i + 1)}" xml:space="preserve" fill="currentColor">'
        f"{escape(line)}</text>"
        for i, line in enumerate(shown)
    )
    width = 8 * max(map(len, shown)) + 2 * _MARGIN
    return Picture(_svg(width, 18 * (len(shown) + 1), name, "monospace", rows))


def _svg(width: int, height: int, name: str, font: str, inside: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{font}" font-size="12" role="img" '
        f'aria-label="{escape(name)}">{inside}</svg>'
    )


def _cut(text: str, most: int) -> str:
    plain = "".join(c if c.isprintable() else "\ufffd" for c in text)  # XML has no control characters
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


# -- layout


def _layers(count: int, edges: Iterable[Edge]) -> list[int]:
    """The layer of each node: after all that lead to it, except by edges that close a cycle."""
    following: dict[int, list[int]] = defaultdict(list)
    for edge in edges:
        if edge.source != edge.target:
            following[edge.source].append(edge.target)
    forward = _forward(count, following)
    layers = [0] * count
    for node in forward.order:
        for other in following[node]:
            if (node, other) not in forward.back:
                layers[other] = max(layers[other], layers[node] + 1)
    return layers


@dataclass(frozen=True, slots=True)
class _Forward:
    """An order of nodes that all edges follow, except those that lead back."""

    order: Sequence[int]
    back: frozenset[tuple[int, int]]


def _forward(count: int, following: Mapping[int, Sequence[int]]) -> _Forward:
    entered = {target for targets in following.values() for target in targets}
    starts = sorted(range(count), key=lambda n: n in entered)
    finished: list[int] = []
    state = [0] * count  # 1 while it is open, 2 when it is finished
    back: set[tuple[int, int]] = set()
    for start in starts:
        waiting = [] if state[start] else [(start, 0)]
        while waiting:
            node, place = waiting.pop()
            state[node] = 1
            targets = following.get(node, ())
            if place < len(targets):
                waiting.append((node, place + 1))
                other = targets[place]
                if state[other] == 1:
                    back.add((node, other))
                elif not state[other]:
                    waiting.append((other, 0))
            else:
                state[node] = 2
                finished.append(node)
    return _Forward(finished[::-1], frozenset(back))


def _rows(layers: Sequence[int], edges: Sequence[Edge]) -> dict[int, list[int]]:
    """The nodes of each layer from top to bottom: each near the middle of what leads to it."""
    rows: dict[int, list[int]] = defaultdict(list)
    for node, layer in enumerate(layers):
        rows[layer].append(node)
    before: dict[int, list[int]] = defaultdict(list)
    for edge in edges:
        before[edge.target].append(edge.source)
    places: dict[int, float] = {}
    for layer in sorted(rows):
        middles = {
            n: sum(known) / len(known)
            for n in rows[layer]
            if (known := [places[b] for b in before[n] if b in places])
        }
        rows[layer].sort(key=lambda n: middles.get(n, n))
        places |= {n: float(i) for i, n in enumerate(rows[layer])}
    return rows


# -- drawing

Box = tuple[int, int, int]  # left, top, width


def _drawn(nodes: Sequence[Node], edges: Sequence[Edge], name: str, note: str) -> str:
    layers = _layers(len(nodes), edges)
    labels = [_cut(n.label, _LETTERS) for n in nodes]
    boxes: dict[int, Box] = {}
    left, bottom = _MARGIN, _MARGIN
    for _, row in sorted(_rows(layers, edges).items()):
        width = max(len(labels[n]) for n in row) * _CHARACTER + 14
        for number, node in enumerate(row):
            boxes[node] = left, _MARGIN + number * (_HEIGHT + _DOWN), width
        left += width + _ACROSS
        bottom = max(bottom, _MARGIN + len(row) * (_HEIGHT + _DOWN))
    parts = [_arrow(boxes[e.source], boxes[e.target], e, bottom) for e in edges]
    parts += [_box(n, label, boxes[i]) for i, (n, label) in enumerate(zip(nodes, labels, strict=True))]
    height = bottom + 40 * any(boxes[e.target][0] <= boxes[e.source][0] for e in edges)
    if note:
        shown = f"… {escape(_cut(note, _LONGEST))}"
        parts.append(f'<text x="{_MARGIN}" y="{height + 14}" fill="currentColor">{shown}</text>')
        height += 20
    width = max(left - _ACROSS + _MARGIN, len(note) * _CHARACTER + 20)
    marker = (
        '<defs><marker id="tidelog-end" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="7" '
        'markerHeight="7" '
        'orient="auto"><path d="M0 0 L6 3 L0 6 z" fill="currentColor"/></marker></defs>'
    )
    return _svg(width, height + _MARGIN, name, "sans-serif", marker + "".join(parts))


def _box(node: Node, label: str, box: Box) -> str:
    x, y, width = box
    dashes = ' stroke-dasharray="4 2"' if node.is_dashed else ""
    weight = ' font-weight="bold"' if node.is_bold else ""
    title = escape(_cut(node.title or node.label, _LONGEST))
    return (
        f"<g><title>{title}</title>"
        f'<rect x="{x}" y="{y}" width="{width}" height="{_HEIGHT}" rx="4" '
        f'fill="none" stroke="currentColor"{dashes}/>'
        f'<text x="{x + width // 2}" y="{y + 17}" text-anchor="middle" '
        f'fill="currentColor"{weight}>{escape(label)}</text></g>'
    )


def _arrow(source: Box, target: Box, edge: Edge, bottom: int) -> str:
    x, y = source[0] + source[2], source[1] + _HEIGHT // 2
    end_x, end_y = target[0], target[1] + _HEIGHT // 2
    if end_x > source[0]:
        middle = (x + end_x) // 2
        path = f"M{x} {y} C{middle} {y} {middle} {end_y} {end_x} {end_y}"
        at = middle, (y + end_y) // 2 - 4
    else:  # back, around what is between
        low = bottom + 28
        path = f"M{x} {y} C{x + 40} {low} {end_x - 40} {low} {end_x} {end_y}"
        at = (x + end_x) // 2, bottom + 20
    dashes = ' stroke-dasharray="4 3"' if edge.is_dashed else ""
    label = (
        f'<text x="{at[0]}" y="{at[1]}" text-anchor="middle" font-size="10" fill="currentColor">'
        f"{escape(_cut(edge.label, 20))}</text>"
        if edge.label
        else ""
    )
    return (
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.5"{dashes} '
        f'marker-end="url(#tidelog-end)"/>{label}'
    )
