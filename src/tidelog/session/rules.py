"""The rules of a session as its users see them."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.program.text import print_rule
from tidelog.program.typed import Rule

__all__ = ["SessionRule"]


@dataclass(frozen=True, slots=True)
class SessionRule:
    """A rule of a program; rules that differ only in the names of variables are equal."""

    rule: Rule

    @property
    def text(self) -> str:
        """The rule as it was written."""
        return self.rule.span.text or print_rule(self.rule)

    @property
    def origin(self) -> str:
        """Where it was written: the name of the text, the line and the column."""
        return repr(self.rule.span) if self.rule.span.is_known else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionRule) and self.rule.id == other.rule.id

    def __hash__(self) -> int:
        return hash(self.rule.id)

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__
