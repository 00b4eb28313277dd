"""A profile as HTML: in notebooks, and as a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from tidelog.session.profiles.flames import picture
from tidelog.session.profiles.model import ProfiledStratum
from tidelog.session.profiles.wording import clipped, tables, time_text
from tidelog.session.rendering import html_table

__all__ = ["page", "tables_html"]

_STYLE: Final = (
    ":root{color-scheme:light dark}body{font:14px sans-serif;margin:2em;max-width:70em}"
    "table{border-collapse:collapse;margin:1.5em 0}caption{text-align:left;font-weight:bold}"
    "th,td{text-align:left;padding:2px 10px 2px 0;border-bottom:1px solid #8884}"
    "svg{max-width:100%;height:auto}"
)


def tables_html(title: str, advice: Sequence[str], strata: Sequence[ProfiledStratum], seconds: float) -> str:
    parts = [f"<p>{escape(title)}: {time_text(seconds)}</p>", picture(seconds, strata)]
    parts += [f"<p>{_code(text)}</p>" for text in advice]
    for name, headers, lines in tables(strata):
        parts.append(html_table(name, headers, [[clipped(c) for c in line] for line in lines]))
    return "".join(parts)


def page(title: str, advice: Sequence[str], strata: Sequence[ProfiledStratum], seconds: float) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{tables_html(title, advice, strata, seconds)}</body></html>\n"
    )


def _code(text: str) -> str:
    """A text with the parts between backticks as code; names may have odd numbers of backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = (f"<code>{escape(p)}</code>" if i % 2 else escape(p) for i, p in enumerate(parts))
    return "".join(marked)
