"""`+%`, `-%` and `*%`: arithmetic modulo 2**N on integers of N bits.

Arithmetic on 64-bit codes is itself modulo 2**64. So the fast form keeps the lowest N bits of what the
processor computes, and never has to leave a row to the plain form.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codes, is_direct
from tidelog.engine.local.expressions.operations import Fast, Operation, Plain
from tidelog.engine.local.expressions.vectors import Vector

__all__ = ["WRAPPING", "wrapping"]

WRAPPING: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+%": operator.add,
    "-%": operator.sub,
    "*%": operator.mul,
}


def wrapping(op: str, type_: Type) -> Operation:
    fast = _fast(op, type_) if is_direct(type_) else None
    return Operation((type_, type_), type_, _plain(op, type_), fast)


def _plain(op: str, type_: Type) -> Plain:
    limits = types.int_range(type_)
    assert limits is not None
    low, size = limits[0], limits[1] - limits[0] + 1
    return lambda a, b: (WRAPPING[op](a, b) - low) % size + low


def _fast(op: str, type_: Type) -> Fast:
    return lambda a, b: (Vector(_lowest_bits(WRAPPING[op](a.codes, b.codes), type_)), None)


def _lowest_bits(codes: Codes, type_: Type) -> Codes:
    match type_:
        case types.Bit(width):
            return codes & np.int64((1 << width) - 1)
        case types.Signed(width) if width < 64:
            unused = np.int64(64 - width)
            return (codes << unused) >> unused  # the second shift copies the sign
        case _:
            return codes
