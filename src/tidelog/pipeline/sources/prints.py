"""What the manifest keeps of a source that knows its own position: a small object, as JSON.

`described` is a digest of all that determines what the rows of the source mean. The position of a source that
was described otherwise is of no use, so all of it is read.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, ClassVar, Protocol, TypeVar

__all__ = ["Print", "read_print", "to_text"]


class Print(Protocol):
    """A dataclass with a digest of the source."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def described(self) -> str: ...


P = TypeVar("P", bound=Print)


def to_text(print_: Print) -> str:
    return json.dumps(asdict(print_))


def read_print(kind: type[P], text: str, described: str) -> P | None:
    """The print in a manifest; None if there is none, or it is of another source."""
    try:
        found = kind(**json.loads(text))
    except (ValueError, TypeError):
        return None
    return found if found.described == described else None
