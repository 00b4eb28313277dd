"""The flame-like picture of a profile: the commits, their strata, and their rules, as wide as their times.

Bars have their own colours, so that the picture can be read on light and on dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from tidelog.session.profiles.model import ProfiledStratum
from tidelog.session.profiles.wording import time_text

__all__ = ["picture"]

_WIDTH: Final = 960
_HEIGHT: Final = 26
_LETTER: Final = 6.4  # pixels
_THIN: Final = 1.5  # pixels below which bars are put together
_HUES: Final = (32, 200, 130, 280, 350, 80, 235, 165)


class _Bar(NamedTuple):
    x: float
    row: int
    width: float
    label: str
    hint: str
    fill: str


def picture(total: float, strata: Sequence[ProfiledStratum]) -> str:
    """An `svg` element; nothing if no time was spent."""
    whole = max(total, sum(s.seconds for s in strata))
    if not whole or not strata:
        return ""
    scale = _WIDTH / whole
    bars = [_Bar(0, 0, _WIDTH, f"commits, {time_text(whole)}", "all strata", "hsl(0 0% 80%)")]
    x = 0.0
    for number, stratum in enumerate(strata):
        if stratum.seconds * scale < _THIN:
            rest = sum(s.seconds for s in strata[number:])
            bars.append(_bar(x, 1, rest * scale, "others", rest, whole, "hsl(0 0% 70%)"))
            break
        hue = _HUES[number % len(_HUES)]
        width = stratum.seconds * scale
        bars.append(_bar(x, 1, width, stratum.name, stratum.seconds, whole, f"hsl({hue} 60% 72%)"))
        bars += _rules(stratum, x, scale, whole, hue)
        x += width
    shown = "".join(_drawn(bar) for bar in bars if bar.width >= _THIN)
    height = 3 * _HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="11" role="img" '
        f'aria-label="time by stratum and rule">{shown}</svg>'
    )


def _rules(stratum: ProfiledStratum, x: float, scale: float, whole: float, hue: int) -> Iterator[_Bar]:
    for shade, rule in enumerate(r for r in stratum.rules if r.is_counted):
        width = rule.seconds * scale
        fill = f"hsl({hue} 70% {80 + 6 * (shade % 2)}%)"
        how = " (divided among rules)" if rule.divided > rule.seconds / 2 else ""
        yield _bar(x, 2, width, f"{rule.number}: {rule.text}", rule.seconds, whole, fill, how)
        x += width


def _bar(
    x: float, row: int, width: float, name: str, seconds: float, whole: float, fill: str, more: str = ""
) -> _Bar:
    hint = f"{name}\n{time_text(seconds)}, {seconds / whole:.1%}{more}"
    return _Bar(x, row, width, name, hint, fill)


def _drawn(bar: _Bar) -> str:
    letters = int((bar.width - 8) / _LETTER)
    label = bar.label if len(bar.label) <= letters else f"{bar.label[: max(letters - 1, 0)]}…"
    y = bar.row * _HEIGHT
    text = f'<text x="{bar.x + 4:.1f}" y="{y + 17}" fill="#222">{escape(label)}</text>' if letters > 2 else ""
    return (
        f"<g><title>{escape(bar.hint[:2000])}</title>"
        f'<rect x="{bar.x:.1f}" y="{y}" width="{max(bar.width - 1, 1):.1f}" height="{_HEIGHT - 2}" rx="2" '
        f'fill="{bar.fill}"/>{text}</g>'
    )
