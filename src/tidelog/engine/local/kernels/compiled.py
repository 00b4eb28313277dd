"""The decorators of kernels.

Kernels are compiled ahead of time (see `native`), so they run without Python. A kernel takes and returns
integers of 64 bits, allocates nothing and raises nothing. Arrays are passed by their addresses, and further
results are written to an array of the caller. Kernels consist of arithmetic, comparisons, loops and calls of
other kernels: `max`, `min` and `in` would call functions of Numba that are not in the library.

Each kernel is compiled by itself, with the kernels that it calls as external functions. The optimizer then
sees all of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numba
from numba import types

__all__ = ["EXPORTED", "KERNELS", "exported", "inlined", "kernel", "symbol"]

KERNELS: Final[dict[str, Callable[..., Any]]] = {}  # by name
EXPORTED: Final[dict[str, Callable[..., Any]]] = {}  # those that Python calls


def symbol(name: str) -> str:
    """The name of a kernel in compiled code."""
    return f"kernel.{name}"


def kernel(function: Callable[..., Any]) -> Any:
    """A kernel that other kernels call."""
    name = function.__name__
    if name in KERNELS:
        raise ValueError(f"there are two kernels {name}")
    KERNELS[name] = function
    parameters = (types.int64,) * function.__code__.co_argcount
    return types.ExternalFunction(symbol(name), types.int64(*parameters))


def exported(function: Callable[..., Any]) -> Any:
    """A kernel that Python calls, too."""
    EXPORTED[function.__name__] = function
    return kernel(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A function that becomes part of the kernels that use it, with the types that they use it with."""
    return numba.njit(inline="always")(function)
