"""The value of an aggregate over no instances, where it has one."""

from __future__ import annotations

from decimal import Decimal

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.folds import fold_of, part
from tidelog.program.typed import Call, Constant, Expr, Listing

__all__ = ["over_nothing"]


def over_nothing(function: str, type_: Type) -> Expr | None:
    """The value of an aggregate with results of this type over nothing; None if it has none."""
    if fold_of(function) is not None:
        return Call(part(function, "start"), (), type_)
    match function, type_:
        case "count" | "count_if", _:
            return Constant(0, type_)
        case "sum", types.Float() | types.Double():
            return Constant(0.0, type_)
        case "sum", types.Decimal(scale=scale):
            return Constant(Decimal(0).scaleb(-scale), type_)
        case "sum", _:
            return Constant(0, type_)
        case "any" | "all", _:
            return Constant(function == "all", type_)
        case "concat", _:
            return Constant("", type_)
        case "collect_vec", _:
            return Listing((), type_)
        case "collect_set", types.Set(item):
            return Call("to_set", (Listing((), types.Vec(item)),), type_)
        case "collect_map", types.Map(key, value):
            return Call("to_map", (Listing((), types.Vec(types.Tuple((key, value)))),), type_)
        case _:
            return None
