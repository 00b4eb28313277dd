"""Collecting the diagnostics of a program, and suggesting similar names for unknown ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from tidelog.errors import Diagnostic, SessionError, Span, shown
from tidelog.syntax.written import Written

__all__ = ["Problems", "did_you_mean", "expect_text"]


_LONG = 64  # characters; longer names get no suggestion
_COMPARISONS = 50_000  # name comparisons per text; after that, errors get no suggestions


class Problems:
    """The diagnostics found so far. After reporting one, elaboration continues as if there were no error."""

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

    def repeat(self, found: Iterable[Diagnostic]) -> None:
        """Add diagnostics that were found before."""
        for each in found:
            self.found.append(each)
            self._places.add((each.code, each.span))

    def has(self, code: str, span: Span) -> bool:
        """Whether a problem with this code was reported for this span."""
        return (code, span) in self._places

    def suggest(self, name: str, *candidates: Collection[str]) -> str | None:
        """Like `did_you_mean`, until the text has used up its budget of comparisons."""
        self._comparisons -= sum(len(names) for names in candidates)
        return did_you_mean(name, chain(*candidates)) if self._comparisons >= 0 else None


def did_you_mean(name: object, candidates: Iterable[str]) -> str | None:
    """A hint with the most similar candidate, if one is similar enough; ignores case."""
    if not isinstance(name, str) or len(name) > _LONG:
        return None
    by_lower = {c.lower(): c for c in candidates if len(c) <= _LONG and c != name}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean `{by_lower[close[0]]}`?" if close else None


def expect_text(call: str, text: object) -> str:
    """The text of a string or of what has one; SessionError for anything else, for example a path."""
    if isinstance(text, str | Written):
        return str(text)
    remedy = "; pass the contents of the file: path.read_text()" if isinstance(text, Path) else ""
    raise SessionError(f"`{call}` takes text, not {shown(text)}{remedy}")
