"""Elaboration of indexes: each parameter is a column of a relation.

Invariant: an `Index` has a column for each of its parameters, and no two parameters have the same one.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.program.declared import Index
from tidelog.program.elaborate.atoms import Placed, place
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.definitions import resolve_type
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.typedefs import twice
from tidelog.syntax import tree

__all__ = ["declare_indexes"]


def declare_indexes(items: Iterable[tree.Item], known: Declarations, problems: Problems) -> None:
    """Add the indexes among the items, whose relations are declared."""
    for item in items:
        if not isinstance(item, tree.Index):
            continue
        made = _index(item, known, problems)
        if made is None:
            continue
        before = known.indexes.get(item.name)
        if before is None:
            known.indexes[item.name] = made
        elif before != made or before.span.source is item.span.source:
            twice(item.name, "index", item.name_span, before.span, problems)


def _index(item: tree.Index, known: Declarations, problems: Problems) -> Index | None:
    placed = place(item.atom, known, problems, head=False)
    if placed is None or item.atom.relation not in known.relations:
        return None
    columns = _columns(item, placed, problems)
    if columns is None or not _have_types(item, columns, placed, known, problems):
        return None
    return Index(item.name, item.atom.relation, tuple(columns.items()), item.span)


def _columns(item: tree.Index, placed: Placed, problems: Problems) -> dict[str, int] | None:
    """The positions of the columns by parameter, in the order of the parameters; None after an error."""
    if item.atom.is_whole:
        problems.report("E131", item.atom.span, "an index names columns, not whole rows", hint="write `R(…)`")
        return None
    found: dict[str, int] = {}
    for position, arg in enumerate(placed.args):
        if isinstance(arg, tree.Wildcard):
            continue
        if not isinstance(arg, tree.Variable):
            message = "each argument here is a parameter of the index or `_`"
            problems.report("E131", arg.span, message)
            return None
        if arg.name in found:
            problems.report("E131", arg.span, f"`{arg.name}` stands for two columns")
            return None
        found[arg.name] = position
    names: set[str] = set()
    for parameter in item.parameters:
        if parameter.name in names:
            problems.report("E111", parameter.span, f"duplicate parameter `{parameter.name}`")
            return None
        names.add(parameter.name)
        if parameter.name not in found:
            message = f"`{parameter.name}` is not a column of the index"
            hint = f"use it among the arguments of `{item.atom.relation}`"
            problems.report("E131", parameter.span, message, hint=hint)
            return None
    for name in found.keys() - names:
        message = f"`{name}` is not a parameter of the index `{item.name}`"
        problems.report("E131", item.atom.span, message, hint="declare it, or use `_`")
        return None
    return {p.name: found[p.name] for p in item.parameters}


def _have_types(
    item: tree.Index, columns: dict[str, int], placed: Placed, known: Declarations, problems: Problems
) -> bool:
    """Whether the types of parameters are those of the columns; if not, that is reported."""
    sound = True
    for parameter in item.parameters:
        if parameter.type is None:
            continue
        type_ = resolve_type(parameter.type, known.types, problems)
        column, want = placed.columns[columns[parameter.name]]
        if type_ is not None and type_ != want:
            message = f"`{parameter.name}` is `{type_}`, but `{item.atom.relation}.{column}` is `{want}`"
            problems.report("E201", parameter.type.span, message, hint="leave the type out")
        sound &= type_ == want
    return sound
