"""Bits of integers: literals with a width, and slices.

A slice is a shift, a mask and a conversion, none of which can fail: the bits that are left fit the result.
"""

from __future__ import annotations

from tidelog.data import types
from tidelog.data.types import INT, Type
from tidelog.data.values import BadValue, canonical
from tidelog.program.elaborate.problems import Problems
from tidelog.program.typed import Binary, Cast, Constant, Expr
from tidelog.syntax import tree

__all__ = ["slice_of", "width_constant"]


def width_constant(expr: tree.WidthLiteral, problems: Problems) -> Expr | None:
    """The constant of a literal such as `32'd15`, or None after reporting an error."""
    if not 1 <= expr.width <= types.MAX_WIDTH:
        message = f"the width of a number is from 1 to {types.MAX_WIDTH} bits"
        problems.report("E203", expr.span, message)
        return None
    type_ = types.Bit(expr.width)
    try:
        return Constant(canonical(type_, expr.value), type_)
    except BadValue as bad:
        problems.report("E203", expr.span, str(bad))
        return None


def slice_of(expr: tree.Slice, operand: Expr, type_: Type, problems: Problems) -> Expr | None:
    """The bits of an operand of a type, or None after reporting an error."""
    if not isinstance(type_, types.Bit):
        message = f"bits can be taken of `bit<N>` only, but this is `{type_}`"
        problems.report("E202", expr.operand.span, message, hint=_remedy(type_))
        return None
    if not 0 <= expr.low <= expr.high < type_.width:
        message = f"`{type_}` has no bits from {expr.high} to {expr.low}"
        note = f"write `[high:low]`, with {type_.width - 1} >= high >= low >= 0"
        problems.report("E213", expr.span, message, note=note)
        return None
    return _taken(operand, type_, expr.high, expr.low)


def _remedy(type_: Type) -> str | None:
    match type_:
        case types.Option():
            return "use `unwrap_or(…, …)` to supply a default for a missing value"
        case types.Signed(width):
            return f"convert it with `as bit<{width}>`"
        case types.Int():
            return "convert it with `as bit<64>`"
        case types.BigInt():
            return f"convert it with `as bit<{types.MAX_WIDTH}>`"
        case types.String():
            return "use `substring(s, start, count)`"
        case types.Vec():
            return "use `slice(v, start, count)`"
        case _:
            return None


def _taken(operand: Expr, type_: types.Bit, high: int, low: int) -> Expr:
    width = high - low + 1
    if width == type_.width:
        return operand
    moved = operand if low == 0 else Binary(">>", operand, Constant(low, INT), type_)
    is_rest = high == type_.width - 1
    kept = moved if is_rest else Binary("&", moved, Constant((1 << width) - 1, type_), type_)
    return Cast(kept, types.Bit(width))
