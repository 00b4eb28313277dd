"""Arithmetic on codes: of integers, exactly, and of doubles.

The code of a double is its bits, mirrored if it is negative. There is one NaN, and -0.0 is 0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tidelog.engine.local.kernels.compiled import inlined, kernel
from tidelog.engine.local.kernels.layout import (
    ADD_DOUBLES,
    DIVIDE_DOUBLES,
    MINUS,
    MULTIPLY_DOUBLES,
    PLUS,
    RESULT_HIGH,
    RESULT_LOW,
    RESULT_SLOT,
    SUBTRACT_DOUBLES,
    TIMES,
)
from tidelog.engine.local.kernels.memory import load64, store64

__all__ = ["computes"]

_LOWER = 0xFFFFFFFF
_MIRROR = 0x7FFFFFFFFFFFFFFF
_EXPONENT = 0x7FF0000000000000  # all of its bits are set in NaN and the infinities
_NAN = 0x7FF8000000000000


def _converter(source: Any, target: Any) -> Any:
    @intrinsic
    def convert(typingctx: Any, value: Any) -> Any:
        """The same bits as a number of another type."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            double = target is types.float64
            return builder.bitcast(args[0], ir.DoubleType() if double else ir.IntType(64))

        return target(source), codegen

    return convert


_from_bits, _to_bits = _converter(types.int64, types.float64), _converter(types.float64, types.int64)


@inlined
def _mirrored(code):
    """The bits of a code, or the code of bits."""
    return code if code >= 0 else code ^ _MIRROR


@inlined
def _is_finite(code):
    return _mirrored(code) & _EXPONENT != _EXPONENT


@kernel
def _high_product(x, y):
    """The upper 64 bits of a product of 128 bits."""
    low_x, low_y = x & _LOWER, y & _LOWER
    high_x, high_y = x >> 32, y >> 32
    carried = np.int64((np.uint64(low_x) * np.uint64(low_y)) >> np.uint64(32))
    first = high_x * low_y + carried
    second = low_x * high_y + (first & _LOWER)
    return high_x * high_y + (first >> 32) + (second >> 32)


@kernel
def _computes_double(code, op, x, y, slot):
    """Compute a double; false if it is not finite although both operands are, or if the divisor is 0."""
    a, b = _from_bits(_mirrored(x)), _from_bits(_mirrored(y))
    if op == ADD_DOUBLES:
        v = a + b
    elif op == SUBTRACT_DOUBLES:
        v = a - b
    elif op == MULTIPLY_DOUBLES:
        v = a * b
    elif b == 0.0:
        return False
    else:
        v = a / b
    if v != v:
        store64(code, slot, _NAN)
        return not (_is_finite(x) and _is_finite(y))
    found = _mirrored(_to_bits(v + 0.0))
    store64(code, slot, found)
    return _is_finite(found) or not (_is_finite(x) and _is_finite(y))


@kernel
def computes(code, op, x, y, result):
    """Compute a number and store it in the slot of the result; false if it is not in the range of its type.

    -1 if the operation is unknown. Integers without a sign may wrap around, those with one may not.
    """
    slot = load64(code, result + RESULT_SLOT)
    if op >= ADD_DOUBLES:
        return _computes_double(code, op, x, y, slot) if op <= DIVIDE_DOUBLES else -1
    if op == PLUS:
        v = np.int64(np.uint64(x) + np.uint64(y))
        wraps = ((x ^ v) & (y ^ v)) < 0
    elif op == MINUS:
        v = np.int64(np.uint64(x) - np.uint64(y))
        wraps = ((x ^ y) & (x ^ v)) < 0
    elif op == TIMES:
        v = np.int64(np.uint64(x) * np.uint64(y))
        wraps = _high_product(x, y) != v >> 63
    else:
        return -1
    if wraps or v < load64(code, result + RESULT_LOW) or v > load64(code, result + RESULT_HIGH):
        return 0
    store64(code, slot, v)
    return 1
