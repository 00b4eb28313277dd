"""Nested bodies as literals of a flat rule: their keys, and the choices that they leave.

A nested body becomes a hidden relation with one column for each of its parameters. What reads that relation
may be one of several flat bodies, one for each *choice*.
"""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

from tidelog.data.types import BOOL, Option, Type, Vec
from tidelog.plan.flat import FlatBody
from tidelog.program.analysis.failing import doubtful, fails
from tidelog.program.analysis.nesting import demanded
from tidelog.program.typed import (
    Bind,
    Body,
    Call,
    Constant,
    Expr,
    If,
    Listing,
    Literal,
    Nested,
    Stage,
    Test,
    Var,
    Without,
)

__all__ = ["Done", "alternatives", "always_failing", "broken", "keys_of", "turn"]

Done: TypeAlias = dict[Literal, list[FlatBody]]  # the choices that a literal became


def turn(literal: Literal) -> int:
    """When a literal is flattened: a nested body may test the results of nested aggregates."""
    return 2 if isinstance(literal, Without) else int(isinstance(literal, Nested))


def alternatives(body: Body, done: Done) -> list[FlatBody]:
    """The flat bodies that a body stands for."""
    choices = product(*(done.get(x) or _plain(x) for x in body))
    return [tuple(x for part in choice for x in part) for choice in choices]


def _plain(literal: Literal) -> list[FlatBody]:
    assert not isinstance(literal, Nested | Without | Stage)
    return [(literal,)]


def keys_of(literal: Nested | Without, part: str) -> tuple[tuple[Var, ...], tuple[Bind, ...]]:
    """The columns that stand for the parameters of a nested body, and what binds those that are others.

    A `none` among the parameters equals nothing, yet a body that only tests it may hold. Such a parameter is
    compared as the item of a vec, in which `none` is a value like any other.
    """
    tested = demanded(literal)
    same = {
        p: Bind(Var(f"${p.name} [{part}]", Vec(p.type)), Listing((p,), Vec(p.type)))
        for p in tested
        if isinstance(p.type, Option)
    }
    keys = tuple(same[p].variable if p in same else p for p in literal.parameters)
    return keys, tuple(same.values())


def broken(literal: Nested, around: Body) -> list[FlatBody]:
    """The choices for rows in which a parameter fails, if one may: then the result fails, too."""
    names = doubtful(around)
    failing = Bind(literal.result, always_failing(literal.result.type))
    return [(Test(fails(p)), failing) for p in literal.parameters if p.name in names]


def always_failing(type_: Type) -> Expr:
    """An expression that always fails."""
    if not isinstance(type_, Option):
        return Call("unwrap", (Constant(None, Option(type_)),), type_)
    none = Constant(None, type_)
    return If(always_failing(BOOL), none, none, type_)
