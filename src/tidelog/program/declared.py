"""What a typed program declares: relations with their columns, functions, and indexes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from tidelog.data.short_names import NO_NAMES, ShortNames
from tidelog.data.types import Type
from tidelog.errors import NOWHERE, Span
from tidelog.program.typed import Expr

__all__ = ["Column", "FileOptions", "Function", "Index", "PythonFunction", "Relation", "RelationKind", "Role"]


class Role(Enum):
    INPUT = "input"
    INTERNAL = "internal"
    OUTPUT = "output"


class RelationKind(Enum):
    """How often a relation has a row, and for how long: a stream has the rows of one commit."""

    SET = "relation"
    MULTISET = "multiset"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The attributes of a relation: its file in a folder, and the form of CSV. None is not given."""

    file: str | None = None
    delimiter: str | None = None
    header: bool | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """`key` holds the positions of the primary key's columns, or is None.

    `row` is the type that a relation is declared with in place of columns. The columns are then the fields of
    a struct, or one column `value`. `names` are those by which people see terms of RDF in it.
    """

    name: str
    columns: tuple[Column, ...]
    role: Role
    key: tuple[int, ...] | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    options: FileOptions = FileOptions()
    row: Type | None = None
    kind: RelationKind = RelationKind.SET
    names: ShortNames = field(default=NO_NAMES, compare=False, repr=False)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(c.type for c in self.columns)


@dataclass(frozen=True, slots=True)
class Function:
    """A function written in the language.

    `cycle` are the functions that call each other and this one, in order; empty if it does not call itself.
    """

    name: str
    parameters: tuple[Column, ...]
    result: Type
    body: Expr
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    cycle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A pure Python function. Other processes import it by `module` and `qualname`."""

    name: str
    parameters: tuple[Column, ...]
    result: Type
    module: str
    qualname: str
    call: Callable[..., object] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Index:
    """A way to look up the rows of a relation; `columns` are the parameters with the positions of columns."""

    name: str
    relation: str
    columns: tuple[tuple[str, int], ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
