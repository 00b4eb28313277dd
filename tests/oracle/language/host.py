"""Python functions that the programs of all cases may call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from oracle.language.expressions import FunctionText
from tidelog.data import types
from tidelog.program.draft import Draft

__all__ = ["CALLABLE", "FUNCTIONS", "draft"]


def host_mix(x: int, y: int) -> int:
    return (x // 3 + y) % 5


def host_even(x: int) -> bool:
    return x % 2 == 0


def host_tag(text: str, number: int) -> str:
    return f"{text[:2]}{number % 3}"


def host_maybe(x: int) -> int | None:
    return None if x < 0 else x % 4


def host_strict(x: int) -> int:
    if x < 0:
        raise ValueError("negative")
    return x % 4


FUNCTIONS: Final[tuple[Callable[..., object], ...]] = (
    host_mix,
    host_even,
    host_tag,
    host_maybe,
    host_strict,
)

# those that are called anywhere; the last one fails for some numbers
CALLABLE: Final = (
    FunctionText("host_mix", (types.INT, types.INT), types.INT, ""),
    FunctionText("host_even", (types.INT,), types.BOOL, ""),
    FunctionText("host_tag", (types.STRING, types.INT), types.STRING, ""),
    FunctionText("host_maybe", (types.INT,), types.Option(types.INT), ""),
    FunctionText("host_strict", (types.INT,), types.INT, ""),
)


def draft() -> Draft:
    """A draft in which they can be called."""
    made = Draft()
    for function in FUNCTIONS:
        made.register(function)
    return made
