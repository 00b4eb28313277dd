"""Rewrites: values for the variables of a prefix, and how the next literal extends them.

Idea: a rewrite is a partial body instance: the values known after a prefix of the body. A *candidate* is a
rewrite that has moved on: its prefix is already the next one, whose last literal is still to be evaluated.

Invariant: the value of variable `#n` is at position n. A rewrite whose expression failed carries the failure
along: it counts only if the rewrite reaches a head. A rewrite can contain a failed value, but that value is
never matched with a column (assignments to matched variables are checks, see `clause`).

Mathematics: each function here works on one candidate (and one row). Extended to Z-sets, it is linear in the
candidates and in the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, assert_never

from tidelog.data.values import Row, Value, joins
from tidelog.program.typed import Absent, Bind, Constant, Each, Expr, Match, Term, Test, Var, Wildcard
from tidelog.reference.circuit.clause import name, slot
from tidelog.reference.circuit.kit import Order, Prefix
from tidelog.reference.evaluate import Failure, Functions, evaluate
from tidelog.reference.structures import items_of

__all__ = ["Fact", "Known", "Rewrite", "advance", "key", "unify", "value_of"]

Known: TypeAlias = Value | Failure


class Fact(NamedTuple):
    relation: str
    row: Row


class Rewrite(NamedTuple):
    prefix: Prefix
    values: tuple[Known, ...] = ()
    failure: Failure | None = None

    def marked(self, failure: Failure) -> Rewrite:
        return self if self.failure else self._replace(failure=failure)


def unify(candidate: Rewrite, row: Row) -> Rewrite | None:
    """The candidate extended by a row that its last literal matches, or None if they do not unify."""
    atom = candidate.prefix.last
    assert isinstance(atom, Match)
    values = list(candidate.values)
    for term, value in zip(atom.terms, row, strict=True):
        match term:
            case Wildcard():
                continue
            case Var() if slot(term) == len(values):
                values.append(value)
            case Var() | Constant():
                known = _value(term, values)
                if isinstance(known, Failure) or not joins(known, value):
                    return None
            case _:
                assert_never(term)
    return candidate._replace(values=tuple(values))


def advance(candidate: Rewrite, functions: Functions) -> list[Rewrite]:
    """The candidate after its last literal: once if a condition or assignment holds, once for each item."""
    match candidate.prefix.last:
        case Test(condition):
            truth = value_of(condition, candidate, functions)
            if isinstance(truth, Failure):
                return [candidate.marked(truth)]
            return [candidate] if truth is True else []
        case Bind(variable, expr):
            return _assigned(candidate, slot(variable), [value_of(expr, candidate, functions)])
        case Each(variable, collection):
            whole = value_of(collection, candidate, functions)
            items = [whole] if isinstance(whole, Failure) else items_of(collection.type, whole)
            return _assigned(candidate, slot(variable), items)
        case other:
            raise AssertionError(f"{other} needs a relation")


def key(candidate: Rewrite, order: Order) -> tuple[Known, ...]:
    """The values that the candidate's last literal requires in these columns."""
    atom = candidate.prefix.last
    assert isinstance(atom, Match | Absent)
    return tuple(_value(atom.terms[column], candidate.values) for column in order.columns)


def value_of(expr: Expr, rewrite: Rewrite, functions: Functions) -> Known:
    return evaluate(expr, {name(n): value for n, value in enumerate(rewrite.values)}, functions)


def _assigned(candidate: Rewrite, position: int, values: Iterable[Known]) -> list[Rewrite]:
    made = [_assign(candidate, position, value) for value in values]
    return [rewrite for rewrite in made if rewrite is not None]


def _assign(candidate: Rewrite, position: int, value: Known) -> Rewrite | None:
    if position == len(candidate.values):
        candidate = candidate._replace(values=(*candidate.values, value))
        return candidate.marked(value) if isinstance(value, Failure) else candidate
    if isinstance(value, Failure):
        return candidate.marked(value)
    known = candidate.values[position]
    return candidate if isinstance(known, Failure) or joins(known, value) else None


def _value(term: Term, values: tuple[Known, ...] | list[Known]) -> Known:
    match term:
        case Var():
            return values[slot(term)]
        case Constant(value=value):
            return value
        case Wildcard():
            raise AssertionError("a wildcard has no value")
        case _:
            assert_never(term)
