"""The strata of a program as an inline SVG: a box for each stratum, an arrow for each relation that it reads.

Strata stand in columns: each is to the right of everything that it reads. A large program is not drawn.
"""

from __future__ import annotations

from html import escape
from typing import Final

from tidelog.program.analysis.strata import reads
from tidelog.program.declared import Role
from tidelog.program.model import Program
from tidelog.program.typed import Stratum

__all__ = ["strata_picture"]

_MOST: Final = 60  # strata
_WIDTH, _HEIGHT, _ACROSS, _DOWN = 150, 28, 60, 14
_LETTERS: Final = 20  # that fit into a box
_ARROW: Final = (
    '<defs><marker id="tidelog-arrow" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" '
    'orient="auto"><path d="M0 0 L6 3 L0 6 z" fill="currentColor"/></marker></defs>'
)


def strata_picture(program: Program) -> str:
    """An `svg` element; nothing for a program without strata, or with too many to be readable."""
    if not 0 < len(program.strata) <= _MOST:
        return ""
    below = _below(program)
    places = _places(below)
    width = max(x for x, _ in places) + _WIDTH + 1
    height = max(y for _, y in places) + _HEIGHT + 1
    arrows = [
        _arrow(places[source], places[target]) for target, found in enumerate(below) for source in found
    ]
    boxes = [_box(program, s, place) for s, place in zip(program.strata, places, strict=True)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="-1 -1 {width + 1} {height + 1}" font-family="sans-serif" font-size="11" '
        f'role="img" aria-label="strata">{_ARROW}{"".join(arrows)}{"".join(boxes)}</svg>'
    )


def _below(program: Program) -> list[list[int]]:
    """For each stratum, the numbers of the strata that it reads."""
    owners = {name: i for i, stratum in enumerate(program.strata) for name in stratum.relations}
    return [
        sorted({owners[name] for rule in s.rules for name, _ in reads(rule)} - {i})
        for i, s in enumerate(program.strata)
    ]


def _places(below: list[list[int]]) -> list[tuple[int, int]]:
    """The upper left corners of the boxes. Strata are in evaluation order, so what one reads is before it."""
    columns: list[int] = []
    used: dict[int, int] = {}
    places: list[tuple[int, int]] = []
    for found in below:
        column = max((columns[i] + 1 for i in found), default=0)
        row = used[column] = used.get(column, -1) + 1
        columns.append(column)
        places.append((column * (_WIDTH + _ACROSS), row * (_HEIGHT + _DOWN)))
    return places


def _arrow(source: tuple[int, int], target: tuple[int, int]) -> str:
    x, y = source[0] + _WIDTH, source[1] + _HEIGHT // 2
    end_x, end_y = target[0], target[1] + _HEIGHT // 2
    middle = (x + end_x) // 2
    return (
        f'<path d="M{x} {y} C{middle} {y} {middle} {end_y} {end_x} {end_y}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.5" marker-end="url(#tidelog-arrow)"/>'
    )


def _box(program: Program, stratum: Stratum, place: tuple[int, int]) -> str:
    x, y = place
    names = ", ".join(sorted(stratum.relations))
    recursive = " (recursive)" if stratum.recursive else ""
    label = f"{names}{' ↻' if stratum.recursive else ''}"
    short = label if len(label) <= _LETTERS else f"{label[: _LETTERS - 1]}…"
    roles = {program.relations[name].role for name in stratum.relations}
    dashes = "" if stratum.rules else ' stroke-dasharray="4 2"'
    weight = ' font-weight="bold"' if Role.OUTPUT in roles else ""
    return (
        f"<g><title>{escape(names + recursive)}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" fill="none" '
        f'stroke="currentColor"{dashes}/>'
        f'<text x="{x + _WIDTH // 2}" y="{y + _HEIGHT // 2 + 4}" text-anchor="middle" '
        f'fill="currentColor"{weight}>{escape(short)}</text></g>'
    )
