"""Whether the cases of a `match` cover all values, and which of them no value reaches.

The patterns of the cases are rows of a matrix. A row of patterns is *useful* after some rows if a value
matches it and none of them (Maranget, "Warnings for pattern matching"). The cases are exhaustive if a row of
wildcards is not useful; the search for a value that makes it useful gives the missing pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from tidelog.data import types
from tidelog.data.types import Field, Named, Type
from tidelog.program.elaborate.definitions import Definitions
from tidelog.syntax import tree

__all__ = ["MOST_STEPS", "Case", "Shape", "TooComplex", "missing", "unreachable"]

MOST_STEPS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern with a head: a constructor, a literal, "some", "none", or "" for a tuple."""

    head: object
    parts: tuple[Shape, ...] = ()


Shape: TypeAlias = Case | None  # None matches everything
Row: TypeAlias = tuple[Shape, ...]


class TooComplex(Exception):
    pass


def missing(rows: list[Shape], type_: Type, known: Definitions) -> list[str]:
    """Patterns that no case covers, up to three; empty if the cases are exhaustive. Raises TooComplex."""
    search = _Search(known)
    found: list[str] = []
    matrix: list[Row] = [(row,) for row in rows]
    while len(found) < 3 and (witness := search.useful(matrix, (None,), (type_,))) is not None:
        found.append(_shown(witness[0]))
        matrix.append(witness)
    return found


def unreachable(rows: list[Shape], type_: Type, known: Definitions) -> list[int]:
    """The numbers of cases that match nothing that the cases before them do not match. Raises TooComplex."""
    search = _Search(known)
    matrix: list[Row] = []
    found: list[int] = []
    for number, row in enumerate(rows):
        if search.useful(matrix, (row,), (type_,)) is None:
            found.append(number)
        else:
            matrix.append((row,))
    return found


class _Search:
    def __init__(self, known: Definitions) -> None:
        self._known = known
        self._steps = 0

    def useful(self, matrix: list[Row], row: Row, of: tuple[Type, ...]) -> Row | None:
        """Patterns whose values the row matches and the matrix does not; None if there are none."""
        self._steps += 1 + len(matrix) // 100
        if self._steps > MOST_STEPS:
            raise TooComplex
        if not row:
            return None if matrix else ()
        if isinstance(row[0], Case):
            return self._below(matrix, row, of, row[0])
        heads = {r[0].head: r[0] for r in matrix if r[0] is not None}
        everything = self._heads(of[0])
        if everything is None or any(head not in heads for head in everything):
            others = [r[1:] for r in matrix if r[0] is None]
            rest = self.useful(others, row[1:], of[1:])
            if rest is None:
                return None
            new = None if everything is None else next(c for h, c in everything.items() if h not in heads)
            return ((new if heads else None), *rest)
        for case in everything.values():
            found = self._below(matrix, (case, *row[1:]), of, case)
            if found is not None:
                return found
        return None

    def _below(self, matrix: list[Row], row: Row, of: tuple[Type, ...], case: Case) -> Row | None:
        """The search among the values of one head."""
        count = len(case.parts)
        inside = [made for r in matrix if (made := _opened(r, case.head, count)) is not None]
        opened = _opened(row, case.head, count)
        assert opened is not None
        found = self.useful(inside, opened, (*self._parts(of[0], case), *of[1:]))
        return None if found is None else (Case(case.head, found[:count]), *found[count:])

    def _heads(self, type_: Type) -> dict[object, Case] | None:
        """All heads of the values of a type, with wildcards inside; None if they cannot be listed."""
        match type_:
            case types.Bool():
                return {True: Case(True), False: Case(False)}
            case types.Option():
                return {"none": Case("none"), "some": Case("some", (None,))}
            case types.Tuple(items):
                return {"": Case("", (None,) * len(items))}
            case Named():
                definition = self._known.find(type_.name)
                if not isinstance(definition, tree.TypeDefinition):
                    return None  # a type parameter
                return {c.name: Case(c.name, (None,) * len(c.fields)) for c in definition.constructors}
            case _:
                return None

    def _parts(self, type_: Type, case: Case) -> tuple[Type, ...]:
        match type_:
            case types.Option(item) if case.head == "some":
                return (item,)
            case types.Tuple(items):
                return items
            case Named():
                fields: tuple[Field, ...] = self._known.fields(type_, str(case.head))
                return tuple(f.type for f in fields)
            case _:
                return ()


def _opened(row: Row, head: object, count: int) -> Row | None:
    """A row with the parts of its first pattern in place of it; None if that has another head."""
    first = row[0]
    if first is None:
        return (*(None,) * count, *row[1:])
    return (*first.parts, *row[1:]) if first.head == head else None


def _shown(shape: Shape) -> str:
    if shape is None:
        return "_"
    parts = ", ".join(map(_shown, shape.parts))
    if shape.head == "some":
        return f"some({parts})"
    if shape.head == "":
        return f"({parts})"
    if isinstance(shape.head, bool):
        return "true" if shape.head else "false"
    if shape.parts and all(part is None for part in shape.parts):
        return f"{shape.head}{{..}}"
    return f"{shape.head}{{{parts}}}" if parts else f"{shape.head}"
