"""How a session maintains its relations: its strata, in the order in which commits evaluate them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tidelog.plan.flat import Stratum
from tidelog.session.rendering import LISTED, clip, counted, html_table, text_table

__all__ = ["Explained", "Explanation", "explain"]

_WIDEST: Final = 200


@dataclass(frozen=True, slots=True)
class Explained:
    """A stratum: relations that are maintained together. On Spark, `where` says where it runs, and why."""

    name: str
    relations: tuple[str, ...]
    rules: int
    recursive: bool
    where: str


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    strata: tuple[Explained, ...]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headers = ["stratum", "rules", "recursive"]
        lines = [[s.name, str(s.rules), "yes" if s.recursive else "no"] for s in self.strata]
        if any(s.where for s in self.strata):
            headers.append("where")
            lines = [[*line, s.where] for line, s in zip(lines, self.strata, strict=True)]
        return headers, lines

    def _title(self) -> str:
        return counted(len(self.strata), "stratum").replace("stratums", "strata")

    def __repr__(self) -> str:
        headers, lines = self._table()
        shown = text_table(headers, lines) if lines else ""
        return f"{self._title()}\n\n{shown}".rstrip()

    def _repr_html_(self) -> str:
        headers, lines = self._table()
        shown = [[clip(cell, _WIDEST) for cell in line] for line in lines[:LISTED]]
        return html_table(self._title(), headers, shown, max(len(lines) - LISTED, 0))

    __str__ = __repr__


def explain(placed: Sequence[tuple[Stratum, str]]) -> Explanation:
    """Explain strata, each with its place; those without rules are left out."""
    return Explanation(
        tuple(
            Explained(u.name, tuple(sorted(u.relations)), max(len(u.rules), 1), u.recursive, where)
            for u, where in placed
            if u.rules or u.grouping is not None
        )
    )
