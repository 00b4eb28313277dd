"""The types of rows: a struct for each relation, with its columns as fields.

A relation declared with a row type has that type. Any other has a struct with its own name, which is made
only where a program needs it: where it names the type or the constructor, or uses a row as a whole. If the
program defines a type of that name, that definition counts. It is the type of the rows if its fields are the
columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.data.types import Named, Type
from tidelog.program.declared import Relation
from tidelog.program.elaborate.declarations import Declarations
from tidelog.syntax import tree

__all__ = ["RowType", "row_type"]


@dataclass(frozen=True, slots=True)
class RowType:
    """`constructor` is None if the row is the value of the only column."""

    type: Type
    constructor: str | None
    columns: tuple[str, ...]


def row_type(relation: Relation, known: Declarations) -> RowType | None:
    """The type of the rows of a relation; None if it has none, because its name is taken."""
    names = tuple(c.name for c in relation.columns)
    if relation.row is not None:
        only = relation.row.constructors if isinstance(relation.row, Named) else ()
        return RowType(relation.row, only[0].name if len(only) == 1 else None, names)
    definition = known.types.items.get(relation.name)
    if not isinstance(definition, tree.TypeDefinition) or definition.parameters:
        return None
    if definition.name in known.types.broken or len(definition.constructors) != 1:
        return None
    type_ = known.types.named(definition, ())
    constructor = definition.constructors[0].name
    fields = known.types.fields(type_, constructor)
    if [(f.name, f.type) for f in fields] != [(c.name, c.type) for c in relation.columns]:
        return None
    return RowType(type_, constructor, names)
