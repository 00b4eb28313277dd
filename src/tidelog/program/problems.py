"""Collecting what is wrong with a program, and suggesting the name that was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tidelog.errors import Diagnostic, Span

__all__ = ["Problems", "did_you_mean"]


class Problems:
    """The diagnostics found so far. Whoever reports one goes on as if the place had been right."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def report(
        self, code: str, span: Span, message: str, *, note: str | None = None, hint: str | None = None
    ) -> None:
        self.found.append(Diagnostic(code, span, message, note, hint))


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint that names the nearest candidate, if one is near; case counts for little."""
    by_lower = {c.lower(): c for c in candidates}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean `{by_lower[close[0]]}`?" if close else None
