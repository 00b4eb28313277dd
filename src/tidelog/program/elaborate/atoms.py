"""Matching the arguments of atoms with the columns of relations.

Positional arguments fill the columns from the left; named arguments (`.name = e`) fill any other column. In a
body, an atom with at least one named argument matches any value in the remaining columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidelog.data.types import Type
from tidelog.program.declared import RelationKind
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.problems import Problems
from tidelog.syntax import tree

__all__ = ["Placed", "place"]


@dataclass(frozen=True, slots=True)
class Placed:
    """An atom with one argument per column; a wildcard for each column without an argument."""

    atom: tree.Atom
    columns: tuple[tuple[str, Type | None], ...]
    args: tuple[tree.Expr, ...]


_DECLARE: Final = "declare it first, as in `relation Name(x: int, y: string)`"


def place(atom: tree.Atom, known: Declarations, problems: Problems, *, head: bool) -> Placed | None:
    """The atom with one argument per column, or None after reporting an error."""
    signature = known.known.get(atom.relation)
    if signature is None:
        problems.report(
            "E101",
            atom.name_span,
            f"unknown relation `{atom.relation}`",
            hint=problems.suggest(atom.relation, known.known) or _DECLARE,
        )
        return None
    relation = known.relations.get(atom.relation)
    if atom.is_prime and relation is not None and relation.kind is RelationKind.SET:
        problems.report(
            "E509",
            atom.span,
            f"`{atom.relation}` is an ordinary relation, so it has no `{atom.relation}'`",
            hint=f"write `{atom.relation}(…)`",
        )
        return None
    positional = [a for a in atom.args if a.name is None]
    named = [a for a in atom.args if a.name is not None]
    is_short = not named and len(positional) < len(signature.columns)
    if is_short or len(positional) > len(signature.columns):
        columns = ", ".join(signature.names)
        problems.report(
            "E105",
            atom.span,
            f"`{atom.relation}` has {_count(len(signature.columns), 'column')}, "
            f"but got {_count(len(positional), 'argument')}",
            note=f"its columns are {atom.relation}({columns})",
            hint="use `_` for columns that do not matter" if not head and positional and is_short else None,
        )
        return None
    slots: list[tree.Expr | None] = [a.value for a in positional]
    slots += [None] * (len(signature.columns) - len(slots))
    if not _fill(slots, named, atom, signature.names, problems):
        return None
    missing = [name for name, slot in zip(signature.names, slots, strict=True) if slot is None]
    if head and missing:
        problems.report("E105", atom.span, f"`{atom.relation}` is missing a value for {_listing(missing)}")
        return None
    args = tuple(tree.Wildcard(atom.span) if slot is None else slot for slot in slots)
    return Placed(atom, signature.columns, args)


def _fill(
    slots: list[tree.Expr | None],
    named: list[tree.Argument],
    atom: tree.Atom,
    names: tuple[str, ...],
    problems: Problems,
) -> bool:
    sound = True
    positions = {name: i for i, name in reversed([*enumerate(names)])} if named else {}
    for argument in named:
        assert argument.name is not None
        if argument.name not in positions:
            hint = problems.suggest(argument.name, names)
            message = f"unknown column `{argument.name}` in `{atom.relation}`"
            problems.report("E102", argument.span, message, hint=hint)
            sound = False
        elif slots[positions[argument.name]] is not None:
            problems.report("E106", argument.span, f"the column `{argument.name}` is given twice")
            sound = False
        else:
            slots[positions[argument.name]] = argument.value
    return sound


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listing(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)
