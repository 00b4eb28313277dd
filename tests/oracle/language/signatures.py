"""The signatures of standard functions, solved for a wanted result: what their type variables stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from oracle.language.structures import Structures
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.library.catalog import (
    Applied,
    Closure,
    Kind,
    ParamType,
    StandardFunction,
    TypeVariable,
    allows,
)
from tidelog.program.library.signatures import function

__all__ = ["GENERIC", "Bindings", "resolved", "solved"]

Bindings = Mapping[str, Type]

# generic functions of programs: their signatures, and how they are written
GENERIC: Final = {
    function("g_pick(c: bool, a: T, b: T) -> T", "", {}, Kind.EVERY): (
        "function g_pick<T>(c: bool, a: T, b: T): T { if (c) a else b }"
    ),
    function("g_twice(a: T, f: |T|: T) -> T", "", {}, Kind.EVERY): (
        "function g_twice<T>(a: T, f: |T|: T): T { f(f(a)) }"
    ),
    function("g_each(v: vec<T>, f: |T|: U) -> vec<U>", "", {}, Kind.EVERY): (
        "function g_each<T, U>(v: vec<T>, f: |T|: U): vec<U> { v.map(|x| f(x)) }"
    ),
    function("g_times(n: int, x: T) -> vec<T>", "", {}, Kind.EVERY): (
        "function g_times<T>(n: int, x: T): vec<T> "
        "{ if (n <= 0 or n > 3) { return []; } push(g_times(n - 1, x), x) }"
    ),
    function("g_len(v: vec<T>) -> int", "", {}, Kind.EVERY): (
        "function g_len<T>(v: vec<T>): int "
        "{ if (len(v) == 0 or len(v) > 9) 0 else 1 + g_len(slice(v, 1, len(v))) }"
    ),
    function("g_swap(p: (A, B)) -> (B, A)", "", {}, Kind.EVERY): (
        "function g_swap<A, B>(p: (A, B)): (B, A) { (p.1, p.0) }"
    ),
}


def solved(function: StandardFunction, wanted: Type, draw: Callable[[], Type]) -> Bindings | None:
    """Types for the variables with which the result is of a type; what it leaves open is drawn."""
    bindings: dict[str, Type] = {}
    if not _unify(function.result, wanted, bindings):
        return None
    for parameter in function.parameters:
        for variable in _variables(parameter.type):
            bindings.setdefault(variable.name, draw())
    return bindings if _is_allowed(function, bindings) else None


def _is_allowed(function: StandardFunction, bindings: Bindings) -> bool:
    kinds = {"T": function.kind}
    mentioned = [v for p in function.parameters for v in _variables(p.type)] + _variables(function.result)
    return all(allows(kinds.get(name, Kind.EVERY), type_) for name, type_ in bindings.items()) and not any(
        v.optional and isinstance(bindings[v.name], types.Option) for v in mentioned
    )


def _variables(type_: ParamType) -> list[TypeVariable]:
    match type_:
        case TypeVariable():
            return [type_]
        case Applied(args=args):
            return [v for a in args for v in _variables(a)]
        case Closure(parameters, result):
            return [v for p in (*parameters, result) for v in _variables(p)]
        case _:
            return []


def _unify(pattern: ParamType, type_: Type, bindings: dict[str, Type]) -> bool:
    match pattern:
        case TypeVariable(optional=True, name=name):
            return isinstance(type_, types.Option) and bindings.setdefault(name, type_.item) == type_.item
        case TypeVariable(name=name):
            return bindings.setdefault(name, type_) == type_
        case Applied(name, args):
            if _name(type_) != name:
                return False
            return all(_unify(a, p, bindings) for a, p in zip(args, _args(type_), strict=True))
        case Closure():
            return False
        case _:
            return pattern == type_


def _args(type_: Type) -> tuple[Type, ...]:
    return type_.args if isinstance(type_, types.Named) else types.parts(type_)


def _name(type_: Type) -> str:
    match type_:
        case types.Vec():
            return "vec"
        case types.Set():
            return "set"
        case types.Map():
            return "map"
        case types.Tuple(items):
            return "()" if len(items) == 2 else ""
        case types.Named(name="result"):
            return "result"
        case _:
            return ""


def resolved(pattern: ParamType, bindings: Bindings, structures: Structures) -> Type:
    """The type of a parameter that is no closure."""
    match pattern:
        case TypeVariable(optional, name):
            item = bindings[name]
            return types.Option(types.present(item)) if optional else item
        case Applied(name, args):
            return _applied(name, tuple(resolved(a, bindings, structures) for a in args), structures)
        case Closure():
            raise AssertionError("a closure has no type")
        case _:
            return pattern


def _applied(name: str, args: tuple[Type, ...], structures: Structures) -> Type:
    match name:
        case "vec":
            return types.Vec(args[0])
        case "set":
            return types.Set(args[0])
        case "map":
            return types.Map(args[0], args[1])
        case "()":
            return types.Tuple(args)
        case _:
            return structures.instance(name, args)
