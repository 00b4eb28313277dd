"""The items of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.errors import Span
from tidelog.syntax.tree.expressions import (
    Block,
    BoolLiteral,
    IntLiteral,
    Parameter,
    Steps,
    StringLiteral,
    TypeName,
    Variable,
)
from tidelog.syntax.tree.imperative import RuleLoop
from tidelog.syntax.tree.literals import Assignment, Atom, Destructuring, Literal
from tidelog.syntax.tree.spans import spanned

__all__ = [
    "Alias",
    "Attribute",
    "Column",
    "Comment",
    "Constructor",
    "Fold",
    "Function",
    "Import",
    "Index",
    "Item",
    "Module",
    "Prefix",
    "Program",
    "Relation",
    "Rule",
    "TypeDefinition",
]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: TypeName
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name = value`, one of those in `#[…]`."""

    name: str
    value: StringLiteral | BoolLiteral | IntLiteral
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Relation:
    """`role` is "input", "output" or "" (internal); `key` names the columns of the primary key.

    `declaration` is the span without attributes; `row` is the type in `relation Name[type]`, which has no
    columns of its own; `kind` is "multiset", "stream" or "" (a set).
    """

    role: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[Variable, ...] | None = None
    span: Span = spanned()
    name_span: Span = spanned()
    attributes: tuple[Attribute, ...] = ()
    declaration: Span = spanned()
    row: TypeName | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """`typedef Name = type`"""

    name: str
    type: TypeName
    span: Span = spanned()
    name_span: Span = spanned()
    parameters: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class Constructor:
    """`IPv4{src: int, dst: int}`, or `Other`."""

    name: str
    fields: tuple[Column, ...]
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """`typedef Name<A> = One{…} | Other`: a struct or a union; `parameters` are type parameters."""

    name: str
    parameters: tuple[Variable, ...]
    constructors: tuple[Constructor, ...]
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Function:
    """`function name<T>(…): type { … }`; `type_parameters` are those in angle brackets."""

    name: str
    parameters: tuple[Column, ...]
    result: TypeName
    body: Block | Steps
    span: Span = spanned()
    name_span: Span = spanned()
    type_parameters: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class Fold:
    """`aggregate name<T>(…): type { var x = …; insert { … } delete { … } value }`

    `state` declares the variables of the state, which `insert` and `delete` assign. `value` is the rest.
    """

    name: str
    parameters: tuple[Column, ...]
    result: TypeName
    state: tuple[Assignment | Destructuring, ...]
    insert: Steps
    delete: Steps | None
    value: Block | Steps
    span: Span = spanned()
    name_span: Span = spanned()
    type_parameters: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A fact if the body is empty."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...] = ()
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Module:
    """`module a::b`: the name of the module that a file is."""

    path: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Import:
    """`import a::b as c`"""

    path: str
    alias: str | None = None
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Prefix:
    """`prefix ex: <http://example.org/>`"""

    name: str
    namespace: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Index:
    """`index Name(parameters) on Relation(arguments)`"""

    name: str
    parameters: tuple[Parameter, ...]
    atom: Atom
    span: Span = spanned()
    name_span: Span = spanned()


Item: TypeAlias = (
    Relation | Alias | TypeDefinition | Function | Fold | Rule | RuleLoop | Module | Import | Prefix | Index
)


@dataclass(frozen=True, slots=True)
class Comment:
    """The text with its comment markers; `trailing` if a token precedes it on its line."""

    text: str
    trailing: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Program:
    """The items of a text. Comments are kept for the printer, and `prefixes` are all that it knows."""

    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False, repr=False)
    prefixes: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
