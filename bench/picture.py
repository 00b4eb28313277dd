"""Draws the tables of docs/figures.md as pictures: `python -m bench.picture`.

The pictures show what the tables say, and a test compares them, so they are made again when a table changes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["DOCS", "PICTURES", "drawn"]

DOCS: Final = Path(__file__).parent.parent / "docs"
PICTURES: Final = {"bootstrap.svg": "Bootstrap", "bootstrap-large.svg": "Larger data"}
_ENGINES: Final = {"DuckDB": "#b7791f", "Soufflé": "#3b6fb6", "FlowLog": "#8e4585"}
_LOW, _HIGH, _LEFT, _RIGHT, _ROW, _TOP = 0.3, 2000.0, 300.0, 860.0, 22.0, 56.0


class _Task(NamedTuple):
    name: str
    ratios: dict[str, float]


def drawn(text: str, title: str) -> str:
    """The picture of the first table after a text in the page."""
    tasks = list(_tasks(text[text.index(title) :]))
    height = _TOP + _ROW * len(tasks) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height:g}" role="img">',
        "<style>text{font-family:system-ui,sans-serif;font-size:13px;fill:#1f2933}</style>",
        f'<rect width="900" height="{height:g}" fill="#fff"/>',
        *_legend(),
        *_axis(height),
        *(line for place, task in enumerate(tasks) for line in _row(place, task)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _tasks(text: str) -> Iterator[_Task]:
    lines = iter(text[text.index("\n| program |") + 1 :].splitlines())
    header = _cells(next(lines))
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        cells = dict(zip(header, _cells(line), strict=True))
        ratios = {
            engine: float(found[0]) for engine in _ENGINES if (found := _number(cells[f"{engine} / ours"]))
        }
        yield _Task(f"{cells['program']}, {cells['data']}", ratios)


def _cells(line: str) -> list[str]:
    return [cell.strip(" *`").replace("`", "") for cell in line.strip().strip("|").split("|")]


def _number(cell: str) -> list[str]:
    """The number in a cell, if there is one that can be drawn."""
    return [cell.replace(",", "")] if re.fullmatch(r"[\d.,]+", cell) else []


def _across(ratio: float) -> float:
    share = math.log(min(max(ratio, _LOW), _HIGH) / _LOW) / math.log(_HIGH / _LOW)
    return _LEFT + share * (_RIGHT - _LEFT)


def _legend() -> Iterator[str]:
    for place, (engine, colour) in enumerate(_ENGINES.items()):
        x = _LEFT + place * 90
        yield f'<circle cx="{x:g}" cy="16" r="5" fill="{colour}"/><text x="{x + 10:g}" y="20">{engine}</text>'
    yield f'<text x="{_RIGHT:g}" y="20" text-anchor="end">time of the other engine / ours</text>'


def _axis(height: float) -> Iterator[str]:
    for ratio in (0.5, 1.0, 2.0, 5.0, 10.0, 100.0, 1000.0):
        x, colour, width = _across(ratio), "#0b7a75" if ratio == 1 else "#d5dbe1", 2 if ratio == 1 else 1
        yield f'<path d="M{x:.1f} 48V{height - 12:g}" stroke="{colour}" stroke-width="{width}"/>'
        yield f'<text x="{x:.1f}" y="43" text-anchor="middle">{ratio:g}</text>'


def _row(place: int, task: _Task) -> Sequence[str]:
    y = _TOP + _ROW * place + 11
    marks = [
        f'<circle cx="{_across(ratio):.1f}" cy="{y:g}" r="5" fill="{_ENGINES[engine]}"/>'
        for engine, ratio in task.ratios.items()
    ]
    return [f'<text x="{_LEFT - 14:g}" y="{y + 4:g}" text-anchor="end">{escape(task.name)}</text>', *marks]


if __name__ == "__main__":
    page = (DOCS / "figures.md").read_text()
    for name, title in PICTURES.items():
        (DOCS / "pictures" / name).write_text(drawn(page, title))
