"""Unification: types that are found out from their uses.

While an expression is typed, its types may contain *unknowns*: the item of `[]`, a type argument of `Ok{1}`,
a parameter of a closure. `unify` makes two types equal by giving unknowns their solutions. An unknown that is
the item of an option never becomes an option itself.

An `Unknown` stands where a type stands, but it is not one: none is left when the expression is finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from tidelog.data import types
from tidelog.data.types import Type

__all__ = ["Unknown", "Unknowns", "as_unknown", "inner", "is_open", "rebuilt"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """`is_item` if it is the item of an option."""

    number: int
    is_item: bool = False

    def __str__(self) -> str:
        return "_"


def as_unknown(type_: object) -> Unknown | None:
    """The unknown that stands in place of a type, if one does."""
    return type_ if isinstance(type_, Unknown) else None


def inner(type_: Type) -> tuple[Type, ...]:
    """The types that a type is written with: items, keys, values and type arguments."""
    match type_:
        case types.Option(item) | types.Vec(item) | types.Set(item):
            return (item,)
        case types.Tuple(items):
            return items
        case types.Map(key, value):
            return (key, value)
        case types.Named(args=args):
            return args
        case _:
            return ()


def rebuilt(
    type_: Type, parts: tuple[Type, ...], named: Callable[[types.Named, tuple[Type, ...]], Type]
) -> Type:
    """The same kind of type with other parts."""
    match type_:
        case types.Option():
            item = parts[0]
            assert not isinstance(item, types.Option)
            return types.Option(item)
        case types.Vec():
            return types.Vec(parts[0])
        case types.Set():
            return types.Set(parts[0])
        case types.Tuple():
            return types.Tuple(parts)
        case types.Map():
            return types.Map(*parts)
        case types.Named():
            return named(type_, parts)
        case _:
            return type_


def is_open(type_: Type) -> bool:
    """Whether a type contains unknowns."""
    return as_unknown(type_) is not None or any(map(is_open, inner(type_)))


def _with_args(type_: types.Named, args: tuple[Type, ...]) -> Type:
    return types.Named(type_.name, args, type_.identity, type_.table)


class Unknowns:
    """The unknowns of an expression and their solutions."""

    def __init__(self) -> None:
        self._solved: dict[int, Type] = {}
        self._order: list[int] = []  # in which they were solved
        self._made = 0

    def fresh(self, is_item: bool = False) -> Type:
        self._made += 1
        return cast(Type, Unknown(self._made, is_item))

    @property
    def is_used(self) -> bool:
        return self._made > 0

    def top(self, type_: Type) -> Type:
        """The type, or the solution of an unknown as far as it is known; not of those inside."""
        while (unknown := as_unknown(type_)) is not None and unknown.number in self._solved:
            type_ = self._solved[unknown.number]
        return type_

    def known(self, type_: Type) -> Type:
        """The type with all solutions filled in."""
        if not self._solved:
            return type_
        type_ = self.top(type_)
        parts = inner(type_)
        return rebuilt(type_, tuple(map(self.known, parts)), _with_args) if parts else type_

    def unify(self, left: Type, right: Type) -> bool:
        """Make two types equal, if that is possible; otherwise nothing is solved."""
        mark = self.mark()
        if self._unify(left, right):
            return True
        self.undo(mark)
        return False

    def mark(self) -> int:
        return len(self._order)

    def undo(self, mark: int) -> None:
        """Forget the solutions since a mark."""
        while len(self._order) > mark:
            del self._solved[self._order.pop()]

    def _unify(self, left: Type, right: Type) -> bool:
        left, right = self.top(left), self.top(right)
        if left == right:
            return True
        if (unknown := as_unknown(left)) is not None:
            return self._solve(unknown, right)
        if (unknown := as_unknown(right)) is not None:
            return self._solve(unknown, left)
        if not _is_same_kind(left, right):
            return False
        pairs = zip(inner(left), inner(right), strict=True)
        return all(self._unify(x, y) for x, y in pairs)

    def _solve(self, unknown: Unknown, type_: Type) -> bool:
        other = as_unknown(type_)
        if other is not None:
            if unknown.is_item and not other.is_item:  # the stricter one stays
                unknown, type_ = other, cast(Type, unknown)
        elif (unknown.is_item and isinstance(type_, types.Option)) or self._occurs(unknown, type_):
            return False
        self._solved[unknown.number] = type_
        self._order.append(unknown.number)
        return True

    def _occurs(self, unknown: Unknown, type_: Type) -> bool:
        return any(found == unknown for found in self.open(type_))

    def open(self, type_: Type) -> Iterator[Unknown]:
        """The unknowns inside a type that are not solved."""
        type_ = self.top(type_)
        unknown = as_unknown(type_)
        if unknown is not None:
            yield unknown
        for part in inner(type_):
            yield from self.open(part)


def _is_same_kind(left: Type, right: Type) -> bool:
    if isinstance(left, types.Named) and isinstance(right, types.Named):
        return (left.name, left.identity, len(left.args)) == (right.name, right.identity, len(right.args))
    parts = len(inner(left))
    return type(left) is type(right) and parts > 0 and parts == len(inner(right))
