"""The statements of imperative rules. A statement that is an atom is the head of a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidelog.errors import Span
from tidelog.syntax.tree.expressions import Expr
from tidelog.syntax.tree.literals import Assignment, Atom, Destructuring, Generator, Row
from tidelog.syntax.tree.spans import spanned

__all__ = ["Branch", "If", "Loop", "Sequence", "Statement", "Switch"]


@dataclass(frozen=True, slots=True)
class Loop:
    """`for (source if condition) statement`; as an item, an imperative rule."""

    source: Atom | Row | Generator
    condition: Expr | None
    body: Statement
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class If:
    """`if (condition) statement else statement`"""

    condition: Expr
    then: Statement
    otherwise: Statement | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Branch:
    """`pattern -> statement`"""

    pattern: Expr
    body: Statement
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Switch:
    """`match (value) { pattern -> statement, … }`"""

    subject: Expr
    branches: tuple[Branch, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Sequence:
    """`{ statement; var a = …; statement }`; a variable holds for the statements that follow it."""

    parts: tuple[Statement | Assignment | Destructuring, ...]
    span: Span = spanned()


Statement: TypeAlias = Atom | Loop | If | Switch | Sequence
