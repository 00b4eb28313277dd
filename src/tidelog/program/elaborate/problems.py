"""Collecting what is wrong with a program, and suggesting the name that was meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from tidelog.errors import Diagnostic, SessionError, Span, shown

__all__ = ["Problems", "did_you_mean", "expect_text"]


_LONG = 64  # characters of a name that nobody misspells
_COMPARISONS = 50_000  # of names in one text: with more mistakes or more names, suggestions end


class Problems:
    """The diagnostics found so far. Whoever reports one goes on as if the place had been right."""

    __slots__ = ("_comparisons", "_places", "found")

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._comparisons = _COMPARISONS
        self._places: set[tuple[str, Span]] = set()

    def report(
        self, code: str, span: Span, message: str, *, note: str | None = None, hint: str | None = None
    ) -> None:
        self.found.append(Diagnostic(code, span, message, note, hint))
        self._places.add((code, span))

    def has(self, code: str, span: Span) -> bool:
        """Whether a problem of this code was reported for this place."""
        return (code, span) in self._places

    def suggest(self, name: str, *candidates: Collection[str]) -> str | None:
        """As `did_you_mean`, while there is time: a text of many mistakes and many names is not compared."""
        self._comparisons -= sum(len(names) for names in candidates)
        return did_you_mean(name, chain(*candidates)) if self._comparisons >= 0 else None


def did_you_mean(name: object, candidates: Iterable[str]) -> str | None:
    """A hint that names the nearest candidate, if one is near; case counts for little."""
    if not isinstance(name, str) or len(name) > _LONG:
        return None
    by_lower = {c.lower(): c for c in candidates if len(c) <= _LONG and c != name}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean `{by_lower[close[0]]}`?" if close else None


def expect_text(call: str, text: object) -> None:
    """SessionError if what should be a text of the language is something else, such as a path."""
    if isinstance(text, str):
        return
    remedy = "; give what is in the file: path.read_text()" if isinstance(text, Path) else ""
    raise SessionError(f"`{call}` takes text, not {shown(text)}{remedy}")
