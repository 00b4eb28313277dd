"""What every node of the tree has: a span, which equality ignores."""

from __future__ import annotations

from dataclasses import field

from tidelog.errors import NOWHERE, Span

__all__ = ["spanned"]


def spanned() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)
