"""The statements of imperative rules. A statement that is an atom is the head of a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidelog.errors import Span
from tidelog.syntax.tree.expressions import Expr
from tidelog.syntax.tree.literals import Assignment, Atom, Destructuring, Generator, Row
from tidelog.syntax.tree.spans import spanned

__all__ = ["RuleBranch", "RuleIf", "RuleLoop", "RuleSequence", "RuleStatement", "RuleSwitch"]


@dataclass(frozen=True, slots=True)
class RuleLoop:
    """`for (source if condition) statement`; as an item, an imperative rule."""

    source: Atom | Row | Generator
    condition: Expr | None
    body: RuleStatement
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class RuleIf:
    """`if (condition) statement else statement`"""

    condition: Expr
    then: RuleStatement
    otherwise: RuleStatement | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class RuleBranch:
    """`pattern -> statement`"""

    pattern: Expr
    body: RuleStatement
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class RuleSwitch:
    """`match (value) { pattern -> statement, … }`"""

    subject: Expr
    branches: tuple[RuleBranch, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class RuleSequence:
    """`{ statement; var a = …; statement }`; a variable holds for the statements that follow it."""

    parts: tuple[RuleStatement | Assignment | Destructuring, ...]
    span: Span = spanned()


RuleStatement: TypeAlias = Atom | RuleLoop | RuleIf | RuleSwitch | RuleSequence
