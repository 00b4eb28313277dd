"""Statements: what stands in a block before its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidelog.errors import Span
from tidelog.syntax.tree.expressions import Expr, Steps
from tidelog.syntax.tree.literals import Assignment, Destructuring
from tidelog.syntax.tree.spans import spanned

__all__ = ["Arm", "Branch", "Choice", "Jump", "Loop", "Return", "Statement", "Switch", "Update"]


@dataclass(frozen=True, slots=True)
class Update:
    """`x = value;`, or `(x, y) = value;`"""

    target: Expr
    value: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Branch:
    """`if (condition) { … }`"""

    condition: Expr
    body: Steps
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Choice:
    """`if (a) { … } else if (b) { … } else { … }`, without values. It has at least one branch."""

    branches: tuple[Branch, ...]
    otherwise: Steps | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Arm:
    """`pattern -> { … }`"""

    pattern: Expr
    body: Steps
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Switch:
    """`match (subject) { pattern -> { … }, … }`, without values."""

    subject: Expr
    arms: tuple[Arm, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Loop:
    """`for (pattern in collection) { … }`"""

    pattern: Expr
    collection: Expr
    body: Steps
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Jump:
    """`break;` or `continue;`"""

    word: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Return:
    """`return value;`"""

    value: Expr
    span: Span = spanned()


Statement: TypeAlias = Assignment | Destructuring | Update | Choice | Switch | Loop | Jump | Return
