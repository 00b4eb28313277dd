"""What standard functions expect of their arguments: each raises Undefined if it is not met."""

from __future__ import annotations

from tidelog.engine.local.expressions.operations import Undefined
from tidelog.program.library.catalog import MAX_TEXT

__all__ = ["expect_length", "not_empty", "not_negative"]


def not_negative(what: str, number: int) -> None:
    if number < 0:
        raise Undefined(f"{what} {number} is negative")


def not_empty(what: str, text: str) -> None:
    if not text:
        raise Undefined(f"the {what} is empty")


def expect_length(length: int, *given: str) -> None:
    """Raise Undefined if a computed string is longer than both `MAX_TEXT` and every given string."""
    if length > MAX_TEXT and length > max(map(len, given), default=0):
        raise Undefined(f"the string exceeds {MAX_TEXT} code points")
